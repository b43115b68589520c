package simulate

import "strings"

// config returns the fields of a model's ModelConfig JSON that describe the model.
func (t *triton) config(m *model) any {
	c := object{
		"name": m.name, "platform": "", "backend": m.backend, "max_batch_size": t.w.spec.Engine.MaxBatch,
		"instance_group": []object{}, "parameters": object{}, "model_transaction_policy": object{"decoupled": m.decoupled},
	}
	switch m.role {
	case roleEnsemble:
		c["platform"] = "ensemble"
		c["ensemble_scheduling"] = object{"step": []object{
			{"model_name": "preprocessing"}, {"model_name": "tensorrt_llm"}, {"model_name": "postprocessing"},
		}}
	case roleLLM:
		t.llmConfig(c)
	case rolePre, rolePost:
		c["instance_group"] = instances("KIND_CPU", 4)
		c["dynamic_batching"] = dynamicBatching()
		c["parameters"] = parameters("tokenizer_dir", "/models/tokenizer", "skip_special_tokens", "True")
	case roleBLS:
		c["instance_group"] = instances("KIND_CPU", 4)
		c["parameters"] = parameters("accumulate_tokens", "false", "tensorrt_llm_model_name", "tensorrt_llm")
	case roleOther:
		c["platform"] = "onnxruntime_onnx"
		c["instance_group"] = instances("KIND_GPU", 1)
	}
	return c
}

func (t *triton) llmConfig(c object) {
	c["instance_group"] = instances("KIND_CPU", 1)
	c["dynamic_batching"] = dynamicBatching()
	values := t.kind.configure(t.w.spec, c)
	if t.w.spec.DeclareVersion {
		values = append(values, "trtllm_version", t.w.spec.TRTLLMVersion)
	}
	c["parameters"] = parameters(values...)
}

// parameters takes alternating names and values.
func parameters(namesAndValues ...string) object {
	o := object{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		o[namesAndValues[i]] = object{"string_value": namesAndValues[i+1]}
	}
	return o
}

func instances(kind string, count int) []object {
	gpus := []int{}
	if kind == "KIND_GPU" {
		gpus = []int{0}
	}
	return []object{{"kind": kind, "count": count, "gpus": gpus}}
}

func dynamicBatching() object {
	return object{"preferred_batch_size": []int{}, "max_queue_delay_microseconds": 0}
}

// metadata returns the answer to GET /v2/models/M.
func (m *model) metadata() any {
	platform, inputs := m.backend, []object{}
	if m.role == roleEnsemble {
		platform = "ensemble"
	}
	for _, in := range m.inputs {
		name, kind, _ := strings.Cut(in, " ")
		inputs = append(inputs, object{"name": name, "datatype": kind, "shape": []int{-1, 1}})
	}
	return object{
		"name": m.name, "versions": []string{"1"}, "platform": platform, "inputs": inputs,
		"outputs": []object{{"name": "text_output", "datatype": "BYTES", "shape": []int{-1, -1}}},
	}
}
