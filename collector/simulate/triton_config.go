package simulate

import "strconv"

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
		c["parameters"] = object{"tokenizer_dir": parameter("/models/tokenizer"), "skip_special_tokens": parameter("True")}
	case roleBLS:
		c["instance_group"] = instances(m.name, "KIND_CPU", 4)
		c["parameters"] = object{"accumulate_tokens": parameter("false"), "tensorrt_llm_model_name": parameter("tensorrt_llm")}
	case roleOther:
		c["platform"] = "onnxruntime_onnx"
		c["instance_group"] = instances(m.name, "KIND_GPU", 1)
	}
	return c
}

func (t *triton) llmConfig(m *model, c object) {
	parameters := object{}
	c["instance_group"] = instances(m.name, "KIND_CPU", 1)
	c["dynamic_batching"] = dynamicBatching()
	c["input"] = []object{tensor("input_ids", "TYPE_INT32", -1), tensor("input_lengths", "TYPE_INT32", 1), tensor("request_output_len", "TYPE_INT32", 1)}
	c["output"] = []object{tensor("output_ids", "TYPE_INT32", -1, -1), tensor("sequence_length", "TYPE_INT32", -1)}
	c["parameters"] = parameters
	t.kind.configure(t.w.spec, c, parameters)
	if t.w.spec.DeclareVersion {
		parameters["trtllm_version"] = parameter(t.w.spec.TRTLLMVersion)
	}
}

// configureTRTLLM fills in the parameters of TensorRT-LLM's own repository.
func configureTRTLLM(s Spec, _, parameters object) {
	batching := "inflight_fused_batching"
	if s.StaticBatching {
		batching = "V1"
	}
	for key, v := range map[string]string{
		"gpt_model_type": batching, "gpt_model_path": "/models/engine", "max_beam_width": "1",
		"batch_scheduler_policy": "max_utilization", "kv_cache_free_gpu_mem_fraction": "0.9",
		"enable_kv_cache_reuse": "true", "enable_chunked_context": "true", "decoupled_mode": strconv.FormatBool(s.Streaming),
		"executor_worker_path":         "/opt/tritonserver/backends/tensorrtllm/trtllmExecutorWorker",
		"FORCE_CPU_ONLY_INPUT_TENSORS": "no",
	} {
		parameters[key] = parameter(v)
	}
}

func parameter(v string) object { return object{"string_value": v} }

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
	return object{
		"preferred_batch_size": []int{}, "max_queue_delay_microseconds": 0, "preserve_ordering": false,
		"priority_levels": 0, "default_priority_level": 0, "priority_queue_policy": object{},
		"default_queue_policy": object{
			"timeout_action": "REJECT", "default_timeout_microseconds": 0, "allow_timeout_override": false, "max_queue_size": 0,
		},
	}
}

func step(name string, input, output map[string]string) object {
	return object{"model_name": name, "model_version": -1, "model_namespace": "", "input_map": input, "output_map": output}
}

// modelMetadata is what GET /v2/models/M says, with those inputs of TensorRT-LLM's
// repositories that a request for text needs.
func (t *triton) modelMetadata(m *model) any {
	platform, names := m.backend, t.kind.inputs
	switch m.role {
	case roleEnsemble:
		platform = "ensemble"
		fallthrough
	case roleBLS:
		names = [][2]string{{"text_input", "BYTES"}, {"max_tokens", "INT32"}, {"stream", "BOOL"}, {"top_k", "INT32"}}
	case rolePre:
		names = [][2]string{{"QUERY", "BYTES"}, {"REQUEST_OUTPUT_LEN", "INT32"}}
	case rolePost:
		names = [][2]string{{"TOKENS_BATCH", "INT32"}, {"SEQUENCE_LENGTH", "INT32"}}
	case roleLLM, roleOther:
	}
	inputs := []object{}
	for _, n := range names {
		inputs = append(inputs, object{"name": n[0], "datatype": n[1], "shape": []int{-1, 1}})
	}
	return object{
		"name": m.name, "versions": []string{"1"}, "platform": platform, "inputs": inputs,
		"outputs": []object{{"name": "text_output", "datatype": "BYTES", "shape": []int{-1, -1}}},
	}
}
