package matrix

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// tritons returns the servers with Triton's page, by backend. An ensemble does not count client
// errors and rejections. A decoupled model of the Python backend succeeds once it was accepted.
func tritons() []Server {
	okAndFailed, canceled := []engine.Class{engine.ClassOK, engine.ClassServer}, []engine.Class{engine.ClassCanceled}
	ensemble := Server{
		Name:      "Triton, C++ backend of TensorRT-LLM",
		Kind:      engine.Triton,
		Facts:     newest(deployment("tensorrtllm", false)...),
		Counts:    okAndFailed,
		TakenAsOK: canceled,
		spec:      served(simulate.KindTriton, "2.64.0"),
	}
	old, python, openAI := ensemble, ensemble, ensemble
	old.Name = "Triton 24.03, failures without reasons"
	old.Facts.EngineVersion, old.spec.EngineVersion = "2.44.0", "2.44.0"
	python.Name = "Triton, Python executor of TensorRT-LLM"
	python.Facts.Models = deployment("python", true)
	python.spec.Kind, python.spec.Streaming = simulate.KindTritonPython, true
	openAI.Name, openAI.Kind = "Triton behind its OpenAI frontend", engine.TritonOpenAI
	openAI.spec.Kind = simulate.KindTritonOpenAI
	openAI.Facts = engine.Facts{Listed: true}
	for _, m := range ensemble.Facts.Models {
		openAI.Facts.Models = append(openAI.Facts.Models, engine.ModelFacts{Name: m.Name})
	}
	return []Server{
		ensemble, old, python,
		{
			Name: "Triton, LLM-API model", Kind: engine.Triton,
			Facts:  newest(config("tensorrt_llm", "python", true)),
			Counts: okAndFailed, TakenAsOK: canceled, Only: true,
			spec: served(simulate.KindTritonLLMAPI, "2.64.0"),
		},
		{
			Name: "Triton, LLM-API model with the metrics module", Kind: engine.Triton,
			Facts:  newest(config("tensorrt_llm", "python", true)),
			Counts: engine.Classes(),
			spec:   served(simulate.KindTritonLLMAPIModule, "2.64.0"),
		},
		{
			Name:  "Triton, ResNet",
			Kind:  engine.Triton,
			Facts: newest(config("resnet50", "onnxruntime", false)),
			Counts: []engine.Class{
				engine.ClassOK, engine.ClassServer, engine.ClassCanceled, engine.ClassOverload,
			},
			spec: served(simulate.KindTritonCore, "2.64.0"),
		},
		{
			Name:      "Triton, vLLM backend",
			Kind:      engine.Triton,
			Facts:     newest(config("vllm_model", "vllm", true)),
			Counts:    okAndFailed,
			TakenAsOK: canceled,
			Only:      true,
			spec:      served(simulate.KindTritonVLLM, "2.64.0"),
		},
		openAI,
	}
}

// newest returns the facts of Triton 2.64.0 with models.
func newest(models ...engine.ModelFacts) engine.Facts {
	return engine.Facts{EngineVersion: "2.64.0", Listed: true, Models: models}
}

// config returns a model with a config.
func config(name, backend string, decoupled bool) engine.ModelFacts {
	return engine.ModelFacts{
		Name:       name,
		Version:    "1",
		State:      engine.ModelReady,
		Configured: true,
		Backend:    backend,
		Decoupled:  decoupled,
	}
}

// deployment returns the models of TensorRT-LLM's repository.
func deployment(backend string, decoupled bool) []engine.ModelFacts {
	front, llm := config("ensemble", "", false), config("tensorrt_llm", backend, decoupled)
	front.Platform, front.Steps = "ensemble", []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	llm.Parameters = map[string]string{"gpt_model_type": "inflight_fused_batching"}
	return []engine.ModelFacts{
		front, config("preprocessing", "python", false), llm, config("postprocessing", "python", false),
	}
}
