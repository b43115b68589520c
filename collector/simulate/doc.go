// Package simulate owns the simulated fleet: LLM servers without GPUs for
// tests, benchmarks and demos. It models TensorRT-LLM's in-flight batching event
// by event and speaks the HTTP of Triton, trtllm-serve, NIM and Dynamo as the
// real servers were seen or read to speak it. It must not know the exporter:
// nothing here imports another room.
//
// A [Replica] is made of a [Spec] and moves in simulated time, by [Replica.Advance]
// or, with a Speed, by the wall clock. Equal seeds and equal amounts of time give
// equal states. What a page says and what is true are two things, so
// [Replica.Observe] gives both of one moment:
//
//	r, err := simulate.NewReplica(simulate.Spec{
//		Kind: simulate.KindTriton, EngineVersion: "2.64.0", Streaming: true,
//		Workload: simulate.Workload{Rate: 4},
//	})
//	r.Advance(time.Minute)
//	r.Stall(true)
//	page, truth := r.Observe() // The page shows work in flight; truth.Iterations no longer grows.
//
// Replica.Listen opens real ports, which refuse connections while the server
// loads or restarts. [StartFleet] runs many replicas, for instance those
// of [DemoFleet]. [Faulty] is a page that goes wrong in a named way, and
// [BenchPage] gives pages of a fixed shape for benchmarks.
//
// Beyond the page: requests that clients send over HTTP (generate_stream,
// /v1/chat/completions) enter the same executor and are streamed token by token,
// so a canary sees queueing, stalls and streams that never end.
package simulate
