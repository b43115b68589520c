package engine

// judgeTriton judges what Triton tells: its core, then what the backend of the
// LLM adds.
func judgeTriton(k *Known, name string) verdict {
	p := k.Page
	if p == nil {
		return no("the page answers 404", "metrics_path: /metrics")
	}
	set, _ := MetricSetOf(p, k.Facts)
	switch name {
	case CanTTFT:
		return k.tritonFirst()
	case CanTPOT:
		if p.Begins("vllm:time_per_output_token") {
			return yes("vllm:time_per_output_token_seconds, token by token")
		}
		return no("Triton has no time per output token", cureClient)
	case CanE2E:
		return k.tritonDuration(set)
	case CanQuantiles:
		return k.tritonQuantiles()
	case CanGPU:
		if p.Has(GPUUtilization) {
			return yes("nv_gpu_*, by DCGM")
		}
		return no("the page has no nv_gpu_*", cureGPUs)
	}
	return k.executor(set, name)
}

// executor judges what only the backend of the LLM can tell.
func (k *Known) executor(set MetricSet, name string) verdict {
	p := k.Page
	switch {
	case name == CanTokens && p.Has(GenerationTokens):
		if p.Begins("vllm:") {
			return yes("vllm:generation_tokens_total, with each iteration")
		}
		return yes("nv_llm_output_token_len, when a request ends")
	case name == CanLiveTokens && p.Has(GenerationTokens) && p.Begins("vllm:"):
		return yes("vllm:generation_tokens_total, with each iteration")
	case name == CanLiveTokens && p.Has(EngineIterations) && p.Has(RequestsDecode):
		return yes("an estimate from iteration_counter and generation_requests")
	case name == CanQueue && (p.Has(RequestsWaiting) || p.Has(RequestsActive) && p.Has(RequestsRunning)):
		return yes("pending in Triton and waiting in the executor; what is beyond the executor's limit no metric shows")
	case name == CanRunning && p.Has(RequestsRunning):
		return yes("the executor's scheduled requests, of its last iteration")
	case name == CanKVCache && (p.Has(KVBlocksUsed) && p.Has(KVBlocksLimit) || p.Has(KVUtilization)):
		return yes("used and all blocks of the KV cache")
	case name == CanKVReuse && p.Has(KVBlocksReused):
		return yes("kv_cache_block_type=reused")
	}
	return k.noExecutor(set, name)
}

// noExecutor says why the backend of the LLM does not tell something.
func (k *Known) noExecutor(set MetricSet, name string) verdict {
	p := k.Page
	if name == CanQueue && set == SetCore && p.Has(ModelPending) {
		return yes("nv_inference_pending_request_count: Triton's own queues")
	}
	if llm := k.Facts.llmModel(p); llm != nil && llm.State != "" && llm.State != modelReady && p.executor == "" {
		return no("model "+llm.Name+" is not loaded", "load the model")
	}
	switch set {
	case SetLLMAPI:
		return no("the LLM-API backend publishes no LLM metrics", cureLLMAPI)
	case SetCore:
		if p.Begins("vllm:") {
			return no("Triton's vLLM backend does not publish it", "")
		}
		return no("no model of TensorRT-LLM is on the page", "")
	case SetPython:
		switch {
		case p.executor == "":
			return no("the Python executor of this release publishes nothing", "Triton 24.07 (2.48.0) or later")
		case name == CanKVReuse:
			return no("the Python executor never publishes reused blocks", "the C++ backend: triton_backend tensorrtllm")
		}
	case SetCPP:
	}
	switch name {
	case CanTokens:
		return no("token counts came with TensorRT-LLM 0.16", "Triton 24.12 (2.53.0) or later")
	case CanKVReuse:
		return no("reused blocks came with TensorRT-LLM 0.13", "Triton 24.10 (2.51.0) or later")
	case CanKVCache:
		return no("the executor publishes no KV cache", "")
	case CanLiveTokens:
		return no("static batching (V1) counts no decoding requests", "gpt_model_type: inflight_fused_batching")
	}
	return no("the executor does not publish it", "")
}

// minor is Triton's minor version, which grows with every release; false when
// the server has not told it.
func (k *Known) minor() (int, bool) {
	if k.Facts == nil {
		return 0, false
	}
	return tritonMinor(k.Facts.EngineVersion)
}

// tritonFirst judges the time to the first token, which is the first response
// of decoupled models.
func (k *Known) tritonFirst() verdict {
	const flag = "--metrics-config histogram_latencies=true"
	p := k.Page
	minor, known := k.minor()
	switch {
	case p.Shows("nv_inference_first_response_histogram_ms_bucket"):
		return yes("nv_inference_first_response_histogram_ms; of models that do not stream it is the whole request")
	case p.Begins("vllm:time_to_first_token"):
		return yes("vllm:time_to_first_token_seconds")
	case k.Kind == TritonOpenAI:
		return no("the OpenAI frontend takes no metric options", cureCanary)
	case known && minor < minorHangUp:
		return no("this release has no first response histogram", "Triton 24.11 (2.52.0) or later with "+flag+", or measure it at the client")
	case known && minor < minorFirstResponse:
		return no("this release has no first response histogram", "Triton 24.11 (2.52.0) or later with "+flag+"; or "+cureCanary)
	case known && minor < minorAllResponses:
		return no("the histogram is off, or no model is decoupled: before 26.01 only those have one", flag+" and decoupled: true")
	}
	return no("the first response histogram is off", flag)
}

// tritonDuration judges the duration of whole requests.
func (k *Known) tritonDuration(set MetricSet) verdict {
	p := k.Page
	switch {
	case p.Begins("vllm:e2e_request_latency"):
		return yes("vllm:e2e_request_latency_seconds")
	case !p.Has(ModelRequestSeconds):
		return no("the counters of durations are off, and with them every other counter stands still", "--metrics-config counter_latencies=true")
	case set == SetLLMAPI:
		return no("durations of decoupled Python models end when the request was handed over, not at its last token", cureLLMAPI)
	}
	return yes("nv_inference_request_duration_us of the entry model, as a mean")
}

// tritonQuantiles judges whether there is a distribution of anything.
func (k *Known) tritonQuantiles() verdict {
	const summaries = "--metrics-config summary_latencies=true"
	p := k.Page
	minor, known := k.minor()
	switch {
	case p.Shows("nv_inference_first_response_histogram_ms_bucket"):
		return yes("buckets of the first response")
	case p.Shows("nv_inference_request_summary_us"):
		return yes("quantiles of request summaries, over their last minute; they cannot be added up over replicas")
	case p.Begins("vllm:e2e_request_latency"):
		return yes("histograms of vLLM")
	case k.Kind == TritonOpenAI:
		return no("the OpenAI frontend takes no metric options", cureClient)
	}
	if known && minor < minorFirstResponse {
		return no("summaries are off, and this release has no histograms", summaries)
	}
	return no("histograms and summaries are off", "--metrics-config histogram_latencies=true "+summaries)
}
