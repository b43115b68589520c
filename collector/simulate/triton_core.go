package simulate

// KindTritonCore is Triton without an LLM backend.
const KindTritonCore Kind = "triton-core"

func tritonCore() software {
	return flavour{
		complete: func(s *Spec) {
			// One answer per request, one request at a time; others wait in Triton's queue.
			s.Workload.MaxPrompt, s.Workload.MaxOutput, s.Workload.PromptTokens, s.Workload.OutputTokens = 1, 1, 1, 1
			setDefault(&s.Engine.MaxActive, 1)
		},
		models: []model{
			{name: "densenet_onnx", role: roleOther, backend: "onnxruntime", loadSeconds: 0.731204, inputs: []string{"data_0 FP32"}},
			{name: "resnet50", role: roleLLM, backend: "onnxruntime", loadSeconds: 1.904518, inputs: []string{"data_0 FP32"}},
		},
		queues: true,
		configure: func(_ Spec, config object) []string {
			config["platform"] = "onnxruntime_onnx"
			config["instance_group"] = instances("KIND_GPU", 1)
			return nil
		},
	}.software()
}
