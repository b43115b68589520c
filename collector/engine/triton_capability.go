package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/target"

// Ways out that several capabilities of Triton have.
const (
	cureClient = "use trtllm-serve, or measure it at the client"
	cureCanary = "canary: { enabled: true } in the pool, for requests of its own; or measure it at the client"
	cureDCGMIn = "DCGM in the image, and no TRITON_SERVER_CPU_ONLY"
	cureGPUs   = "--allow-gpu-metrics=true with " + cureDCGMIn
	cureKServe = "--enable-kserve-frontends, then engine: triton and api_port of the pool: the page stays where it is"
	cureVLLM   = "vLLM's own server, whose page has it"
)

// judge implements Engine: Triton's core, then what the backend of the LLM adds.
func (t *tritonPage) judge(name string, k *Known) target.Check {
	p := k.Page
	switch {
	case name == CanConfig:
		return k.config(t.noConfig(k))
	case p == nil:
		return no("the page answers 404", "metrics_path: /metrics")
	case hasModule(p) && name != CanGPU:
		return judgeModule(name, p)
	case p.noneLoaded() && name != CanGPU:
		return noModel(k)
	}
	switch name {
	case CanTTFT:
		return t.judgeFirst(k)
	case CanE2E:
		return t.judgeWhole(k)
	case CanQuantiles:
		return t.judgeQuantiles(k)
	case CanOutcomes:
		return t.judgeOutcomes(k)
	case CanStall:
		return t.judgeStall(k)
	}
	if c, ok := p.firstOf(name, tritonSources(k)); ok {
		return c
	}
	return t.without(name, k)
}

// noModel says that no model is loaded, or which that should be is not.
func noModel(k *Known) target.Check {
	which := "no model is loaded"
	if llm := tritonLLM(k.Facts, k.Page); llm != nil {
		which = "model " + llm.Name + " is not loaded"
	}
	return no(which, "load the model")
}

// tritonSources are what capabilities come from where one signal or two say all.
func tritonSources(k *Known) []source {
	const (
		blocks = "used and all blocks of the KV cache"
		live   = "vllm:generation_tokens_total, with each iteration"
	)
	p, queues := k.Page, "waiting in the executor; what is beyond the executor's limit no metric shows"
	if p.Has(ModelPending) && pendingHolds(k) {
		queues = "pending in Triton and " + queues
	}
	tokens := []source{from(CanTokens, "nv_llm_output_token_len, when a request ends", GenerationTokens)}
	if p.Begins(vllmPrefix) {
		tokens = []source{from(CanTokens, live, GenerationTokens), from(CanLiveTokens, live, GenerationTokens)}
	}
	return append(tokens,
		from(CanLiveTokens, "an estimate from iteration_counter and generation_requests", EngineIterations, RequestsDecode),
		from(CanTPOT, "the time between tokens of vLLM, token by token", InterToken),
		from(CanQueue, queues, RequestsWaiting),
		from(CanQueue, queues, RequestsActive, RequestsRunning),
		from(CanRunning, "the executor's scheduled requests, of its last iteration", RequestsRunning),
		from(CanKVCache, blocks, KVBlocksUsed, KVBlocksLimit),
		from(CanKVCache, blocks, KVUtilization),
		from(CanKVReuse, "kv_cache_block_type=reused", KVBlocksReused),
		from(CanGPU, "nv_gpu_*, by DCGM", GPUUtilization),
	)
}

// without says why Triton or the backend of the LLM does not expose something.
func (t *tritonPage) without(name string, k *Known) target.Check {
	p := k.Page
	set, _ := tritonSet(p, k.Facts)
	llm, executor := tritonLLM(k.Facts, p), tritonExecutor(p)
	switch {
	case name == CanGPU:
		return no("the page has no nv_gpu_*", cureGPUs)
	case name == CanTPOT && set != setLLMAPI:
		return no("Triton has no time per output token", cureClient)
	case name == CanQueue && set == setCore && p.Has(ModelPending):
		return t.judgeQueues(k)
	case name != CanTPOT && llm != nil && llm.State != "" && llm.State != ModelReady && executor == "":
		return noModel(k)
	case set == setLLMAPI && (llm == nil || !llm.Configured):
		return no("model "+llmName+" publishes no LLM metrics, as the LLM-API backend does not", cureModule)
	case set == setLLMAPI:
		return no("the LLM-API backend publishes no LLM metrics", cureModule)
	case set == setModule:
		return no("the model with the metrics module is not loaded", "load the model")
	case set == setCore && p.Begins(vllmPrefix):
		return no("Triton's vLLM backend does not publish it", cureVLLM)
	case set == setCore:
		return no("no model of TensorRT-LLM is on the page", "")
	case set == setPython && executor == "":
		return no("the Python executor of this release publishes nothing", "Triton 24.07 (2.48.0) or later")
	case set == setPython && name == CanKVReuse:
		return no("the Python executor never publishes reused blocks", "the C++ backend: triton_backend tensorrtllm")
	}
	if minor, _ := tritonMinor(k.Facts.version()); name == CanTokens && minor >= minorTokenCounts || name == CanKVReuse && minor >= minorReuse {
		return no("the executor does not publish it", "")
	}
	return p.judge(name, nil,
		lacks("token counts came with TensorRT-LLM 0.16", "Triton 24.12 (2.53.0) or later", CanTokens),
		lacks("reused blocks came with TensorRT-LLM 0.13", "Triton 24.10 (2.51.0) or later", CanKVReuse),
		lacks("the executor publishes no KV cache", "", CanKVCache),
		lacks("static batching (V1) counts no decoding requests", "gpt_model_type: inflight_fused_batching", CanLiveTokens),
		lacks("the executor does not publish it", ""),
	)
}

// judgeFirst judges the time to the first token, which is the first response
// of decoupled models.
func (*tritonPage) judgeFirst(k *Known) target.Check {
	const flag = "--metrics-config histogram_latencies=true"
	p := k.Page
	minor, known := tritonMinor(k.Facts.version())
	switch {
	case p.Has(ModelFirstResponse):
		return yes("nv_inference_first_response_histogram_ms; of models that do not stream it is the whole request")
	case p.Has(FirstToken):
		return yes("vllm:time_to_first_token_seconds")
	case known && minor < minorHangUp:
		return no("this release has no first response histogram", "Triton 24.11 (2.52.0) or later with "+flag+", or measure it at the client")
	case known && minor < minorFirstResponse:
		return no("this release has no first response histogram", "Triton 24.11 (2.52.0) or later with "+flag+"; or "+cureCanary)
	case known && minor < minorAllResponses:
		return no("the histogram is off, or no model is decoupled: before 26.01 only those have one", flag+" and decoupled: true")
	case !known:
		return no("the first response histogram is off, or the release is older than it", flag+" with Triton 24.11 (2.52.0) or later")
	}
	return no("the first response histogram is off", flag)
}

// judgeQuantiles judges whether there is a distribution of anything.
func (*tritonPage) judgeQuantiles(k *Known) target.Check {
	const summaries = "--metrics-config summary_latencies=true"
	p := k.Page
	minor, known := tritonMinor(k.Facts.version())
	switch {
	case p.Has(ModelFirstResponse):
		return yes("buckets of the first response")
	case p.Has(ModelRequestTimes):
		return yes("buckets of nv_inference_request_duration_histogram_us")
	case p.Has(ModelRequestDuration):
		return yes("quantiles of request summaries, over their last minute; they cannot be added up over replicas")
	case p.Has(RequestDuration):
		return yes("histograms of vLLM")
	}
	if known && minor < minorFirstResponse {
		return no("summaries are off, and this release has no histograms", summaries)
	}
	return no("histograms and summaries are off", "--metrics-config histogram_latencies=true "+summaries)
}

// noConfig says why no config of a model is known.
func (*tritonPage) noConfig(k *Known) target.Check {
	if k.Facts == nil || len(k.Facts.Problems) == 0 {
		return no("the API answered with no config of a model", "set api_port")
	}
	for _, p := range k.Facts.Problems {
		if p.Restricted {
			return no(p.Question+": "+p.Reason, cureHeader)
		}
	}
	p := k.Facts.Problems[0]
	return no(p.Question+": "+p.Reason, "set api_port if the API is elsewhere")
}
