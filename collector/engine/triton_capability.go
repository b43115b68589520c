package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Remedies for Triton.
const (
	cureClient = "use trtllm-serve, or measure it at the client"
	cureCanary = "canary: { enabled: true } in the pool, for requests of its own; or measure it at the client"
	cureDCGMIn = "DCGM in the image, and no TRITON_SERVER_CPU_ONLY"
	cureGPUs   = "--allow-gpu-metrics=true with " + cureDCGMIn
	cureKServe = "--enable-kserve-frontends, then engine: triton and api_port of the pool: the page stays where it is"
	cureVLLM   = "vLLM's own server, whose page has it"
)

// judge implements Engine: Triton's core, then what the backend of the LLM adds.
func (t *tritonPage) judge(name string, k *Knowledge) target.Check {
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
	case CanE2E:
		return t.judgeDuration(k)
	case CanOutcomes:
		return t.judgeOutcomes(k)
	}
	if c, ok := p.firstOf(name, tritonSources(k)); ok {
		return c
	}
	return t.missing(name, k)
}

// noModel names the LLM that is not loaded, if it is known.
func noModel(k *Knowledge) target.Check {
	which := "no model is loaded"
	if llm := tritonLLM(k.Facts, k.Page); llm != nil {
		which = "model " + llm.Name + " is not loaded"
	}
	return no(which, "load the model")
}

// tritonSources returns the sources that need no further judgment.
func tritonSources(k *Knowledge) []source {
	const (
		blocks = "used and all blocks of the KV cache"
		live   = "vllm:generation_tokens_total, with each iteration"
	)
	p, queues := k.Page, "waiting in the executor; no metric shows requests beyond the executor's limit"
	if p.Has(ModelPending) && pendingHolds(k) {
		queues = "pending in Triton and " + queues
	}
	tokens := []source{from(CanTokens, "nv_llm_output_token_len, when a request ends", GenerationTokens)}
	if p.HasPrefix(vllmPrefix) {
		tokens = []source{from(CanTokens, live, GenerationTokens), from(CanLiveTokens, live, GenerationTokens)}
	}
	return append(tokens,
		from(CanLiveTokens, "an estimate from iteration_counter and generation_requests", EngineIterations, RequestsDecode),
		from(CanTTFT, "nv_inference_first_response_histogram_ms; of models that do not stream it is the whole request", ModelFirstResponse),
		from(CanTTFT, "vllm:time_to_first_token_seconds", FirstToken),
		from(CanTPOT, "the time between tokens of vLLM, token by token", InterToken),
		from(CanQuantiles, "buckets of the first response", ModelFirstResponse),
		from(CanQuantiles, "buckets of nv_inference_request_duration_histogram_us", ModelRequestTimes),
		from(CanQuantiles, "quantiles of request summaries, over their last minute; they cannot be added up over replicas", ModelRequestDuration),
		from(CanQuantiles, "histograms of vLLM", RequestDuration),
		from(CanQueue, queues, RequestsWaiting),
		from(CanQueue, queues, RequestsActive, RequestsRunning),
		from(CanRunning, "the executor's scheduled requests, of its last iteration", RequestsRunning),
		from(CanKVCache, blocks, KVBlocksUsed, KVBlocksLimit),
		from(CanKVCache, blocks, KVUtilization),
		from(CanKVReuse, "kv_cache_block_type=reused", KVBlocksReused),
		from(CanStall, "the count of iterations, while requests are active", EngineIterations),
		from(CanStall, "the count of tokens, while requests run", GenerationTokens),
		from(CanGPU, "nv_gpu_*, by DCGM", GPUUtilization),
	)
}

// missing explains why Triton or the backend of the LLM does not expose something.
func (t *tritonPage) missing(name string, k *Knowledge) target.Check {
	p := k.Page
	set, _ := tritonSet(p, k.Facts)
	llm, executor := tritonLLM(k.Facts, p), tritonExecutor(p)
	switch {
	case name == CanGPU:
		return no("the page has no nv_gpu_*", cureGPUs)
	case name == CanTTFT:
		return noFirstToken(k)
	case name == CanQuantiles:
		return noQuantiles(k)
	case name == CanStall:
		return t.judgeStall(k)
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
	case set == setCore && p.HasPrefix(vllmPrefix):
		return no("Triton's vLLM backend does not publish it", cureVLLM)
	case set == setCore:
		return no("no model of TensorRT-LLM is on the page", "")
	case set == setPython && executor == "":
		return no("the Python executor of this release publishes nothing", "Triton 24.07 (2.48.0) or later")
	case set == setPython && name == CanKVReuse:
		return no("the Python executor never publishes reused blocks", "the C++ backend: triton_backend tensorrtllm")
	}
	if minor, _ := tritonMinor(k.Facts.get().EngineVersion); name == CanTokens && minor >= minorTokenCounts || name == CanKVReuse && minor >= minorReuse {
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

// noFirstToken explains why there is no first response of a decoupled model.
func noFirstToken(k *Knowledge) target.Check {
	const (
		flag    = "--metrics-config histogram_latencies=true"
		release = "Triton 24.11 (2.52.0) or later"
	)
	minor, known := tritonMinor(k.Facts.get().EngineVersion)
	switch {
	case known && minor < minorHangUp:
		return no("this release has no first response histogram", release+" with "+flag+", or measure it at the client")
	case known && minor < minorFirstResponse:
		return no("this release has no first response histogram", release+" with "+flag+"; or "+cureCanary)
	case known && minor < minorAllResponses:
		return no("the histogram is off, or no model is decoupled: before 26.01 only those have one", flag+" and decoupled: true")
	case !known:
		return no("the first response histogram is off, or the release is older than it", flag+" with "+release)
	}
	return no("the first response histogram is off", flag)
}

// noQuantiles explains why there is no distribution of anything.
func noQuantiles(k *Knowledge) target.Check {
	const summaries = "--metrics-config summary_latencies=true"
	if minor, known := tritonMinor(k.Facts.get().EngineVersion); known && minor < minorFirstResponse {
		return no("summaries are off, and this release has no histograms", summaries)
	}
	return no("histograms and summaries are off", "--metrics-config histogram_latencies=true "+summaries)
}

// noConfig explains why no config of a model is known.
func (*tritonPage) noConfig(k *Knowledge) target.Check {
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

// judgeOutcomes judges which of the models that clients call count whole requests.
func (t *tritonPage) judgeOutcomes(k *Knowledge) target.Check {
	p := k.Page
	switch {
	case p.Has(RequestsFinished) && t.CountsFailures(p):
		return yes("the engine counts its own requests, and its failures")
	case !p.Has(ModelRequestSeconds):
		return countersOff(p)
	}
	by := t.fronts(k)
	whole, early, unknown := by[TrustNo], by[TrustYes], by[TrustUnknown]
	switch {
	case len(whole) > 0 && len(early)+len(unknown) > 0:
		return yes("success and failures of " + strings.Join(whole, ", ") + "; of " + strings.Join(slices.Concat(early, unknown), ", ") +
			" only what was accepted")
	case len(whole) > 0:
		return yes("success and failures of the models that clients call; invalid requests, full queues and clients that leave a stream are not counted")
	case len(early) > 0:
		return no("model "+early[0]+" is decoupled: a request counts as success once it is accepted, whatever its outcome", cureEarly(k))
	}
	return t.unconfigured(k, unknown)
}

// fronts returns the loaded models that clients call, by whether they hand over requests.
func (t *tritonPage) fronts(k *Knowledge) map[Trust][]string {
	topology, by := NewTopology(t, k.Page.NamedModels(), k.Facts.get().Models, nil), make(map[Trust][]string)
	for _, name := range k.Page.Models() {
		if k.Page.loaded[name] && topology.Role(name).Front() {
			by[topology.HandsOver(name)] = append(by[topology.HandsOver(name)], name)
		}
	}
	return by
}

// cureEarly returns the remedy for a model that hands over its requests.
func cureEarly(k *Knowledge) string {
	if set, _ := tritonSet(k.Page, k.Facts); set == setLLMAPI {
		return cureModule
	}
	return cureCanary
}

// unconfigured explains that the first of the models may hand over its requests.
func (t *tritonPage) unconfigured(k *Knowledge, models []string) target.Check {
	cure := t.noConfig(k).Cure
	if t.SamePort() {
		cure = cureKServe
	}
	if len(models) == 0 {
		return no("no model that clients call is loaded, or it is not known which that is", cure)
	}
	if set, _ := tritonSet(k.Page, k.Facts); set == setLLMAPI && models[0] == llmName && t.SamePort() {
		cure = cureModule // Its config would show that it is decoupled.
	}
	return no("the config of model "+models[0]+" is not known, and requests of decoupled models count as done once they are accepted", cure)
}

// judgeDuration judges the duration of whole requests.
func (t *tritonPage) judgeDuration(k *Knowledge) target.Check {
	const handedOver = "durations of decoupled Python models end when the request was handed over, not at its last token"
	p, by := k.Page, t.fronts(k)
	set, _ := tritonSet(p, k.Facts)
	switch {
	case p.Has(RequestDuration):
		return yes("vllm:e2e_request_latency_seconds")
	case !p.Has(ModelRequestSeconds):
		return countersOff(p)
	case set == setLLMAPI, len(by[TrustYes]) > 0 && len(by[TrustNo]) == 0:
		return no(handedOver, cureEarly(k))
	case len(by[TrustNo]) > 0:
		return yes("nv_inference_request_duration_us of the entry model, as a mean")
	}
	return t.unconfigured(k, by[TrustUnknown])
}

// countersOff explains why Triton counts nothing, or why its counters are not on the page.
func countersOff(p *Page) target.Check {
	if !p.Has(ModelSuccess) {
		return no("the page has no nv_inference_request_success of any model", "")
	}
	return no("the counters of durations are off, and with them every other counter stops", "--metrics-config counter_latencies=true")
}

// queues reports whether Triton itself queues the requests of a model that clients call.
func (t *tritonPage) queues(k *Knowledge) bool {
	topology := NewTopology(t, k.Page.NamedModels(), k.Facts.get().Models, nil)
	return slices.ContainsFunc(k.Page.Models(), func(name string) bool {
		return topology.Role(name).Front() && !topology.Ensemble(name) && topology.QueuedByCore(name)
	})
}

// pendingHolds reports whether the release counts pending requests right.
func pendingHolds(k *Knowledge) bool {
	return (&Meaning{Unless: pendingLeaks()}).Holds(k.Facts.get().EngineVersion)
}

// judgeQueues judges whether Triton's own queues hold all requests that wait.
func (t *tritonPage) judgeQueues(k *Knowledge) target.Check {
	unknown := t.fronts(k)[TrustUnknown]
	switch {
	case !pendingHolds(k):
		return no("this release keeps requests that could not be queued in nv_inference_pending_request_count forever", "Triton 23.11 (2.40.0) or later")
	case t.queues(k):
		return yes("nv_inference_pending_request_count: Triton's own queues")
	case len(unknown) > 0:
		return t.unconfigured(k, unknown)
	}
	cure := cureClient
	if k.Page.HasPrefix(vllmPrefix) {
		cure = cureVLLM
	}
	return no("Triton's own queues are empty for models that hand their requests over, and what they queue is not on the page", cure)
}

// judgeStall judges whether Triton's own queues show that requests make no progress.
func (t *tritonPage) judgeStall(k *Knowledge) target.Check {
	p := k.Page
	switch {
	case p.Has(GenerationTokens):
		return no("tokens move, and nothing shows how many requests run", cureCanary)
	case p.Has(ModelPending) && pendingHolds(k) && t.queues(k):
		return yes("requests that end, while others wait in Triton's queues for much longer than they take")
	}
	return no("nothing on the page shows requests in flight of what clients call", cureEarly(k))
}

func (*tritonPage) Determinism(f *Facts, p *Page) []target.Check {
	models := tritonWorkers(f, p)
	if len(models) == 0 {
		return nil
	}
	batching := "no dynamic batching"
	if slices.ContainsFunc(models, func(m *ModelFacts) bool { return m.Batching != nil }) {
		batching = "dynamic batching is minimal: no delay and no preferred sizes"
	}
	single, known := admitsOne(p)
	if !known {
		single = every(CheckSingleRequest, models, "no model takes more than one request into a batch", singleRequest)
	}
	return []target.Check{
		every(CheckOneInstance, models, "one instance of each model", oneInstance),
		every(CheckPinnedGPUs, models, "the GPUs are named in the config", pinnedGPUs),
		every(CheckNoBatching, models, batching, noBatching), single,
	}
}

// tritonWorkers returns the models with a known config that run the LLM, not tokenizers and such.
func tritonWorkers(f *Facts, p *Page) []*ModelFacts {
	llm := tritonLLM(f, p)
	if llm != nil && !llm.Configured {
		return nil
	}
	var models []*ModelFacts
	for i := range f.get().Models {
		m := &f.Models[i]
		tokenizer := m.Name == preprocessing || m.Name == postprocessing
		runs := m.Platform != platformEnsemble && len(m.Calls) == 0 && !tokenizer
		if llm != nil {
			// Another LLM may be a draft model, or serve something else.
			runs = m == llm || m.State != ModelUnavailable && (m.Backend == backendCPP || m.Backend == backendVLLM)
		}
		if m.Configured && runs {
			models = append(models, m)
		}
	}
	return models
}

// every checks all models. problem describes why a model fails the check; empty if it passes.
func every(check string, models []*ModelFacts, passed string, problem func(m *ModelFacts) string) target.Check {
	for _, m := range models {
		if reason := problem(m); reason != "" {
			return target.Failed(check, "model "+m.Name+" "+reason, "")
		}
	}
	return target.Passed(check, passed)
}

func oneInstance(m *ModelFacts) string {
	if n := m.InstanceCount(); n != 1 {
		return fmt.Sprintf("has %d instances; set instance_group count: 1 with one GPU", n)
	}
	return ""
}

func pinnedGPUs(m *ModelFacts) string {
	switch {
	case m.Parameters[gpuParameter] != "":
		return ""
	case len(m.Instances) == 0:
		return "has no instance group; name its GPU"
	}
	for _, g := range m.Instances {
		switch {
		case g.Kind != "KIND_GPU" && m.Backend == backendCPP:
			return fmt.Sprintf("leaves the GPU to its backend (%s); set parameter %s", g.Kind, gpuParameter)
		case g.Kind != "KIND_GPU":
			return fmt.Sprintf("leaves the GPU to its backend (%s); name it in instance_group gpus, or give the server one GPU only", g.Kind)
		case len(g.GPUs) != 1:
			return fmt.Sprintf("runs on %d GPUs; name one in instance_group gpus", len(g.GPUs))
		}
	}
	return ""
}

func noBatching(m *ModelFacts) string {
	switch {
	case m.Batching == nil:
	case m.Batching.DelayMicroseconds != 0 || m.Batching.Preferred:
		return fmt.Sprintf("waits %d us to batch requests; remove dynamic_batching", m.Batching.DelayMicroseconds)
	case m.Backend != backendCPP && m.Backend != backendPython && m.MaxBatchSize > 1:
		return "batches requests that wait; remove dynamic_batching"
	}
	return ""
}

// singleRequest describes how many requests may share a batch; LLMs ignore max_batch_size.
func singleRequest(m *ModelFacts) string {
	switch {
	case m.Backend == backendCPP || m.Backend == backendVLLM || m.Decoupled || m.Name == llmName:
		return "batches requests by itself and does not show how many" + oneInFlight
	case m.MaxBatchSize > 1:
		return fmt.Sprintf("takes up to %d requests into one batch", m.MaxBatchSize) + oneInFlight
	}
	return ""
}
