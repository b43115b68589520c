package canary

import (
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// family is an entry of the catalogue with its series: either a single series, absent while value
// reports false, or one per result that has occurred. They are absent until the record has
// reached the extent needs.
type family struct {
	derive.Family

	name  string
	needs extent
	value func(r *Record) (float64, bool)

	results []string
	count   func(r *Record, result string) uint64
}

// extent is how much a record contains; each value includes the previous ones.
type extent int

const (
	hasOrder  extent = iota
	hasReport        // A request to the current server has ended.
	isActive         // Requests are sent.
	isGood           // The last request succeeded.
)

func (r *Record) extent() extent {
	switch {
	case r.summary == nil, r.summaryOrder == nil:
		return hasOrder
	case r.order.Hold != "":
		return hasReport
	case r.summary.Last.Result != OK:
		return isActive
	}
	return isGood
}

// Series calls add for each series of the canary, with the family without the common prefix, the
// public id of the model and the result, which may be empty.
func (r *Record) Series(add func(family, modelID, result string, v float64)) {
	if r.order == nil {
		return
	}
	extent, all := r.extent(), families()
	for i := range all {
		f := &all[i]
		if f.needs > extent {
			continue
		}
		model := ""
		if f.needs > hasOrder {
			model = r.summaryOrder.ModelID
		}
		for _, result := range f.results {
			if n := f.count(r, result); n > 0 {
				add(f.name, model, result, float64(n))
			}
		}
		if f.value == nil {
			continue
		}
		if v, ok := f.value(r); ok {
			add(f.name, model, "", v)
		}
	}
}

// Catalogue returns the families about canary requests, which the key canary of a pool enables.
func Catalogue() []derive.Family {
	var all []derive.Family
	for i := range families() {
		all = append(all, families()[i].Family)
	}
	return all
}

//nolint:gochecknoglobals // constant data, built on first use.
var families = sync.OnceValue(func() []family {
	all := slices.Concat(resultFamilies(), timeFamilies(), outputFamilies(), cancelFamilies())
	for i := range all {
		all[i].Section = "Canary"
	}
	return all
})

func entry(name string, needs extent, help, formula string, value func(r *Record) (float64, bool)) family {
	return family{
		Family: derive.ReplicaFamily(name, derive.OfEntry, nil, help, formula, engine.AnswersStream),
		name:   name,
		needs:  needs,
		value:  value,
	}
}

func byResult[R ~string](name, help, formula string, results []R, counts func(r *Record) map[R]uint64) family {
	f := family{
		Family: derive.ReplicaFamily(name, derive.OfEntry, []string{"result"}, help, formula, engine.AnswersStream),
		name:   name,
		needs:  hasReport,
		count:  func(r *Record, result string) uint64 { return counts(r)[R(result)] },
	}
	for _, result := range results {
		f.results = append(f.results, string(result))
	}
	return f
}

func (f family) graded(grade derive.Grade) family {
	f.Grade = grade
	return f
}

func resultFamilies() []family {
	return []family{
		{
			Family: derive.ReplicaFamily("canary_active", derive.OfReplica, nil,
				"1 while canary requests are sent, else 0.",
				"canary.enabled of the pool, and the replica's state"),
			name:  "canary_active",
			needs: hasOrder,
			value: func(r *Record) (float64, bool) { return flag(r.order.Hold == ""), true },
		},
		entry("canary_success", isActive,
			"1 if the last canary request succeeded, else 0.",
			"one streamed request to the entry model",
			func(r *Record) (float64, bool) { return flag(r.summary.Last.Result == OK), true }),
		byResult("canary_requests_total",
			"Canary requests by result.",
			"ok, connect, http_error, error_frame (status 200 with an error), no_first_token, stalled, "+
				"never_ended, truncated, empty, timeout, malformed, unsupported",
			Results(), func(r *Record) map[Result]uint64 { return r.summary.Counts }),
		entry("canary_age_seconds", hasReport,
			"Time since the last canary request ended.",
			"measured by the exporter",
			func(r *Record) (float64, bool) { return time.Since(r.summary.Last.At).Seconds(), true }),
	}
}

func timeFamilies() []family {
	return []family{
		entry("canary_time_to_first_token_seconds", isGood,
			"Canary's time to first text, network included.",
			"first frame with non-empty text - request written",
			func(r *Record) (float64, bool) { return r.summary.Last.FirstToken.Seconds(), true }),
		entry("canary_engine_time_to_first_token_seconds", isGood,
			"Canary's time to first token in the engine.",
			"first_token_time_ns - arrival_time_ns of the answer",
			engineTime(func(l *Report) time.Duration { return l.EngineFirstToken })),
		entry("canary_engine_queue_seconds", isGood,
			"Time that the canary waited in the engine.",
			"first_scheduled_time_ns - arrival_time_ns of the answer",
			engineTime(func(l *Report) time.Duration { return l.EngineQueue })),
		entry("canary_duration_seconds", isGood,
			"Duration of the last canary request.",
			"[DONE], or else the end of the body - request written",
			func(r *Record) (float64, bool) { return r.summary.Last.Duration.Seconds(), true }),
		entry(
			"canary_inter_token_latency_max_seconds",
			isGood,
			"Longest gap between frames of the canary's answer.",
			"max(frame - frame before)",
			func(r *Record) (float64, bool) { return r.summary.Last.LongestGap.Seconds(), r.summary.Last.Frames > 1 },
		).graded(derive.Sampled),
		entry("canary_tail_seconds", isGood,
			"Time from the canary's last text to stream end.",
			"end - last frame with text",
			func(r *Record) (float64, bool) { return r.summary.Last.Tail.Seconds(), true }),
		entry("canary_tokens", isGood,
			"Tokens, or frames, of the last canary answer.",
			"usage.completion_tokens, else frames",
			func(r *Record) (float64, bool) { return float64(r.summary.Last.Tokens), true }).graded(derive.Rough),
	}
}

func engineTime(value func(l *Report) time.Duration) func(r *Record) (float64, bool) {
	return func(r *Record) (float64, bool) {
		return value(&r.summary.Last).Seconds(), r.summary.Last.EngineFirstToken > 0
	}
}

func outputFamilies() []family {
	return []family{
		entry("canary_output_changes_total", hasReport,
			"Canary answers that differ from the previous one.",
			"SHA-256 of the whole text",
			func(r *Record) (float64, bool) { return float64(r.summary.Changes), true }),
		entry("canary_deterministic", isGood,
			"1 if recent canary answers are identical, else 0.",
			"SHA-256 of the whole text",
			func(r *Record) (float64, bool) { return flag(r.summary.Alike()), r.summary.Answers() > 1 }),
	}
}

func cancelFamilies() []family {
	return []family{
		entry("canary_cancel_success", isActive,
			"1 if canceling the canary freed its slot, else 0.",
			"in flight on the pages: 0 before the request, more while it ran, 0 after its client left",
			func(r *Record) (float64, bool) { return flag(r.cancel.conclusive == Freed), r.cancel.conclusive != "" }),
		byResult("canary_cancel_checks_total",
			"Canary requests canceled on purpose, by result.",
			"freed, held, busy (other requests were in flight), unclear (the reason is on /targets)",
			cancelResults(), func(r *Record) map[CancelResult]uint64 { return r.cancel.counts }),
		entry(
			"canary_cancel_seconds",
			isActive,
			"Upper bound of the time to free a canary's slot.",
			"page without requests in flight - connection closed",
			func(r *Record) (float64, bool) { return r.cancel.freedAfter.Seconds(), r.cancel.conclusive == Freed },
		).graded(derive.Rough),
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
