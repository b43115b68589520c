package matrix

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// singleModel returns the facts of a server that lists one model.
func singleModel(version string) engine.Facts {
	return engine.Facts{EngineVersion: version, Listed: true, Models: []engine.ModelFacts{{Name: "llama"}}}
}

// serves returns the generations of trtllm-serve, which do not count canceled requests, and the
// router for prefill and decode servers, which counts a stream as answered when it starts.
func serves() []Server {
	success := []engine.Class{engine.ClassOK}
	all := []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassOverload, engine.ClassServer}
	newest := Server{
		Name:   "trtllm-serve 1.3",
		Kind:   engine.TRTLLMServe,
		Facts:  singleModel("1.3.0rc14"),
		Counts: all,
		spec:   served(simulate.KindServe, ""),
	}
	quiet, ranks := newest, newest
	quiet.Name += " without iteration statistics"
	quiet.spec.NoIterationStats = true
	ranks.Name += " with attention data parallelism"
	ranks.spec.AttentionDP, ranks.spec.GPUs = true, 2
	return []Server{
		{
			Name:   "trtllm-serve 1.1 and 1.2",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.1.0"),
			Counts: success,
			spec:   served(simulate.KindServeOld, ""),
		},
		{
			Name:   "trtllm-serve 1.3.0rc5",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.3.0rc5"),
			Counts: success,
			spec:   served(simulate.KindServeGen2, ""),
		},
		newest, quiet, ranks,
		{
			Name:      "trtllm-serve, disaggregated orchestrator",
			Kind:      engine.TRTLLMDisaggregated,
			Facts:     singleModel("1.3.0rc14"),
			Counts:    all,
			TakenAsOK: []engine.Class{engine.ClassCanceled},
			spec:      served(simulate.KindServeDisaggregated, ""),
		},
	}
}

// nims returns NIM 1.x, whose counters of success and failure exist from the start, and 2.x,
// which exposes the page of its engine.
func nims() []Server {
	inside := func(name string, served Server) Server {
		served.Name, served.Kind, served.Facts = name, engine.NIM, singleModel("2.1.4")
		return served
	}
	return []Server{
		inside("NIM 2.x with vLLM", vllms()[1]),
		inside("NIM 2.x with SGLang", sglangs()[0]),
		simple(simulate.KindNIM),
	}
}

// dynamos returns Dynamo's frontends, and its workers by engine.
func dynamos() []Server {
	worker := func(with string, kind simulate.Kind, counts ...engine.Class) Server {
		return Server{
			Name:   "Dynamo, worker with " + with,
			Kind:   engine.Dynamo,
			Counts: counts,
			spec:   served(kind, ""),
		}
	}
	vllm := worker("vLLM", simulate.KindDynamoVLLM, engine.ClassOK)
	vllm.spec.Engine.TokensPerBlock, vllm.cached = 16, 20
	sglang := worker("SGLang", simulate.KindDynamoSGLang, engine.ClassOK, engine.ClassCanceled)
	sglang.cached = 1
	triton := worker("Triton", simulate.KindDynamoTriton, engine.ClassOK, engine.ClassServer)
	triton.TakenAsOK = []engine.Class{engine.ClassCanceled}
	frontend := Server{
		Name:   "Dynamo, frontend",
		Kind:   engine.Dynamo,
		Facts:  singleModel(""),
		Counts: engine.Classes(),
		spec:   served(simulate.KindDynamoFrontend, ""),
	}
	router := frontend
	router.Name += " with the KV router"
	router.spec.KVRouter = true
	return []Server{
		frontend, router, worker("TensorRT-LLM", simulate.KindDynamo, engine.ClassOK), vllm, sglang, triton,
	}
}
