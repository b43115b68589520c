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

// Capability implements Engine.
func (t *tritonPage) Capability(name string, k *Known) target.Check {
	switch name {
	case CanHealth:
		return t.base.Capability(name, k)
	case CanConfig:
		return named(name, k.config(t.noConfig(k)))
	}
	return named(name, t.judge(name, k))
}

// judge judges what Triton exposes: its core, then what the backend of the LLM
// adds.
func (t *tritonPage) judge(name string, k *Known) target.Check {
	p := k.Page
	if p == nil {
		return no("the page answers 404", "metrics_path: /metrics")
	}
	if hasModule(p) && name != CanGPU {
		return judgeModule(name, p)
	}
	switch name {
	case CanTTFT:
		return t.judgeFirst(k)
	case CanTPOT:
		if p.Has(InterToken) {
			return yes("vllm:time_per_output_token_seconds, token by token")
		}
		if set, _ := tritonSet(p, k.Facts); set == setLLMAPI {
			return no("the LLM-API backend publishes no LLM metrics", cureModule)
		}
		return no("Triton has no time per output token", cureClient)
	case CanE2E:
		return t.judgeWhole(k)
	case CanQuantiles:
		return t.judgeQuantiles(k)
	case CanOutcomes:
		return t.judgeOutcomes(k)
	case CanStall:
		return t.judgeStall(k)
	case CanGPU:
		if p.Has(GPUUtilization) {
			return yes("nv_gpu_*, by DCGM")
		}
		return no("the page has no nv_gpu_*", cureGPUs)
	}
	return t.judgeExecutor(name, k)
}

// judgeExecutor judges what only the backend of the LLM can expose.
func (t *tritonPage) judgeExecutor(name string, k *Known) target.Check {
	p := k.Page
	switch {
	case name == CanTokens && p.Has(GenerationTokens):
		if p.Begins(vllmPrefix) {
			return yes("vllm:generation_tokens_total, with each iteration")
		}
		return yes("nv_llm_output_token_len, when a request ends")
	case name == CanLiveTokens && p.Has(GenerationTokens) && p.Begins(vllmPrefix):
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
	return t.noExecutor(name, k)
}

// noExecutor says why the backend of the LLM does not expose something.
func (t *tritonPage) noExecutor(name string, k *Known) target.Check {
	p := k.Page
	set, _ := tritonSet(p, k.Facts)
	if name == CanQueue && set == setCore && p.Has(ModelPending) {
		return t.judgeQueues(k)
	}
	llm, executor := tritonLLM(k.Facts, p), tritonExecutor(p)
	if llm != nil && llm.State != "" && llm.State != ModelReady && executor == "" {
		return no("model "+llm.Name+" is not loaded", "load the model")
	}
	switch set {
	case setLLMAPI:
		return no("the LLM-API backend publishes no LLM metrics", cureModule)
	case setCore:
		if p.Begins(vllmPrefix) {
			return no("Triton's vLLM backend does not publish it", cureVLLM)
		}
		return no("no model of TensorRT-LLM is on the page", "")
	case setPython:
		switch {
		case executor == "":
			return no("the Python executor of this release publishes nothing", "Triton 24.07 (2.48.0) or later")
		case name == CanKVReuse:
			return no("the Python executor never publishes reused blocks", "the C++ backend: triton_backend tensorrtllm")
		}
	case setCPP, setModule:
	}
	return p.judge(name, nil, []lack{
		{CanTokens, "token counts came with TensorRT-LLM 0.16", "Triton 24.12 (2.53.0) or later"},
		{CanKVReuse, "reused blocks came with TensorRT-LLM 0.13", "Triton 24.10 (2.51.0) or later"},
		{CanKVCache, "the executor publishes no KV cache", ""},
		{CanLiveTokens, "static batching (V1) counts no decoding requests", "gpt_model_type: inflight_fused_batching"},
		{"", "the executor does not publish it", ""},
	})
}

// judgeFirst judges the time to the first token, which is the first response
// of decoupled models.
func (*tritonPage) judgeFirst(k *Known) target.Check {
	const flag = "--metrics-config histogram_latencies=true"
	p := k.Page
	minor, known := tritonRelease(k.Facts)
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
	}
	return no("the first response histogram is off", flag)
}

// judgeDuration judges the duration of whole requests.
func (*tritonPage) judgeDuration(k *Known) target.Check {
	p := k.Page
	set, _ := tritonSet(p, k.Facts)
	switch {
	case p.Has(RequestDuration):
		return yes("vllm:e2e_request_latency_seconds")
	case !p.Has(ModelRequestSeconds):
		return no("the counters of durations are off, and with them every other counter stops", "--metrics-config counter_latencies=true")
	case set == setLLMAPI:
		return no("durations of decoupled Python models end when the request was handed over, not at its last token", cureModule)
	}
	return yes("nv_inference_request_duration_us of the entry model, as a mean")
}

// judgeQuantiles judges whether there is a distribution of anything.
func (*tritonPage) judgeQuantiles(k *Known) target.Check {
	const summaries = "--metrics-config summary_latencies=true"
	p := k.Page
	minor, known := tritonRelease(k.Facts)
	switch {
	case p.Has(ModelFirstResponse):
		return yes("buckets of the first response")
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
