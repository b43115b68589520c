package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Remedies for Triton.
const (
	cureClient = "use trtllm-serve, or " + cureAtClient
	cureCanary = "canary: { enabled: true } in the pool, for requests of its own; or " + cureAtClient
	cureDCGMIn = "DCGM in the image, and no TRITON_SERVER_CPU_ONLY"
	cureGPUs   = "--allow-gpu-metrics=true with " + cureDCGMIn
	cureKServe = "--enable-kserve-frontends, then engine: triton and api_port of the pool: the page stays where it is"
	cureVLLM   = "vLLM's own server, whose page has it"
)

// tritonJudge judges what the series of Triton's core do not tell, which is most: it depends on models,
// configs and releases.
func tritonJudge(kind *Kind, name string, k *Knowledge) (c target.Check, ok bool) {
	p := k.Page
	switch {
	case name == CanConfig:
		return k.config(noTritonConfig(k)), true
	case p == nil:
		return c, false
	case hasModule(p) && name == CanOutcomes:
		return yes("nv_llmapi_requests_ended_total, by class"), true
	case hasModule(p) && name != CanGPU:
		return c, false
	}
	v := newTritonView(kind, name, k)
	switch {
	case len(p.loaded) > 0 && !slices.Contains(slices.Collect(maps.Values(p.loaded)), true) && name != CanGPU:
		return v.noModel(), true
	case name == CanQueue && v.pending && p.Has(ModelPending):
		if c, ok = kind.shown(name, p); ok {
			c.Reason = "nv_inference_pending_request_count, pending in Triton, and " + c.Reason
		}
		return c, ok
	case name == CanE2E:
		return v.duration(), true
	case name == CanOutcomes:
		return v.outcomes(), true
	}
	return c, false
}

// tritonLacking explains what a page lacks.
func tritonLacking(kind *Kind, name string, k *Knowledge) target.Check {
	if hasModule(k.Page) && name != CanGPU {
		return moduleLacks(name)
	}
	return newTritonView(kind, name, k).missing(name)
}

// tritonRemarks returns remarks on what the page shows.
func tritonRemarks(p *Page) map[string]string {
	switch {
	case hasModule(p):
		return map[string]string{
			CanQueue:                  "all that the engine has and does not run",
			CanRunning:                "of the engine's last iteration",
			CanTTFT:                   "of streamed requests",
			CanE2E:                    "of requests that ended well",
			GenerationTokens.String(): "as they come",
		}
	case p.HasPrefix(vllmPrefix):
		return map[string]string{GenerationTokens.String(): "with each iteration"}
	}
	return map[string]string{
		CanQueue:   "waiting in the executor; no metric shows requests beyond the executor's limit",
		CanRunning: "the executor's scheduled requests, of its last iteration",
		CanGPU:     "by DCGM",
	}
}

// tritonView is what Triton's capabilities depend on.
type tritonView struct {
	*Page

	set      Generation
	llm      *ModelFacts
	executor string
	// minor is the release; released is false if it is unknown.
	minor    int
	released bool
	// Loaded models that clients call: requests count when they end, earlier, or it is unknown.
	whole, early, unknown []string
	// The same models: failures are counted, or not all. The reason is that of the first.
	counted, uncounted []string
	whyUncounted       string
	// open are models of which it is not known whether clients call them.
	open []string
	// pending is true if the release counts pending requests correctly, queues if Triton itself
	// queues requests for a model that clients call.
	pending, queues bool
	// cureEarly is the remedy for early models, cureConfig for unknown ones.
	cureEarly, cureConfig string
}

func newTritonView(kind *Kind, name string, k *Knowledge) *tritonView {
	p, f := k.Page, k.Facts
	v := &tritonView{
		Page:       p,
		llm:        tritonLLM(f, p),
		executor:   tritonExecutor(p),
		cureEarly:  cureCanary,
		cureConfig: noTritonConfig(k).Cure,
	}
	v.set, _ = tritonSet(p, f)
	v.minor, v.released = tritonMinor(f.get().EngineVersion)
	v.pending = (&Meaning{Unless: pendingLeaks()}).Holds(f.get().EngineVersion)
	if v.set == setLLMAPI {
		v.cureEarly = cureModule
	}
	if kind.SamePort() {
		v.cureConfig = cureKServe
	}
	// The others do not depend on models, of which a page may have thousands.
	if slices.Contains([]string{CanE2E, CanOutcomes, CanQueue, CanStall}, name) {
		v.addModels(kind, f.get())
	}
	if v.set == setLLMAPI && kind.SamePort() && len(v.unknown) > 0 && v.unknown[0] == llmName {
		v.cureConfig = cureModule // Its config would show that it is decoupled.
	}
	return v
}

// addModels sorts the models of the page by what is known of them.
func (v *tritonView) addModels(kind *Kind, f *Facts) {
	topology := NewTopology(kind, v.NamedModels(), f.Models, nil)
	lists := map[Ternary]*[]string{No: &v.whole, Yes: &v.early, Unsure: &v.unknown}
	for _, name := range v.Models() {
		if topology.Role(name) == RoleUnknown {
			v.open = append(v.open, name)
		}
		if !topology.Role(name).Front() {
			continue
		}
		v.queues = v.queues || !topology.Ensemble(name) && topology.QueuedByCore(name)
		if !v.loaded[name] {
			continue
		}
		list := lists[topology.HandsOver(name)]
		*list = append(*list, name)
		if reason := topology.Uncounted(name, f.EngineVersion); reason != "" {
			v.uncounted, v.whyUncounted = append(v.uncounted, name), cmp.Or(v.whyUncounted, reason)
		} else {
			v.counted = append(v.counted, name)
		}
	}
}

// noModel names the LLM that is not loaded, if known.
func (v *tritonView) noModel() target.Check {
	reason := "no model is loaded"
	if v.llm != nil {
		reason = "model " + v.llm.Name + " is not loaded"
	}
	return no(reason, "load the model")
}

// missing explains why Triton or the backend of the LLM does not expose something.
func (v *tritonView) missing(name string) target.Check {
	switch {
	case name == CanGPU:
		return no("the page has no nv_gpu_*", cureGPUs)
	case name == CanTTFT:
		return v.noFirstToken()
	case name == CanQuantiles:
		return v.noQuantiles()
	case name == CanStall:
		return v.stall()
	case name == CanTPOT && v.set != setLLMAPI:
		return no("Triton has no time per output token", cureClient)
	case name == CanQueue && v.set == setCore && v.Has(ModelPending):
		return v.ownQueues()
	case name != CanTPOT && v.llm != nil && v.llm.State != "" && v.llm.State != ModelReady && v.executor == "":
		return v.noModel()
	case v.set == setLLMAPI && (v.llm == nil || !v.llm.Configured):
		return no("model "+llmName+" publishes no LLM metrics, as the LLM-API backend does not", cureModule)
	case v.set == setLLMAPI:
		return no("the LLM-API backend publishes no LLM metrics", cureModule)
	case v.set == setModule:
		return no("the model with the metrics module is not loaded", "load the model")
	case v.set == setCore && v.HasPrefix(vllmPrefix):
		return no("Triton's vLLM backend does not publish it", cureVLLM)
	case v.set == setCore:
		return no("no model of TensorRT-LLM is on the page", "")
	case v.set == setPython && v.executor == "":
		return no("the Python executor of this release publishes nothing", "Triton 24.07 (2.48.0) or later")
	case v.set == setPython && name == CanKVReuse:
		return no("the Python executor never publishes reused blocks", "the C++ backend: triton_backend tensorrtllm")
	}
	if name == CanTokens && v.minor >= minorTokenCounts || name == CanKVReuse && v.minor >= minorReuse {
		return no("the executor does not publish it", "")
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

// noFirstToken explains why there is no time to the first response of a decoupled model.
func (v *tritonView) noFirstToken() target.Check {
	const (
		flag    = "--metrics-config histogram_latencies=true"
		release = "Triton 24.11 (2.52.0) or later"
	)
	switch {
	case v.released && v.minor < minorHangUp:
		return no("this release has no first response histogram", release+" with "+flag+", or measure it at the client")
	case v.released && v.minor < minorFirstResponse:
		return no("this release has no first response histogram", release+" with "+flag+"; or "+cureCanary)
	case v.released && v.minor < minorAllResponses:
		return no("the histogram is off, or no model is decoupled: before 26.01 only "+
			"those have one", flag+" and decoupled: true")
	case !v.released:
		return no("the first response histogram is off, or the release is older than it", flag+" with "+release)
	}
	return no("the first response histogram is off", flag)
}

// noQuantiles explains why there are no distributions.
func (v *tritonView) noQuantiles() target.Check {
	const summaries = "--metrics-config summary_latencies=true"
	switch {
	case v.released && v.minor < minorSummaries:
		return no("this release has neither summaries nor histograms", "Triton 23.04 (2.33.0) or later with "+summaries)
	case v.released && v.minor < minorFirstResponse:
		return no("summaries are off, and this release has no histograms", summaries)
	}
	return no("histograms and summaries are off", "--metrics-config histogram_latencies=true "+summaries)
}

// noTritonConfig explains why no model config is known.
func noTritonConfig(k *Knowledge) target.Check {
	if k.Facts == nil || len(k.Facts.Problems) == 0 {
		return no("the API answered with no config of a model", k.elsewhere("set api_port"))
	}
	for _, p := range k.Facts.Problems {
		if p.Restricted {
			return no(p.Question+": "+p.Reason, cureHeader)
		}
	}
	p := k.Facts.Problems[0]
	return no(p.Question+": "+p.Reason, k.elsewhere("set api_port if the API is elsewhere"))
}

// outcomes judges which of the models that clients call count ended requests.
func (v *tritonView) outcomes() target.Check {
	switch {
	case !v.Has(ModelRequestSeconds):
		return v.countersOff()
	case len(v.counted) > 0 && len(v.uncounted) > 0:
		reason := "success and failures of " + strings.Join(v.counted, ", ") + "; " + v.whyUncounted
		if others := v.uncounted[1:]; len(others) > 0 {
			reason += "; nor are all failures of " + strings.Join(others, ", ") + " known"
		}
		return yes(reason)
	case len(v.counted) > 0:
		return yes("success and failures of the models that clients call; invalid requests, full queues and " +
			"clients that leave a stream are not counted")
	case len(v.uncounted) == 0 || v.uncounted[0] == v.firstUnknown():
		return v.unconfigured()
	}
	return no(v.whyUncounted, v.cureEarly)
}

// firstUnknown returns the first model without a config, empty if there is none.
func (v *tritonView) firstUnknown() string { return append(v.unknown, "")[0] }

// unconfigured explains that the first unknown model may hand over its requests.
func (v *tritonView) unconfigured() target.Check {
	switch {
	case len(v.unknown) > 0:
		return no("the config of model "+v.unknown[0]+" is not known, and requests of decoupled models count as done "+
			"once they are accepted", v.cureConfig)
	case len(v.open) > 0:
		cures := slices.DeleteFunc(
			[]string{v.cureConfig, "name the models that clients call in model_ids"},
			func(cure string) bool { return cure == "" },
		)
		return no("the config of model "+v.open[0]+" is not known: it may call another model or be called by one, "+
			"which counts its requests again", strings.Join(cures, "; or "))
	}
	return no("no model that clients call is loaded", "")
}

// duration judges the duration of requests.
func (v *tritonView) duration() target.Check {
	switch {
	case v.Has(RequestDuration):
		return yes("vllm:e2e_request_latency_seconds")
	case !v.Has(ModelRequestSeconds):
		return v.countersOff()
	case v.set == setLLMAPI, len(v.early) > 0 && len(v.whole) == 0:
		return no("durations of decoupled Python models end when the request was handed over, not at "+
			"its last token", v.cureEarly)
	case len(v.whole) > 0:
		return yes("nv_inference_request_duration_us of the entry model, as a mean")
	}
	return v.unconfigured()
}

// countersOff explains why Triton counts nothing, or why its counters are not on the page.
func (v *tritonView) countersOff() target.Check {
	if !v.Has(ModelSuccess) {
		return no("the page has no nv_inference_request_success of any model", "")
	}
	return no("the counters of durations are off, and with them every other "+
		"counter stops", "--metrics-config counter_latencies=true")
}

// ownQueues judges whether Triton's own queues contain all waiting requests.
func (v *tritonView) ownQueues() target.Check {
	const handedOver = "Triton's own queues are empty for models that hand their requests over, and what they " +
		"queue is not on the page"
	switch {
	case !v.pending:
		return no("this release keeps requests that could not be queued in "+
			"nv_inference_pending_request_count forever", "Triton 23.11 (2.40.0) or later")
	case v.queues:
		return yes("nv_inference_pending_request_count: Triton's own queues")
	case len(v.unknown) > 0, len(v.open) > 0:
		return v.unconfigured()
	case v.HasPrefix(vllmPrefix):
		return no(handedOver, cureVLLM)
	}
	return no(handedOver, cureClient)
}

// stall judges whether Triton's own queues show that requests make no progress.
func (v *tritonView) stall() target.Check {
	switch {
	case v.Has(GenerationTokens):
		return no("tokens move, and nothing shows how many requests run", cureCanary)
	case v.Has(ModelPending) && v.pending && v.queues:
		return yes("requests that end, while others wait in Triton's queues")
	}
	return no("nothing on the page shows requests in flight of what clients call", v.cureEarly)
}

func tritonDeterminism(f *Facts, p *Page) []target.Check {
	models := tritonWorkers(f, p)
	if len(models) == 0 {
		return nil
	}
	batching := "no dynamic batching"
	if slices.ContainsFunc(models, func(m *ModelFacts) bool { return m.Batching != nil }) {
		batching = "dynamic batching is minimal: no delay and no preferred sizes"
	}
	single, ok := admitsOne(p)
	if !ok {
		single = every(CheckSingleRequest, models, "no model takes more than one request into a batch", singleRequest)
	}
	return []target.Check{
		every(CheckOneInstance, models, "one instance of each model", oneInstance),
		every(CheckPinnedGPUs, models, "the GPUs are named in the config", pinnedGPUs),
		every(CheckNoBatching, models, batching, noBatching), single,
	}
}

// tritonWorkers returns the models with a known config that run the LLM, without tokenizers and
// such.
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

// every checks all models. The function problem describes why a model fails, empty if it passes.
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
			return fmt.Sprintf("leaves the GPU to its backend (%s); name it in instance_group gpus, or give the "+
				"server one GPU only", g.Kind)
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
