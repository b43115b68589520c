package engine

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// judgeOutcomes judges whether it can be known what became of requests: which of
// the models that clients call count whole requests.
func (t *tritonPage) judgeOutcomes(k *Known) target.Check {
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
			" only what was taken on")
	case len(whole) > 0:
		return yes("success and failures of the models that clients call; wrong requests, full queues and clients that leave a stream are not counted")
	case len(early) > 0:
		return no("model "+early[0]+" is decoupled: a request counts as success once it was taken on, whatever becomes of it", cureEarly(k))
	}
	return t.unknown(k, unknown)
}

// fronts are the models that clients call, by whether they hand requests over.
func (t *tritonPage) fronts(k *Known) map[Trust][]string {
	topology, by := t.topology(k), make(map[Trust][]string)
	for _, name := range k.Page.Models() {
		if k.Page.loaded[name] && topology.Role(name).Front() {
			by[topology.HandsOver(name)] = append(by[topology.HandsOver(name)], name)
		}
	}
	return by
}

// cureEarly is the way out for a model that hands its requests over: the LLM-API
// backend's has a module that counts them.
func cureEarly(k *Known) string {
	if set, _ := tritonSet(k.Page, k.Facts); set == setLLMAPI {
		return cureModule
	}
	return cureCanary
}

// unknown says that the first of some models may hand its requests over, or that there
// are none.
func (t *tritonPage) unknown(k *Known, models []string) target.Check {
	cure := t.cureConfig(k)
	if len(models) == 0 {
		return no("no model that clients call is loaded, or it is not known which that is", cure)
	}
	if set, _ := tritonSet(k.Page, k.Facts); set == setLLMAPI && models[0] == llmName && t.SamePort() {
		cure = cureModule // Its config would say that it is decoupled.
	}
	return no("the config of model "+models[0]+" is not known, and requests of decoupled models count as done once they were taken on", cure)
}

// judgeWhole judges the duration of whole requests, where it is known that the
// server's own is of them.
func (t *tritonPage) judgeWhole(k *Known) target.Check {
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
	return t.unknown(k, by[TrustUnknown])
}

// countersOff says that Triton counts nothing, or that none of its counters are there,
// as on a page of which only a part is passed on.
func countersOff(p *Page) target.Check {
	if !p.Has(ModelSuccess) {
		return no("the page has no nv_inference_request_success of any model", "")
	}
	return no("the counters of durations are off, and with them every other counter stops", "--metrics-config counter_latencies=true")
}

// topology orders the models as far as page and configs say.
func (t *tritonPage) topology(k *Known) *Topology {
	return NewTopology(t, k.Page.Seen(), k.Facts.models(), nil)
}

// cureConfig is what makes the configs known.
func (t *tritonPage) cureConfig(k *Known) string {
	if t.SamePort() {
		return cureKServe
	}
	return t.noConfig(k).Cure
}

// queues says whether Triton itself queues the requests of a model that clients
// call.
func (t *tritonPage) queues(k *Known) bool {
	topology := t.topology(k)
	return slices.ContainsFunc(k.Page.Models(), func(name string) bool {
		return topology.Role(name).Front() && !topology.Ensemble(name) && topology.QueuedByCore(name)
	})
}

// pendingHolds says whether the count of pending requests is right in the server's
// release, as far as that is known.
func pendingHolds(k *Known) bool { return (&Meaning{Unless: pendingLeaks()}).Holds(k.Facts.version()) }

// judgeQueues judges whether what is pending in Triton is all that waits.
func (t *tritonPage) judgeQueues(k *Known) target.Check {
	unknown := t.fronts(k)[TrustUnknown]
	switch {
	case !pendingHolds(k):
		return no("this release keeps requests that could not be queued in nv_inference_pending_request_count for ever", "Triton 23.11 (2.40.0) or later")
	case t.queues(k):
		return yes("nv_inference_pending_request_count: Triton's own queues")
	case len(unknown) > 0:
		return t.unknown(k, unknown)
	}
	cure := cureClient
	if k.Page.Begins(vllmPrefix) {
		cure = cureVLLM
	}
	return no("Triton's own queues are empty for models that hand their requests over, and what these queue is not on the page", cure)
}

// judgeStall judges whether it is seen that requests in flight move nothing.
func (t *tritonPage) judgeStall(k *Known) target.Check {
	p := k.Page
	switch flying := p.flying(); {
	case flying && p.Has(EngineIterations):
		return yes("the count of iterations, while requests are active")
	case flying && p.Has(GenerationTokens):
		return yes("the count of tokens, while requests run")
	case p.Has(GenerationTokens):
		return no("tokens move, and nothing shows how many requests run", cureCanary)
	case p.Has(ModelPending) && pendingHolds(k) && t.queues(k):
		return yes("requests that end, while others wait in Triton's queues for much longer than they take")
	}
	return no("nothing on the page shows requests in flight of what clients call", cureEarly(k))
}
