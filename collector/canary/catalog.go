package canary

import (
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// family is an entry of the catalogue about what canary requests show, and its
// series, which are absent until the record has got so far: one with a value, false
// while it is absent, or one for each result that occurred.
type family struct {
	derive.Family

	name  string
	from  extent
	value func(r *Record) (float64, bool)

	results []string
	count   func(r *Record, result string) uint64
}

// extent is how far a record has got; each one includes those before it.
type extent int

const (
	// sinceOrder: it is known what may be asked of the replica.
	sinceOrder extent = iota
	// sinceRequest: a request to the present server has ended; what is counted stays
	// while the replica is left alone.
	sinceRequest
	// whileActive: requests are sent.
	whileActive
	// whileGood: the last of them succeeded.
	whileGood
)

// extent is that of a record with an order.
func (r *Record) extent() extent {
	switch {
	case r.last == nil, r.of == nil:
		return sinceOrder
	case r.order.Hold != "":
		return sinceRequest
	case r.last.Last.Result != OK:
		return whileActive
	}
	return whileGood
}

// Series gives every series of the canary to add: the family without the common
// prefix, the public id of the model and the result, empty for none. Values of a
// request that failed, and of one that was before the replica was left alone,
// are left out.
func (r *Record) Series(add func(family, modelID, result string, v float64)) {
	if r.order == nil {
		return
	}
	extent, all := r.extent(), families()
	for i := range all {
		f := &all[i]
		if f.from > extent {
			continue
		}
		of := ""
		if f.from > sinceOrder {
			of = r.of.ModelID
		}
		for _, result := range f.results {
			if n := f.count(r, result); n > 0 {
				add(f.name, of, result, float64(n))
			}
		}
		if f.value == nil {
			continue
		}
		if v, ok := f.value(r); ok {
			add(f.name, of, "", v)
		}
	}
}

// Catalogue are the families of what canary requests show, which are exposed where
// the pool's key canary turns them on.
func Catalogue() []derive.Family {
	var all []derive.Family
	for i := range families() {
		all = append(all, families()[i].Family)
	}
	return all
}

// families are made once for all replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var families = sync.OnceValue(func() []family {
	all := slices.Concat(resultFamilies(), timeFamilies(), outputFamilies(), cancelFamilies())
	for i := range all {
		all[i].Section = "Canary"
	}
	return all
})

// entry is one of what requests to the entry model showed, of servers that can be
// asked for a stream.
func entry(name string, from extent, help, formula string, value func(r *Record) (float64, bool)) family {
	return family{Family: derive.AboutReplica(name, derive.OfEntry, nil, help, formula, engine.AnswersStream), name: name, from: from, value: value}
}

// byResult is a counter of requests to the entry model, by what became of them.
func byResult[R ~string](name, help, formula string, results []R, counts func(r *Record) map[R]uint64) family {
	f := family{
		Family: derive.AboutReplica(name, derive.OfEntry, []string{"result"}, help, formula, engine.AnswersStream), name: name, from: sinceRequest,
		count: func(r *Record, result string) uint64 { return counts(r)[R(result)] },
	}
	for _, result := range results {
		f.results = append(f.results, string(result))
	}
	return f
}

// graded is an entry whose values are less than exact.
func (f family) graded(grade derive.Grade) family {
	f.Grade = grade
	return f
}

// resultFamilies are about whether canary requests succeed.
func resultFamilies() []family {
	return []family{
		{
			Family: derive.AboutReplica("canary_active", derive.OfReplica, nil,
				"1 while canary requests are sent to the replica, 0 while it is left alone, as when it drains or its entry model is not known: the reason is on /targets. Absent where the canary is off.",
				"canary.enabled of the pool, and the replica's state"),
			name: "canary_active", from: sinceOrder, value: func(r *Record) (float64, bool) { return flag(r.order.Hold == ""), true },
		},
		entry("canary_success", whileActive,
			"1 if the last canary request got its first token, all others and the end of the stream in time, else 0. Absent while none are sent.",
			"one streamed request to the entry model",
			func(r *Record) (float64, bool) { return flag(r.last.Last.Result == OK), true }),
		byResult("canary_requests_total",
			"Canary requests by how they ended. The server counts them as any other requests, in all of its metrics.",
			"ok, connect, http_error, error_frame (status 200 with an error), no_first_token, stalled, never_ended, truncated, empty, timeout, malformed, unsupported",
			Results(), func(r *Record) map[Result]uint64 { return r.last.Counts }),
		entry("canary_age_seconds", sinceRequest,
			"Time since the last canary request ended, at the time of the scrape.",
			"measured by the exporter",
			func(r *Record) (float64, bool) { return time.Since(r.last.Last.At).Seconds(), true }),
	}
}

// timeFamilies say how the last good answer came.
func timeFamilies() []family {
	return []family{
		entry("canary_time_to_first_token_seconds", whileGood,
			"Time from the canary request written to the first frame with text, network included; of one request of a few tokens, not of the clients' requests. Absent when it failed.",
			"first frame with non-empty text - request written",
			func(r *Record) (float64, bool) { return r.last.Last.FirstToken.Seconds(), true }),
		entry("canary_engine_time_to_first_token_seconds", whileGood,
			"Time from the arrival of the last canary request in the engine to its first token as the server measured it, without the network and what is in front of the engine: only of Triton's LLM-API model, whose answers say it. Absent when the request failed.",
			"first_token_time_ns - arrival_time_ns of the answer",
			engineTime(func(l *Report) time.Duration { return l.EngineFirstToken })),
		entry("canary_engine_queue_seconds", whileGood,
			"Time from the arrival of the last canary request in the engine to its place in the batch as the server measured it: only of Triton's LLM-API model, whose answers say it. Absent when the request failed.",
			"first_scheduled_time_ns - arrival_time_ns of the answer",
			engineTime(func(l *Report) time.Duration { return l.EngineQueue })),
		entry("canary_duration_seconds", whileGood,
			"Time from the canary request written to the end of the stream. Absent when it failed.",
			"[DONE], or the end of the body for Triton - request written",
			func(r *Record) (float64, bool) { return r.last.Last.Duration.Seconds(), true }),
		entry("canary_inter_token_latency_max_seconds", whileGood,
			"Longest time between two frames with text of the last canary answer; a frame may hold several tokens. Absent when the request failed or the answer had one frame.",
			"max(frame - frame before)",
			func(r *Record) (float64, bool) { return r.last.Last.LongestGap.Seconds(), r.last.Last.Frames > 1 }).graded(derive.Sampled),
		entry("canary_tail_seconds", whileGood,
			"Time from the last frame with text of the last canary answer to the end of the stream. Absent when the request failed.",
			"end - last frame with text",
			func(r *Record) (float64, bool) { return r.last.Last.Tail.Seconds(), true }),
		entry("canary_tokens", whileGood,
			"Tokens of the last canary answer as the server's usage says; without usage, as from Triton's generate_stream, the frames with text. Absent when the request failed.",
			"usage.completion_tokens, else frames",
			func(r *Record) (float64, bool) { return float64(r.last.Last.Tokens), true }).graded(derive.Rough),
	}
}

// engineTime is a time that only some servers measure.
func engineTime(of func(l *Report) time.Duration) func(r *Record) (float64, bool) {
	return func(r *Record) (float64, bool) { return of(&r.last.Last).Seconds(), r.last.Last.EngineFirstToken > 0 }
}

// outputFamilies compare answers.
func outputFamilies() []family {
	return []family{
		entry("canary_output_changes_total", sinceRequest,
			"Good canary answers that differed from the one before by the same engine, versions and configs. Other requests in the batch decide which kernels run, so an answer may change under load without a fault: see llm_server_determinism_profile.",
			"SHA-256 of the whole text",
			func(r *Record) (float64, bool) { return float64(r.last.Changes), true }),
		entry("canary_deterministic", whileGood,
			"1 if the last canary answers, at most ten, by the same engine, versions and configs are all the same, else 0. Absent before the second and when the last request failed. Says nothing about other prompts or another load.",
			"SHA-256 of the whole text",
			func(r *Record) (float64, bool) { return flag(r.last.Alike()), r.last.Answers() > 1 }),
	}
}

// cancelFamilies are about whether the server stops when a client leaves.
func cancelFamilies() []family {
	return []family{
		entry("canary_cancel_success", whileActive,
			"1 if the slot of a canary request was free again within canary.cancel_within of its client leaving in the middle of the stream, else 0; of the last check that could tell. Absent without canary.cancel_within, and where no page shows requests in flight: see capability cancel.",
			"in flight on the pages: 0 before the request, more while it ran, 0 after its client left",
			func(r *Record) (float64, bool) { return flag(r.cancel.clear == Freed), r.cancel.clear != "" }),
		byResult("canary_cancel_checks_total",
			"Canary requests whose client left in the middle, by what became of them. Only those of a replica that was idle can tell: others are busy.",
			"freed, held, busy (other requests were in flight), unclear (the reason is on /targets)",
			CancelResults(), func(r *Record) map[CancelResult]uint64 { return r.cancel.counts }),
		entry("canary_cancel_seconds", whileActive,
			"Time from the client leaving to the first page on which nothing was in flight, of the last such check: at most so long, as pages come once per scrape_interval. Absent while canary_cancel_success is not 1.",
			"page without requests in flight - connection closed",
			func(r *Record) (float64, bool) { return r.cancel.took.Seconds(), r.cancel.clear == Freed }).graded(derive.Rough),
	}
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
