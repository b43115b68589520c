package simulate

// KindTritonLLMAPI is Triton with an LLM API (PyTorch) model, with nv_inference_* only.
const KindTritonLLMAPI Kind = "triton-llmapi"

// llmapiFlavour returns the flavour with TensorRT-LLM's llmapi repository.
func llmapiFlavour() flavour {
	return flavour{
		complete: func(s *Spec) { s.Streaming = true },
		models: []model{{
			name: "tensorrt_llm", role: roleLLM, backend: "python", decoupled: true, loadSeconds: 41.220145713,
			inputs: []string{"text_input BYTES", "streaming BOOL", "sampling_param_max_tokens INT32", "stop BOOL"},
		}},
		configure: func(_ Spec, config object) []string {
			config["max_batch_size"] = 64
			return nil
		},
	}
}
