package simulate

import "strings"

// config is the ModelConfig JSON of a model.
func (t *triton) config(m *model) any {
	c := object{
		"name": m.name, "platform": "", "backend": m.backend, "runtime": "",
		"version_policy": object{"latest": object{"num_versions": 1}},
		"max_batch_size": t.w.spec.Engine.MaxBatch,
		"input":          []object{tensor("text_input", "TYPE_STRING", 1), tensor("max_tokens", "TYPE_INT32", 1)},
		"output":         []object{tensor("text_output", "TYPE_STRING", -1)},
		"batch_input":    []object{}, "batch_output": []object{}, "instance_group": []object{}, "model_warmup": []object{},
		"default_model_filename": "", "cc_model_filenames": object{}, "metric_tags": object{}, "parameters": object{},
		"model_transaction_policy": object{"decoupled": m.decoupled},
		"optimization":             object{"priority": "PRIORITY_DEFAULT", "input_pinned_memory": object{"enable": true}, "output_pinned_memory": object{"enable": true}},
	}
	switch m.role {
	case roleEnsemble:
		c["platform"] = "ensemble"
		c["ensemble_scheduling"] = object{"step": []object{
			step("preprocessing", map[string]string{"QUERY": "text_input", "REQUEST_OUTPUT_LEN": "max_tokens"}, map[string]string{"INPUT_ID": "_INPUT_ID"}),
			step("tensorrt_llm", map[string]string{"input_ids": "_INPUT_ID", "request_output_len": "_REQUEST_OUTPUT_LEN"}, map[string]string{"output_ids": "_TOKENS_BATCH"}),
			step("postprocessing", map[string]string{"TOKENS_BATCH": "_TOKENS_BATCH"}, map[string]string{"OUTPUT": "text_output"}),
		}}
	case roleLLM:
		t.llmConfig(m, c)
	case rolePre, rolePost:
		c["instance_group"] = instances(m.name, "KIND_CPU", 4)
		c["dynamic_batching"] = dynamicBatching()
		c["parameters"] = parameters("tokenizer_dir", "/models/tokenizer", "skip_special_tokens", "True")
	case roleBLS:
		c["instance_group"] = instances(m.name, "KIND_CPU", 4)
		c["parameters"] = parameters("accumulate_tokens", "false", "tensorrt_llm_model_name", "tensorrt_llm")
	case roleOther:
		c["platform"] = "onnxruntime_onnx"
		c["instance_group"] = instances(m.name, "KIND_GPU", 1)
	}
	return c
}

func (t *triton) llmConfig(m *model, c object) {
	c["instance_group"] = instances(m.name, "KIND_CPU", 1)
	c["dynamic_batching"] = dynamicBatching()
	c["input"] = []object{tensor("input_ids", "TYPE_INT32", -1), tensor("input_lengths", "TYPE_INT32", 1), tensor("request_output_len", "TYPE_INT32", 1)}
	c["output"] = []object{tensor("output_ids", "TYPE_INT32", -1, -1), tensor("sequence_length", "TYPE_INT32", -1)}
	values := t.kind.configure(t.w.spec, c)
	if t.w.spec.DeclareVersion {
		values = append(values, "trtllm_version", t.w.spec.TRTLLMVersion)
	}
	c["parameters"] = parameters(values...)
}

// parameters are given as names and values in turn.
func parameters(namesAndValues ...string) object {
	o := object{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		o[namesAndValues[i]] = object{"string_value": namesAndValues[i+1]}
	}
	return o
}

func tensor(name, kind string, dims ...int) object {
	return object{
		"name": name, "data_type": kind, "format": "FORMAT_NONE", "dims": dims,
		"is_shape_tensor": false, "allow_ragged_batch": false, "optional": false,
	}
}

func instances(name, kind string, count int) []object {
	gpus := []int{}
	if kind == "KIND_GPU" {
		gpus = []int{0}
	}
	return []object{{
		"name": name + "_0", "kind": kind, "count": count, "gpus": gpus, "secondary_devices": []object{},
		"profile": []string{}, "passive": false, "host_policy": "",
	}}
}

func dynamicBatching() object {
	policy := object{"timeout_action": "REJECT", "default_timeout_microseconds": 0, "allow_timeout_override": false, "max_queue_size": 0}
	return object{
		"preferred_batch_size": []int{}, "max_queue_delay_microseconds": 0, "preserve_ordering": false, "priority_levels": 0,
		"default_priority_level": 0, "priority_queue_policy": object{}, "default_queue_policy": policy,
	}
}

func step(name string, input, output map[string]string) object {
	return object{"model_name": name, "model_version": -1, "model_namespace": "", "input_map": input, "output_map": output}
}

// metadata is what GET /v2/models/M says.
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
