// Package simulate simulates LLM servers without GPUs for tests, benchmarks and demos.
// It models TensorRT-LLM's in-flight batching event by event and answers HTTP like
// Triton, trtllm-serve, NIM, Dynamo, vLLM and SGLang, according to captured pages and
// their sources. It must not know the exporter: it imports no other package.
//
// A [Replica] is made from a [Spec] and moves in simulated time, by [Replica.Advance]
// or, with a Speed, by the wall clock. Equal seeds and times give equal states.
// [Replica.Observe] returns a page together with the truth at that moment:
//
//	r, err := simulate.NewReplica(simulate.Spec{
//		Kind: simulate.KindTriton, EngineVersion: "2.64.0", Streaming: true,
//		Workload: simulate.Workload{Rate: 4},
//	})
//	r.Advance(time.Minute)
//	r.Stall(true)
//	page, truth := r.Observe() // The page shows work in flight; truth.Iterations no longer grows.
//
// [Replica.Listen] opens real ports, whose requests (generate_stream,
// /v1/chat/completions) enter the same executor. [StartFleet] runs many replicas, such as
// [DemoFleet]. [Faulty] serves a page with a fault, [BenchPage] one of a fixed shape.
// [Replica.SetTotals] makes a replica show a life that was not simulated.
package simulate
