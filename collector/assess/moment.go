package assess

import (
	"slices"
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// moment is an entry of the catalogue whose one series may change with each answer
// of the API, and its value, false while it is absent.
type moment struct {
	derive.Family

	value func(now *Situation) (float64, bool)
}

// Catalogue are all families of series about servers: those derived from pages, those
// of what follows from page and answers, those that change with each answer, and those
// of the canary.
func Catalogue() []derive.Family {
	all := slices.Clone(derive.Catalogue())
	for i := range families() {
		all = append(all, families()[i].Family)
	}
	all = append(all, stateFamily())
	for i := range moments() {
		all = append(all, moments()[i].Family)
	}
	return append(all, canary.Catalogue()...)
}

// stateFamily is what the replica is doing, a series for each state.
func stateFamily() derive.Family {
	f := derive.AboutReplica("state", derive.OfReplica, []string{"state"},
		"What the replica is doing, judged from its /metrics and its API together: 1 for the state that it is in, 0 for the others.",
		"/metrics answers, API answers, all requests fail, no iteration while requests are in flight and come")
	f.Grade = derive.Sampled
	return f
}

// moments are made once for all replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var moments = sync.OnceValue(func() []moment {
	one := func(name string, grade derive.Grade, help, formula string, value func(now *Situation) (float64, bool)) moment {
		m := moment{derive.AboutReplica(name, derive.OfReplica, nil, help, formula), value}
		m.Grade = grade
		return m
	}
	return []moment{
		one("suspected", derive.Sampled,
			"1 while requests are said to be in flight and nothing moves, with no second sign that they are: the server hangs, or the gauge is stale. llm_server_state is stalled once a second sign shows it. Else 0.",
			"gauges of requests in flight, counters of iterations, tokens and ended requests",
			func(now *Situation) (float64, bool) { return flag(now.Suspected), now.State != Silent }),
		health("live",
			"1 if the server says it is live, 0 if it says it is not; absent when its API says neither.",
			"GET /v2/health/live and its like", engine.AnswersLive,
			func(h *api.Health) (float64, bool) { return flag(h.Live), h.LiveKnown }),
		health("ready",
			"1 if the server says it is ready, 0 if it says it is not; absent when its API says neither. A server whose requests all fail may say so too: see llm_server_state.",
			"GET /v2/health/ready and its like", engine.AnswersHealth,
			func(h *api.Health) (float64, bool) {
				return flag(h.API == engine.APIReady), h.API == engine.APIReady || h.API == engine.APINotReady
			}),
		health("health_check_duration_seconds",
			"How long the server took to answer the last health check.",
			"measured by the exporter", engine.AnswersHealth,
			func(h *api.Health) (float64, bool) { return h.Duration.Seconds(), h.API != engine.APIUnknown }),

		one("processes", derive.Exact,
			"How many processes answer at the address of the replica, in turn or at random; absent where no more than one is known to. Nothing is derived of the growth of their counters.",
			"process_start_time_seconds, dynamo_component_uptime_seconds by worker_id, counters that fall and go on where an earlier page had them",
			func(now *Situation) (float64, bool) { return float64(now.Processes), now.Processes > 0 }),

		iterations("iteration_stats_failures_total", derive.Exact,
			"Requests for iteration statistics that had no usable answer. Servers before 1.3.0 do not answer while requests are in flight.",
			"GET /metrics (JSON)",
			func(i *api.Iterations) (float64, bool) { return float64(i.Failures), true }),
		iterations("iteration_stats_read_total", derive.Exact,
			"Iterations of the executor whose statistics were read, each once.",
			"rows of GET /metrics (JSON), distinct by iter",
			func(i *api.Iterations) (float64, bool) { return float64(i.Iterations), i.Read }),
		iterations("iteration_stats_gaps_total", derive.Exact,
			"Iterations that are missing between those that were read: the server dropped them, an answer was lost, or another reader has them. The other iteration counters lack them.",
			"holes in iter",
			func(i *api.Iterations) (float64, bool) { return float64(i.Missing), i.Read }),
		iterations("iteration_stats_foreign_reader", derive.Rough,
			"1 if iterations were missing during the last five minutes that the server had no reason to drop: something else reads its GET /metrics, which hands out each iteration once. Servers from 1.3.0rc5 until the fix of their own collector (PR 13405) do that themselves. Else 0.",
			"holes in iter of answers below 1000 rows, statsDroppedFrames left out",
			func(i *api.Iterations) (float64, bool) { return flag(i.ForeignReader()), i.Read }),
		iterations("iteration_stats_generation_tokens_estimated_total", derive.Rough,
			"Tokens generated, estimated from iterations as they happen and not at the end of requests: decoding requests, accepted drafts, and one first token for each request that became active.",
			"sum(numGenRequests x max(1, avgNumDecodedTokensPerIter) + numAcceptedTokens + numNewActiveRequests)",
			func(i *api.Iterations) (float64, bool) { return i.GeneratedTokens, i.Read }),
		iterations("iteration_stats_context_tokens_total", derive.Sampled,
			"Prompt tokens computed in prefill, without those found in the cache. 0 on PyTorch backends of 1.0.",
			"sum(numCtxTokens)",
			func(i *api.Iterations) (float64, bool) { return i.ContextTokens, i.Read }),
		iterations("iteration_stats_completed_requests_total", derive.Sampled,
			"Requests that completed in the iterations that were read.",
			"sum(numCompletedRequests)",
			func(i *api.Iterations) (float64, bool) { return i.Completed, i.Read }),
		iterations("iteration_stats_queued_requests", derive.Sampled,
			"Requests that wait to become active, in the newest iteration; absent while no iteration is new.",
			"numQueuedRequests of the last row",
			func(i *api.Iterations) (float64, bool) { return known(i.Queued, i.Read) }),
		iterations("iteration_stats_active_requests", derive.Sampled,
			"Active requests in the newest iteration; absent while no iteration is new.",
			"numActiveRequests of the last row",
			func(i *api.Iterations) (float64, bool) { return known(i.Active, i.Read) }),
	}
})

// health is a gauge of what the API said of the server's health.
func health(name, help, formula string, answer engine.Signal, value func(*api.Health) (float64, bool)) moment {
	f := derive.AboutReplica(name, derive.OfReplica, nil, help, formula, answer)
	return moment{f, func(now *Situation) (float64, bool) {
		if now.Answers.Health == nil {
			return 0, false
		}
		return value(now.Answers.Health)
	}}
}

// iterations is what a trtllm-serve's JSON statistics add up to, where
// iteration_stats is on; a counter by its name, or a gauge.
func iterations(name string, grade derive.Grade, help, formula string, value func(*api.Iterations) (float64, bool)) moment {
	f := derive.AboutReplica(name, derive.OfReplica, nil, help, formula, engine.AnswersIterations)
	f.Grade, f.Section = grade, "Iterations of a trtllm-serve"
	return moment{f, func(now *Situation) (float64, bool) {
		if now.Answers.Iterations == nil {
			return 0, false
		}
		return value(now.Answers.Iterations)
	}}
}

// known is a value that may be absent.
func known(v *float64, read bool) (float64, bool) {
	if v == nil || !read {
		return 0, false
	}
	return *v, true
}
