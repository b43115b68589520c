package derive

import (
	"maps"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func hiddenQueueRule() Rule {
	needs := allOf(engine.ModelRequestSeconds, engine.RequestsActive)
	return eachModel(needs, hiddenQueue).reads(engine.ModelSuccess, engine.ModelPending).because(whyPages)
}

// hiddenQueue estimates how many requests wait without being shown by any metric. By Little's
// law, the total duration of the requests that ended, divided by time, is the number in the
// server; requests that the executor and the core show are not hidden. Entry models whose times
// do not cover complete requests must have had no requests over the window.
func hiddenQueue(v *View, m *Model, out *Out) {
	active, single := v.column(m, engine.RequestsActive)
	durations, visible, otherEnds := make([]int, 0, onStack), make([]int, 0, onStack), make([]int, 0, onStack)
	trusted := v.Trust(m, frozenCounters)
	for _, version := range m.versions {
		if !v.index.countsWhole(version.name) {
			otherEnds = append(otherEnds, v.counters(version, engine.ModelSuccess)...)
			continue
		}
		durations = append(durations, v.counters(version, engine.ModelRequestSeconds)...)
		trusted = trusted && v.Trust(version, decoupledDurations)
	}
	if len(durations) == 0 || !single {
		return
	}
	visible = append(append(visible, v.values(m.queues)...), active)
	w := v.window
	row, seconds, ok := w.stretch(durations, visible)
	ended, since, still := w.Increase(otherEnds...)
	_, period, _ := w.Increase(durations...)
	hidden := 0.0
	if ok {
		hidden = max(w.increaseFrom(row, durations)/seconds-w.meanFrom(row, visible...), 0)
	}
	if len(otherEnds) > 0 {
		ok = ok && still && ended == 0 && since >= period
	}
	out.Set(m, hidden, ok && trusted && v.Runs(m))
}

func headroomReads() []engine.Signal {
	reads := []engine.Signal{engine.RequestsFinished, engine.RequestPromptTokens, engine.RequestOutputTokens}
	return slices.Concat(reads, cacheFree.needs().all(), cacheFreeReads())
}

func headroomRule() Rule {
	needs := admitted.needs().and(requestsLimit.needs())
	return eachModel(needs, headroom).reads(headroomReads()...)
}

// headroom exposes how many more requests fit into the batch and the KV cache.
func headroom(v *View, m *Model, out *Out) {
	busy, okBusy := v.Of(m, admitted)
	limit, okLimit := v.Of(m, requestsLimit)
	tokens, okTokens := v.Of(m, cacheFree)
	prompt, okPrompt := v.Mean(m, engine.RequestPromptTokens)
	output, okOutput := v.Mean(m, engine.RequestOutputTokens)
	room := max(limit-busy, 0)
	if okTokens && okPrompt && okOutput && prompt+output > 0 {
		room = min(room, tokens/(prompt+output))
	}
	out.Set(m, room, okBusy && okLimit && v.Runs(m) && v.Trust(m, blocksMismatch))
}

func limitedByReads() []engine.Signal {
	reads := []engine.Signal{engine.RequestsPaused, engine.RequestsPreempted, engine.RequestsPrefill}
	return slices.Concat(reads, requestsLimit.needs().all(), waitingReads(), saturationReads())
}

func limitedByRule() Rule {
	needs := admitted.needs().and(waiting.needs())
	return eachModel(needs, limitedBy).reads(limitedByReads()...).by("resource")
}

// limitedBy exposes the resource that requests wait for. The others have no value.
func limitedBy(v *View, m *Model, out *Out) {
	by, ok := v.limitedBy(m)
	ok = ok && v.Runs(m) && v.Trust(m, blocksMismatch, fractionMismatch)
	for _, resource := range []string{"slots", "kv_cache", "prefill", "core_queue", "none", "unknown"} {
		out.Set(m, 1, ok && by == resource, "resource", resource)
	}
}

// limitedBy returns the resource that requests wait for. A KV cache that is full, or for which
// requests were paused, takes precedence over the batch, which it keeps from filling; then come
// prefills, for which others wait although both have capacity left; then the server's own queue
// in front of an engine with free slots.
func (v *View) limitedBy(m *Model) (resource string, ok bool) {
	const full = 0.95
	busy, okBusy := v.Of(m, admitted)
	slots, limited := v.Of(m, requestsLimit)
	waits, okWaits := v.Of(m, waiting)
	queue, queued, okQueue := v.pending(m)
	used, _ := v.Of(m, cacheUse)
	paused, _ := v.Sum(m, engine.RequestsPaused, engine.RequestsPreempted)
	prefills, _ := v.Sum(m, engine.RequestsPrefill)
	ok = okWaits && okBusy
	switch {
	case paused > 0 || used >= full && waits > 0:
		return "kv_cache", ok
	case limited && busy >= slots:
		return "slots", ok
	case waits > 0 && prefills > 0:
		return "prefill", ok
	case waits > 0:
		return "unknown", ok
	case queue > 0:
		return "core_queue", ok && okQueue
	}
	return "none", ok && (okQueue || !queued)
}

// measuredTimes returns the latencies whose coverage is exposed, by the name of the family.
func measuredTimes() map[string]histograms {
	return map[string]histograms{
		"request_duration":      wholeRequests(),
		"time_to_first_token":   firstTokens(),
		"time_per_output_token": observed(engine.OutputToken),
		"request_queue":         observed(engine.RequestQueue),
	}
}

// coverage exposes the share of the ended requests that a latency metric measured.
func coverage() Rule {
	in, times := inputs{}, measuredTimes()
	names := slices.Sorted(maps.Keys(times))
	for _, name := range names {
		in = in.or(times[name].needs)
	}
	return byOutcome(in.and(failuresCounted()), func(v *View, version *Model, out *Out) {
		for _, name := range names {
			s := times[name].of(v, version)
			if len(v.observations(s).counts) > 0 && knowsOutcomes(s, version) {
				share, ok := v.covered(s, version)
				ok = v.trusts(s.groups...) && ok
				out.Set(s.subject(version), share, ok && v.Trust(version, frozenCounters), "signal", name)
			}
		}
	}).by("signal").because(whyOnce)
}

// covered returns the share of the ended requests that histograms measured.
func (v *View) covered(s *shown, version *Model) (float64, bool) {
	w := v.window
	counts := v.observations(s).counts
	since := w.latest(counts)
	for _, other := range s.measures(version) {
		since = max(since, w.latest(v.outcome(other).all))
	}
	row, start := w.firstRow(since)
	if start >= w.now {
		return 0, false
	}
	ended := 0.0
	for _, other := range s.measures(version) {
		ended += v.outcome(other).total(w, row)
	}
	return min(w.increaseFrom(row, counts)/ended, 1), ended > 0
}

// measures returns the versions whose requests histograms measure.
func (s *shown) measures(version *Model) []*Model {
	if len(s.groups) > 0 && !s.groups[0].ofModel {
		return version.of.versions
	}
	return version.of.versions[version.nth : version.nth+1]
}

// knowsOutcomes reports whether all ends of the requests that histograms measure are known.
func knowsOutcomes(s *shown, version *Model) bool {
	return !slices.ContainsFunc(s.measures(version), func(m *Model) bool {
		return m.outcome == nil || !m.outcome.complete
	})
}
