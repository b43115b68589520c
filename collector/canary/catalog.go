package canary

import (
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// family is an entry of the catalogue about what canary requests show, and its
// series, which are absent until the record has got so far.
type family struct {
	derive.Family

	name   string
	from   extent
	series func(r *Record, add adder)
}

// extent is how far a record has got; each one includes those before it.
type extent int

const (
	// sinceOrder: it is known what may be asked of the replica.
	sinceOrder extent = iota
	// sinceRequest: a request has ended; what is counted stays while the replica is left
	// alone.
	sinceRequest
	// whileActive: requests are sent.
	whileActive
	// whileGood: the last of them succeeded.
	whileGood
)

// extent is that of a record with an order.
func (r *Record) extent() extent {
	switch {
	case r.last == nil:
		return sinceOrder
	case r.order.Hold != "":
		return sinceRequest
	case r.last.Last.Result != OK:
		return whileActive
	}
	return whileGood
}

// adder adds series of one family.
type adder struct {
	to              func(family, modelID, result string, v float64)
	family, modelID string
}

// value adds a series without a result.
func (a adder) value(v float64) { a.to(a.family, a.modelID, "", v) }

// count adds a series of a result that occurred.
func (a adder) count(result string, n uint64) {
	if n > 0 {
		a.to(a.family, a.modelID, result, float64(n))
	}
}

// Series gives every series of the canary to add: the family without the common
// prefix, the public id of the model and the result, empty for none. Values of a
// request that failed, and of one that was before the replica was left alone,
// are left out.
func (r *Record) Series(add func(family, modelID, result string, v float64)) {
	if r.order == nil {
		return
	}
	extent := r.extent()
	for i := range families() {
		f := &families()[i]
		if f.from > extent {
			continue
		}
		to := adder{to: add, family: f.name}
		if f.Scope == derive.OfEntry {
			to.modelID = r.of.ModelID
		}
		f.series(r, to)
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
	var all []family
	for _, part := range [][]family{resultFamilies(), timeFamilies(), outputFamilies(), cancelFamilies()} {
		for _, f := range part {
			f.Section = "Canary"
			all = append(all, f)
		}
	}
	return all
})

// entry is one of what requests to the entry model showed, of servers that can be
// asked for a stream.
func entry(name string, from extent, help, formula string, series func(r *Record, add adder), names ...string) family {
	return family{derive.AboutReplica(name, derive.OfEntry, names, help, formula, engine.AnswersStream), name, from, series}
}

// graded is an entry whose values are less than exact.
func (f family) graded(grade derive.Grade) family {
	f.Grade = grade
	return f
}

// resultFamilies say whether canary requests succeed.
func resultFamilies() []family {
	return []family{
		{
			derive.AboutReplica("canary_active", derive.OfReplica, nil,
				"1 while canary requests are sent to the replica, 0 while it is left alone, as when it drains or its entry model is not known: the reason is on /targets. Absent where the canary is off.",
				"canary.enabled of the pool, and the replica's state"),
			"canary_active", sinceOrder, func(r *Record, add adder) { add.value(flag(r.order.Hold == "")) },
		},
		entry("canary_success", whileActive,
			"1 if the last canary request got its first token, all others and the end of the stream in time, else 0. Absent while none are sent.",
			"one streamed request to the entry model",
			func(r *Record, add adder) { add.value(flag(r.last.Last.Result == OK)) }),
		entry("canary_requests_total", sinceRequest,
			"Canary requests by how they ended. The server counts them as any other requests, in all of its metrics.",
			"ok, connect, http_error, error_frame (status 200 with an error), no_first_token, stalled, never_ended, truncated, empty, timeout, malformed, unsupported",
			func(r *Record, add adder) {
				for _, result := range Results() {
					add.count(string(result), r.last.Counts[result])
				}
			}, "result"),
		entry("canary_age_seconds", sinceRequest,
			"Time since the last canary request ended, at the time of the scrape.",
			"measured by the exporter",
			func(r *Record, add adder) { add.value(time.Since(r.last.Last.At).Seconds()) }),
	}
}

// timeFamilies say how the last good answer came.
func timeFamilies() []family {
	return []family{
		entry("canary_time_to_first_token_seconds", whileGood,
			"Time from the canary request written to the first frame with text, network included; of one request of a few tokens, not of the clients' requests. Absent when it failed.",
			"first frame with non-empty text - request written",
			func(r *Record, add adder) { add.value(r.last.Last.FirstToken.Seconds()) }),
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
			func(r *Record, add adder) { add.value(r.last.Last.Duration.Seconds()) }),
		entry("canary_inter_token_latency_max_seconds", whileGood,
			"Longest time between two frames with text of the last canary answer; a frame may hold several tokens. Absent when the request failed or the answer had one frame.",
			"max(frame - frame before)",
			func(r *Record, add adder) {
				if r.last.Last.Frames > 1 {
					add.value(r.last.Last.LongestGap.Seconds())
				}
			}).graded(derive.Sampled),
		entry("canary_tail_seconds", whileGood,
			"Time from the last frame with text of the last canary answer to the end of the stream. Absent when the request failed.",
			"end - last frame with text",
			func(r *Record, add adder) { add.value(r.last.Last.Tail.Seconds()) }),
		entry("canary_tokens", whileGood,
			"Tokens of the last canary answer as the server's usage says; without usage, as from Triton's generate_stream, the frames with text. Absent when the request failed.",
			"usage.completion_tokens, else frames",
			func(r *Record, add adder) { add.value(float64(r.last.Last.Tokens)) }).graded(derive.Rough),
	}
}

// engineTime is a time that only some servers measure.
func engineTime(of func(l *Report) time.Duration) func(r *Record, add adder) {
	return func(r *Record, add adder) {
		if r.last.Last.EngineFirstToken > 0 {
			add.value(of(&r.last.Last).Seconds())
		}
	}
}

// outputFamilies compare answers.
func outputFamilies() []family {
	return []family{
		entry("canary_output_changes_total", sinceRequest,
			"Good canary answers that differed from the one before by the same engine, versions and configs. Other requests in the batch decide which kernels run, so an answer may change under load without a fault: see llm_server_determinism_profile.",
			"SHA-256 of the whole text",
			func(r *Record, add adder) { add.value(float64(r.last.Changes)) }),
		entry("canary_deterministic", whileGood,
			"1 if the last canary answers, at most ten, by the same engine, versions and configs are all the same, else 0. Absent before the second and when the last request failed. Says nothing about other prompts or another load.",
			"SHA-256 of the whole text",
			func(r *Record, add adder) {
				if r.last.Answers > 1 {
					add.value(flag(r.last.Alike))
				}
			}),
	}
}

// cancelFamilies say whether the server stops when a client leaves.
func cancelFamilies() []family {
	return []family{
		entry("canary_cancel_success", whileActive,
			"1 if the slot of a canary request was free again within canary.cancel_within of its client leaving in the middle of the stream, else 0; of the last check that could tell. Absent without canary.cancel_within, and where no page shows requests in flight: see capability cancel.",
			"in flight on the pages: 0 before the request, more while it ran, 0 after its client left",
			func(r *Record, add adder) {
				if r.cancel.clear != "" {
					add.value(flag(r.cancel.clear == Freed))
				}
			}),
		entry("canary_cancel_checks_total", sinceRequest,
			"Canary requests whose client left in the middle, by what became of them. Only those of a replica that was idle can tell: others are busy.",
			"freed, held, busy (other requests were in flight), unclear (the reason is on /targets)",
			func(r *Record, add adder) {
				for _, result := range CancelResults() {
					add.count(string(result), r.cancel.counts[result])
				}
			}, "result"),
		entry("canary_cancel_seconds", whileActive,
			"Time from the client leaving to the first page on which nothing was in flight, of the last such check: at most so long, as pages come once per scrape_interval. Absent while canary_cancel_success is not 1.",
			"page without requests in flight - connection closed",
			func(r *Record, add adder) {
				if r.cancel.clear == Freed {
					add.value(r.cancel.took.Seconds())
				}
			}).graded(derive.Rough),
	}
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
