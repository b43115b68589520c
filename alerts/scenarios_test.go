package alerts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// scenario is a history of a fleet with its expected notifications.
type scenario struct {
	// name describes what happens, in the words of an on-call engineer.
	name  string
	build func(f *fleet)
	// pages are the only allowed pages, each with its allowed minutes.
	pages map[string]int
	// tickets are the expected tickets.
	tickets []string
	// requests is set if it is about requests, for which windows of an hour are filled before the
	// event.
	requests bool
	// old is set if its pools serve for three hours before the event.
	old bool
	// only is the only alert that fires, of any severity, and ends with the fault; empty if pages
	// and tickets are given.
	only string
}

// ready returns a healthy server.
var ready = stays("ready")

// scenarios returns histories (rollouts, outages, changes, load) of topologies (one exporter, a
// pair, shards, sidecars, clusters, tiers).
func scenarios() []scenario {
	up := always(1)
	one := func(l life, n int) func(*fleet) {
		return func(f *fleet) { f.exporter("e", up).pool("p", n, l) }
	}
	oneOfFour := func(l life) func(*fleet) {
		return func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.sees(&server{pool: "p", replica: "fourth"}, l)
		}
	}
	loaded := func(t *traffic) func(*fleet) {
		return func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 2, ready) {
				e.asked(s, t)
			}
		}
	}
	return append(outages(), []scenario{
		// Availability.
		{name: "all replicas crash", build: one(ready.becomes(0, "down"), 3), pages: map[string]int{"LLMPoolDown": 2}},
		{
			name:  "all replicas fail every request",
			build: one(ready.becomes(0, "failing"), 3),
			pages: map[string]int{"LLMPoolDown": 2},
		},
		{
			name:  "one of four hangs",
			build: oneOfFour(ready.becomes(0, "stalled")),
			pages: map[string]int{"LLMReplicaBroken": 2},
		},
		{
			name:    "one of four is killed and stays away",
			build:   oneOfFour(ready.becomes(0, "down")),
			tickets: []string{"LLMReplicaDown"},
		},
		{name: "a pool of one is down for half of every minute", build: one(func(step int) string {
			if step >= 0 && step%minute < 2 {
				return "down"
			}
			return "ready"
		}, 1), pages: map[string]int{"LLMPoolDown": 15}},
		{name: "a deployment is rolled out, one by one", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			for i := range 3 {
				e.sees(&server{
					pool:    "p",
					replica: fmt.Sprint("old", i),
				}, ready.becomes(4*i+3, "draining").becomes(4*i+4, ""))
				e.sees(&server{
					pool:    "p",
					replica: fmt.Sprint("new", i),
				}, stays("").becomes(4*i, "unknown").becomes(4*i+3, "ready"))
			}
		}},
		{name: "a stateful set of three is rolled in place, thirteen minutes each", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.expects("p", 3)
			for i := range 3 {
				e.sees(
					&server{pool: "p", replica: strconv.Itoa(i)},
					ready.becomes(14*i, "draining").becomes(14*i+1, "down").becomes(14*i+13, "ready"),
				)
			}
		}},
		{name: "spot nodes are killed, and replaced", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(6))
			for i := range 6 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready.becomes(10*i, "down").becomes(10*i+4, ""))
				e.sees(&server{
					pool:    "p",
					replica: fmt.Sprint("next", i),
				}, stays("").becomes(10*i+1, "unknown").becomes(10*i+6, "ready"))
			}
		}},
		{name: "scaled to zero, as expect allows", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.expects("p", 0)
			e.pool("p", 3, ready.becomes(0, "draining").becomes(3, ""))
		}},
		{name: "one of four is put to sleep on purpose", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.sleeps(&server{pool: "p", replica: "fourth"}, 0, ready.becomes(0, "unserved"))
		}},
		{name: "three of four are put to sleep on purpose, although two are expected", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 1, ready)
			e.expects("p", 2)
			for i := range 3 {
				e.sleeps(&server{pool: "p", replica: fmt.Sprint("sleeper", i)}, 0, ready.becomes(0, "unserved"))
			}
		}},
		{name: "one of four is paused for new weights", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, ready.becomes(0, "unserved"))
			e.write("llm_server_paused", s.labels(), from(0, 1, always(absent)))
		}},
		{name: "the models of a whole pool are unloaded by hand", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready.becomes(0, "unserved")) {
				e.write("llm_server_paused", s.labels(), from(0, 1, always(absent)))
			}
		}},
		{name: "the models of a whole pool are unloaded by hand, and load again for five minutes", build: func(f *fleet) {
			f.exporter("e", up).swaps("p", 7)
		}},
		{name: "the models of a whole pool are unloaded by hand, and load again without end", build: func(f *fleet) {
			f.exporter("e", up).swaps("p", 1<<20)
		}, pages: map[string]int{"LLMPoolDown": 13}},
		{name: "one of four is unserved, and by nobody's hand", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, ready.becomes(0, "unserved"))
			e.write("llm_server_paused", s.labels(), from(0, 0, always(absent)))
		}, pages: map[string]int{"LLMReplicaBroken": 3}},
		{name: "a pool of one sleeps until it is needed", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(1))
			e.sleeps(&server{pool: "p", replica: "0"}, 0, ready.becomes(0, "unserved"))
		}},
		{name: "a pool sleeps, and its exporter restarts", build: func(f *fleet) {
			e := f.exporter("e", between(20, 21, 0, up))
			e.has("p", always(1))
			e.sleeps(&server{pool: "p", replica: "0"}, 0, ready.becomes(0, "unserved"))
		}},
		{name: "an exporter starts while a pool sleeps", build: func(f *fleet) {
			e := f.exporter("e", from(0, 1, always(absent)))
			e.has("p", always(2))
			for i := range 2 {
				e.sleeps(&server{pool: "p", replica: strconv.Itoa(i)}, -10, stays("unserved"))
			}
		}},
		{name: "one sleeps on purpose, and then the last one that serves crashes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 1, ready.becomes(5, "down"))
			e.sleeps(&server{pool: "p", replica: "sleeper"}, 0, ready.becomes(0, "unserved"))
		}, pages: map[string]int{"LLMPoolDown": 8}},
		{name: "one of four is awake and has lost its LLM", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.sleeps(&server{pool: "p", replica: "fourth"}, 1<<20, ready.becomes(0, "unserved"))
		}, pages: map[string]int{"LLMReplicaBroken": 3}},
		{name: "one of four slept on purpose, wakes up and has lost its LLM", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, stays("unserved"))
			e.write("llm_server_engine_awake", s.labels("model_id", "m"), from(0, 1, always(0)))
		}, pages: map[string]int{"LLMReplicaBroken": 3}},
		{name: "all of a pool slept on purpose, and are not ready for five minutes when they are woken", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 2 {
				s := &server{pool: "p", replica: strconv.Itoa(i)}
				e.sees(s, ready.becomes(-5, "unserved").becomes(0, "not_ready").becomes(5, "ready"))
				e.write("llm_server_engine_awake", s.labels("model_id", "m"), between(-5, 0, 0, up))
			}
			e.has("p", always(2))
		}},
		{name: "all of a pool slept on purpose, and do not wake up", build: func(f *fleet) {
			e := f.exporter("e", up)
			s := &server{pool: "p", replica: "0"}
			e.sees(s, ready.becomes(-5, "unserved").becomes(0, "not_ready"))
			e.write("llm_server_engine_awake", s.labels("model_id", "m"), between(-5, 0, 0, up))
			e.has("p", always(1))
		}, pages: map[string]int{"LLMPoolDown": 10}, tickets: []string{"LLMReplicaNotUp"}},
		{name: "a pool scaled to zero comes back, whose first replica says that it is not ready", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", between(1, 31, 0, up))
			e.sees(&server{pool: "p", replica: "0"}, ready.becomes(0, "draining").becomes(1, "").
				becomes(31, "not_ready").becomes(33, "ready"))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a pool crashes while its only exporter is away for half an hour", build: func(f *fleet) {
			e := f.exporter("e", between(0, 32, 0, up))
			e.pool("p", 2, ready.becomes(15, "unknown").becomes(33, "down"))
			e.pool("q", 1, ready)
		}, pages: map[string]int{"LLMExporterDown": 2, "LLMPoolDown": 35}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "scaled to zero unexpectedly, drained", build: func(f *fleet) {
			f.exporter("e", up).pool("p", 3, ready.becomes(0, "draining").becomes(3, ""))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a pool vanishes without draining", build: func(f *fleet) {
			f.exporter("e", up).pool("p", 3, ready.becomes(0, ""))
		}, pages: map[string]int{"LLMPoolDown": 5}, tickets: []string{"LLMDiscovery", "LLMPoolGone"}},
		{name: "a pool vanishes, and a gateway is still found in it", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", from(0, 1, always(4)))
			e.write("trtllm_exporter_target_up", map[string]string{"pool_id": "p", "replica_id": "gateway"}, always(1))
			for i := range 3 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready.becomes(0, ""))
			}
		}, pages: map[string]int{"LLMPoolDown": 5}, tickets: []string{"LLMPoolGone"}},
		{name: "a gateway of a pool is down", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			e.write("trtllm_exporter_target_up", map[string]string{
				"pool_id":    "p",
				"replica_id": "gateway",
			}, from(0, 0, always(1)))
			for i := range 3 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready)
			}
		}},
		{name: "scaled from zero", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.expects("p", 0)
			e.pool("p", 3, stays("").becomes(0, "unknown").becomes(9, "ready"))
		}},
		{name: "the configuration removes a pool", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("other", 2, ready)
			e.has("p", from(0, absent, always(2)))
			for i := range 2 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready.becomes(0, ""))
			}
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a new pool loads for an hour, as its budget allows", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.write("trtllm_exporter_targets", map[string]string{"pool_id": "p"}, always(2))
			e.allows("p", 3600)
			for i := range 2 {
				e.sees(
					&server{pool: "p", replica: strconv.Itoa(i)},
					stays("").becomes(0, "starting").becomes(50, "ready"),
				)
			}
		}},
		{name: "a new replica exceeds its start budget", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.sees(&server{pool: "p", replica: "new"}, stays("").becomes(0, "starting"))
		}, tickets: []string{"LLMReplicaNotUp"}},
		{
			name:    "a new pool never becomes ready",
			build:   one(stays("").becomes(0, "starting"), 2),
			pages:   map[string]int{"LLMPoolDown": 25},
			tickets: []string{"LLMDiscovery", "LLMReplicaNotUp"},
		},
		{name: "a pool grows to double, and the new replicas load", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 4, ready)
			e.named("new", "p", 4, stays("").becomes(0, "unknown").becomes(15, "ready"))
		}},
		{name: "one of three expected replicas leaves discovery", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.expects("p", 3)
			e.pool("p", 2, ready)
			e.sees(&server{pool: "p", replica: "third"}, ready.becomes(0, ""))
		}, tickets: []string{"LLMReplicasMissing"}},
		{name: "an autoscaler halves a pool", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 2, ready)
			e.named("old", "p", 2, ready.becomes(0, "draining").becomes(1, ""))
		}},
		{name: "half of a pool vanishes that no autoscaler has changed for hours", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 2, ready)
			e.named("old", "p", 2, ready.becomes(0, ""))
		}, tickets: []string{"LLMReplicasMissing"}},
		{name: "all pods are evicted, and their replacements load for sixteen minutes", build: func(f *fleet) {
			f.exporter("e", up).
				successors("p", ready.becomes(0, "draining").becomes(1, ""), stays("").becomes(1, "unknown").becomes(18, "ready"))
		}, pages: map[string]int{"LLMPoolDown": 11}},
		{name: "all pods crash, and their replacements load for nineteen minutes", build: func(f *fleet) {
			f.exporter("e", up).
				successors("p", ready.becomes(0, "down").becomes(2, ""), stays("").becomes(2, "unknown").becomes(21, "ready"))
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "replicas drain for twenty-five minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.sees(&server{pool: "p", replica: "old"}, ready.becomes(0, "draining").becomes(25, ""))
		}},
		// Tiers and models.
		{name: "the only frontend is down", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(9))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready.becomes(0, "down"))
			for i := range 8 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i), tier: "worker"}, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}, tickets: []string{}},
		{name: "all workers are down", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			for i := range 2 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i), tier: "worker"}, ready.becomes(0, "down"))
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "one of two models is gone at all replicas", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				for _, model := range []string{"a", "b"} {
					bad := model == "b"
					for state, v := range map[string]float64{"ready": 1, "unavailable": 0} {
						at := always(v)
						if bad {
							at = from(0, 1-v, at)
						}
						e.write(
							"llm_server_model_state",
							s.labels("model_id", model, "model", model, "state", state),
							at,
						)
					}
				}
			}
		}, pages: map[string]int{"LLMModelDown": 5}, tickets: []string{"LLMModelUnavailable"}},
		{name: "a model is added to half of the replicas, and loads for five minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 4, ready)[:2] {
				e.write(
					"llm_server_model_state",
					s.labels("model_id", "b", "model", "b", "state", "ready"),
					from(5, 1, from(0, 0, always(absent))),
				)
				e.write(
					"llm_server_model_state",
					s.labels("model_id", "b", "model", "b", "state", "unavailable"),
					from(5, 0, from(0, 1, always(absent))),
				)
			}
		}},
		{name: "a pool of Triton, with a limit, and of vLLM without one has a short queue", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i, s := range e.pool("p", 5, ready) {
				e.write("llm_server_queue_depth", s.labels("model_id", "m"), always(5))
				e.write(
					"llm_server_requests_limit",
					s.labels("model_id", "m"),
					always([]float64{32, absent, absent, absent, absent}[i]),
				)
			}
		}},
		{name: "a pool is mixed on purpose, and another is filled on purpose", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p-mixed", 2, ready)
			e.write("llm_server_pool_skew", map[string]string{"pool_id": "p-mixed", "fact": "config_hash"}, up)
			for _, s := range e.pool("p-batch", 2, ready) {
				e.write("llm_server_saturated", s.labels("model_id", "m"), up)
			}
		}},
		// Suspicion: work exists, and nothing moves.
		{name: "one of four is suspected", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.suspects(&server{pool: "p", replica: "fourth"}, from(0, 1, always(0)))
		}, tickets: []string{"LLMReplicaSuspected"}},
		{name: "three of four are suspected, and the fourth is idle", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 1, ready)
			for i := range 3 {
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i)}, from(0, 1, always(0)))
			}
		}, tickets: []string{"LLMReplicaSuspected"}},
		{name: "all replicas are suspected", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			for i := range 3 {
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i)}, from(0, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "a pool of one is suspected", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(1))
			e.suspects(&server{pool: "p", replica: "0"}, from(0, 1, always(0)))
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "a pool of one is suspected for four minutes, again and again", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(1))
			e.suspects(&server{pool: "p", replica: "0"}, func(step int) float64 {
				if step >= 0 && step%(6*minute) < 4*minute {
					return 1
				}
				return 0
			})
		}},
		{name: "a pool of one is suspected for half an hour, and recovers", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(1))
			e.suspects(&server{pool: "p", replica: "0"}, between(0, 30, 1, always(0)))
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "two are suspected, and the others of the pool are down", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 2, ready.becomes(0, "down"))
			for i := range 2 {
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i)}, from(0, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolSuspected": 7}, tickets: []string{"LLMPoolDegraded", "LLMReplicaDown"}},
		{name: "all are suspected, and then proven to hang", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(2))
			for i := range 2 {
				s := &server{pool: "p", replica: strconv.Itoa(i)}
				e.sees(s, ready.becomes(2, "stalled"))
				e.write("llm_server_suspected", s.labels(), between(0, 2, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolDown": 4}},
		{name: "a pool that is filled on purpose looks as if it hung", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p-batch", always(1))
			e.suspects(&server{pool: "p-batch", replica: "0"}, from(0, 1, always(0)))
		}},
		{name: "all workers are suspected behind a frontend that is not", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.suspects(&server{pool: "p", replica: "front", tier: "frontend"}, always(0))
			for i := range 2 {
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i), tier: "worker"}, from(0, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "both exporters of a pair suspect a pool of one", build: func(f *fleet) {
			for i := range 2 {
				e := f.exporter(fmt.Sprint("e", i), up)
				e.has("p", always(1))
				e.suspects(&server{pool: "p", replica: "0"}, from(0, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "one exporter of a pair suspects a pool of one, and the other has an answer", build: func(f *fleet) {
			for i := range 2 {
				e := f.exporter(fmt.Sprint("e", i), up)
				e.has("p", always(1))
				e.suspects(&server{pool: "p", replica: "0"}, from(0, float64(i), always(0)))
			}
		}},
		{name: "one exporter of a pair suspects a pool of one, and the other is cut off", build: func(f *fleet) {
			e := f.exporter("a", up)
			e.has("p", always(1))
			e.suspects(&server{pool: "p", replica: "0"}, from(0, 1, always(0)))
			other := f.exporter("b", up)
			other.pool("q", 1, ready)
			other.has("p", always(1))
			other.sees(&server{pool: "p", replica: "0"}, ready.becomes(0, "down"))
			other.write("llm_server_suspected", (&server{pool: "p", replica: "0"}).labels(), always(0))
		}, pages: map[string]int{"LLMPoolSuspected": 7}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "a pool of one is suspected, and its exporter restarts", build: func(f *fleet) {
			e := f.exporter("e", between(20, 21, 0, up))
			e.has("p", always(1))
			e.suspects(&server{pool: "p", replica: "0"}, between(20, 23, 0, from(0, 1, always(0))))
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "all replicas of all shards are suspected", build: func(f *fleet) {
			for i := range 3 {
				e := f.exporter(fmt.Sprint("s", i), up)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(3))
				e.has("p", always(1))
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i)}, from(0, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolSuspected": 7}},
		{name: "the replicas of two of three shards are suspected", build: func(f *fleet) {
			for i := range 3 {
				e := f.exporter(fmt.Sprint("s", i), up)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(3))
				e.has("p", always(1))
				e.suspects(&server{pool: "p", replica: strconv.Itoa(i)}, from(0, min(1, float64(i)), always(0)))
			}
		}, tickets: []string{"LLMReplicaSuspected"}},
		// Pages that do not come.
		{name: "the pages of a pool can no longer be read", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			for i := range 3 {
				e.loses(&server{pool: "p", replica: strconv.Itoa(i)}, ready, 0, 1)
			}
		}, tickets: []string{"LLMReplicaUnreadable"}},
		{name: "a pool withholds its pages from the start, so that nobody knows " +
			"whether it serves", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			for i := range 3 {
				s := &server{pool: "p", replica: strconv.Itoa(i)}
				e.sees(s, stays("").becomes(0, "blind"))
				e.write("llm_server_serving", s.labels(), from(0, 0, always(absent)))
			}
		}, tickets: []string{"LLMReplicaUnreadable"}},
		{name: "one of four withholds its page from the start", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "new"}
			e.sees(s, stays("").becomes(0, "blind"))
			e.write("llm_server_serving", s.labels(), from(0, 0, always(absent)))
		}, tickets: []string{"LLMReplicaUnreadable"}},
		{name: "one of four starts, and then withholds its page", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "new"}
			e.sees(s, stays("").becomes(0, "unknown").becomes(3, "blind"))
			e.write("llm_server_serving", s.labels(), from(0, 0, always(absent)))
		}, tickets: []string{"LLMReplicaUnreadable"}},
		{name: "a pool hangs, and then its pages do not come either", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(2))
			for i := range 2 {
				e.loses(&server{pool: "p", replica: strconv.Itoa(i)}, ready.becomes(0, "stalled"), 10, 0)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}, tickets: []string{"LLMReplicaUnreadable"}},
		// Canary and answers.
		{name: "the canary of a pool of one fails, and others are served", build: func(f *fleet) {
			e := f.exporter("e", up)
			s := e.pool("p", 1, ready)[0]
			e.write("llm_server_canary_success", s.labels("model_id", "m"), from(0, 0, always(1)))
		}, tickets: []string{"LLMCanaryFailing"}},
		{name: "one of four is overloaded, so that its canary waits behind others", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				e.write("llm_server_saturated", s.labels("model_id", "m"), always(0))
			}
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, ready)
			// Its saturation comes and goes, as its batch does.
			e.write("llm_server_saturated", s.labels("model_id", "m"), func(step int) float64 {
				if step >= 0 && step%(2*minute) < minute {
					return 1
				}
				return 0
			})
			e.write("llm_server_canary_success", s.labels("model_id", "m"), from(1, 0, always(1)))
		}},
		{name: "one of four is overloaded, and then answers nobody", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				e.write("llm_server_saturated", s.labels("model_id", "m"), always(0))
			}
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, ready.becomes(10, "canary_failing"))
			e.write("llm_server_saturated", s.labels("model_id", "m"), from(0, 1, always(0)))
			e.write("llm_server_canary_success", s.labels("model_id", "m"), from(10, 0, always(1)))
		}, pages: map[string]int{"LLMReplicaBroken": 14}},
		{name: "the canary of one of four fails, and nobody else asks", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			s := &server{pool: "p", replica: "fourth"}
			e.sees(s, ready.becomes(0, "canary_failing"))
			e.write("llm_server_canary_success", s.labels("model_id", "m"), from(0, 0, always(1)))
		}, pages: map[string]int{"LLMReplicaBroken": 4}, tickets: []string{"LLMCanaryFailing"}},
		{name: "the canary of a pool of one fails, and nobody else asks", build: func(f *fleet) {
			e := f.exporter("e", up)
			s := e.pool("p", 1, ready.becomes(0, "canary_failing"))[0]
			e.write("llm_server_canary_success", s.labels("model_id", "m"), from(0, 0, always(1)))
		}, pages: map[string]int{"LLMPoolDown": 4}, tickets: []string{"LLMCanaryFailing"}},
		{name: "the canary of a pool of one fails for a minute and a half, again and again", build: func(f *fleet) {
			f.exporter("e", up).pool("p", 1, func(step int) string {
				if step >= 0 && step%(15*minute) < 6 {
					return "canary_failing"
				}
				return "ready"
			})
		}},
		{name: "several processes answer at the address of one of four", build: func(f *fleet) {
			e := f.exporter("e", up)
			s := e.pool("p", 4, ready)[0]
			// With luck, no page shows another process for a while.
			e.write("llm_server_processes", s.labels(), func(step int) float64 {
				if step < 0 || step%(5*minute) < 2*minute {
					return absent
				}
				return 2
			})
		}, tickets: []string{"LLMReplicaProcesses"}},
		// Restarts.
		{name: "a pool is down, and its exporter restarts", build: func(f *fleet) {
			f.exporter("e", between(20, 21, 0, up)).
				pool("p", 3, ready.becomes(0, "down").becomes(20, "unknown").becomes(40, "down"))
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "a healthy fleet's exporter restarts", build: func(f *fleet) {
			f.exporter("e", between(20, 21, 0, up)).pool("p", 3, func(step int) string {
				if step == 21*minute {
					return "unknown"
				}
				return "ready"
			})
		}},
		{name: "versions differ behind two exporters", build: func(f *fleet) {
			for i, version := range []string{"2.50.0", "2.51.0"} {
				e := f.exporter(fmt.Sprint("e", i), up)
				e.has("p", always(1))
				s := &server{pool: "p", replica: strconv.Itoa(i), engine: "triton", version: version}
				e.sees(s, ready)
				e.write("llm_server_info", s.labels(), from(0, 1, always(absent)))
			}
		}, tickets: []string{"LLMPoolSkew"}},
		// Exporters.
		{
			name:    "the only exporter is down",
			build:   func(f *fleet) { f.exporter("e", from(0, 0, up)).pool("p", 3, ready) },
			pages:   map[string]int{"LLMExporterDown": 3},
			tickets: []string{"LLMExporterUnhealthy"},
		},
		{
			name:  "the only exporter of a cluster is deleted",
			build: func(f *fleet) { f.exporter("e", from(0, absent, up)).pool("p", 3, ready) },
			pages: map[string]int{"LLMExporterAbsent": 15},
		},
		{name: "the label of a cluster changes", build: func(f *fleet) {
			f.exporter("renamed", from(0, absent, up)).pool("p", 3, ready)
			f.cluster += "-later"
			f.exporter("renamed", from(0, 1, always(absent))).pool("p", 3, ready)
		}},
		{name: "one exporter of a pair is down", build: func(f *fleet) {
			f.exporter("a", up).pool("p", 3, ready)
			f.exporter("b", from(0, 0, up)).pool("p", 3, ready)
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "one exporter of a pair is cut off", build: func(f *fleet) {
			f.exporter("a", up).pool("p", 3, ready)
			f.exporter("b", up).pool("p", 3, ready.becomes(0, "down"))
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "the exporter loses its network", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 20 {
				e.pool(fmt.Sprint("p", i), 1, ready.becomes(0, "down"))
			}
		}, pages: map[string]int{"LLMExporterBlind": 5}},
		{name: "the exporter loses its network for two minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 10 {
				e.pool(fmt.Sprint("p", i), 1, ready.becomes(0, "down").becomes(2, "ready"))
			}
		}},
		{name: "the exporter loses its network for a minute and a half of each ten", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 5 {
				e.pool(fmt.Sprint("p", i), 2, func(step int) string {
					if step >= 0 && step%(10*minute) < 3*minute/2 {
						return "down"
					}
					return "ready"
				})
			}
		}, pages: map[string]int{"LLMExporterBlind": 26}},
		{name: "a pool is down, and then its exporter", build: func(f *fleet) {
			f.exporter("e", from(10, 0, up)).pool("p", 3, ready.becomes(0, "down"))
		}, pages: map[string]int{"LLMPoolDown": 2, "LLMExporterDown": 13}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "an exporter is killed every two minutes", build: func(f *fleet) {
			e := f.exporter("e", func(step int) float64 {
				if step >= 0 && step%(2*minute) < 3 {
					return 0
				}
				return 1
			})
			e.pool("p", 3, ready)
			e.write(
				"process_start_time_seconds",
				nil,
				func(step int) float64 { return float64(max(0, step) / (2 * minute)) },
			)
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "a shard is down", build: func(f *fleet) {
			for i := range 3 {
				at := up
				if i == 1 {
					at = from(0, 0, up)
				}
				e := f.exporter(fmt.Sprint("s", i), at)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(3))
				e.has("p", always(2))
				for j := range 2 {
					e.sees(&server{pool: "p", replica: fmt.Sprint(i, "-", j)}, ready)
				}
			}
		}, pages: map[string]int{"LLMShardMissing": 5}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "a shard of one of two sets is gone", build: func(f *fleet) {
			for _, set := range []string{"a", "b"} {
				for i := range 2 {
					at := up
					if set == "a" && i == 1 {
						at = from(0, absent, up)
					}
					e := f.exporter(fmt.Sprint(set, i), at)
					e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(2))
					e.has(set, always(2))
					for j := range 2 {
						e.sees(&server{pool: set, replica: fmt.Sprint(i, "-", j)}, ready)
					}
				}
			}
		}, pages: map[string]int{"LLMShardMissing": 5}},
		{name: "all nodes of a pool die with their sidecars", build: func(f *fleet) {
			f.exporter("other", up).pool("q", 1, ready)
			for i := range 4 {
				e := f.exporter(fmt.Sprint("p-", i), from(0, 0, up))
				e.has("p", always(1))
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready)
			}
		}, pages: map[string]int{"LLMPoolUnseen": 10}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "three of four nodes die with their sidecars", build: func(f *fleet) {
			for i := range 4 {
				at := up
				if i > 0 {
					at = from(0, 0, up)
				}
				e := f.exporter(fmt.Sprint("p-", i), at)
				e.has("p", always(1))
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready)
			}
		}, tickets: []string{"LLMExporterUnhealthy", "LLMPoolDegraded"}},
		{name: "one of two exporters is removed with its pools", build: func(f *fleet) {
			f.exporter("a", up).pool("p", 3, ready)
			b := f.exporter("b", from(0, absent, up))
			for i := range 5 {
				b.pool(fmt.Sprint("q", i), 2, ready)
			}
		}, pages: map[string]int{"LLMExporterAbsent": 5}, tickets: []string{"LLMPoolGone"}},
		// Requests.
		{
			name:     "without objectives: 60 of 100 requests fail",
			requests: true,
			build: loaded(&traffic{
				ok:      from(0, 0.4, always(1)),
				failed:  from(0, 0.6, always(0)),
				seconds: always(0.5),
			}),
			pages:   map[string]int{"LLMPoolErrors": 10},
			tickets: []string{"LLMPoolErrors"},
		},
		{
			name:     "without objectives: 3 of 100 requests fail",
			requests: true,
			build:    loaded(&traffic{ok: always(1), failed: from(0, 0.03, always(0))}),
		},
		{
			name:     "without objectives: the first token takes 40 seconds",
			requests: true,
			build:    loaded(&traffic{ok: always(1), seconds: from(0, 40, always(0.5))}),
			tickets:  []string{"LLMPoolSlow"},
		},
		{
			name:     "19 of 20 requests are refused",
			requests: true,
			build:    loaded(&traffic{ok: from(0, 0.05, always(1)), refused: from(0, 0.95, always(0))}),
			pages:    map[string]int{"LLMPoolRefuses": 15},
			tickets:  []string{"LLMPoolSaturated"},
		},
		{
			name:     "objective 0.9, all are late",
			requests: true,
			build:    loaded(&traffic{ok: always(1), late: from(0, 1, always(0)), objective: 0.9}),
			pages:    map[string]int{"LLMSLOBurnFast": 16},
		},
		{
			name:     "objective 0.95, all are late",
			requests: true,
			build:    loaded(&traffic{ok: always(1), late: from(0, 1, always(0)), objective: 0.95}),
			pages:    map[string]int{"LLMSLOBurnFast": 16},
		},
		{
			name:     "objective 0.99, all are late",
			requests: true,
			build:    loaded(&traffic{ok: always(1), late: from(0, 1, always(0)), objective: 0.99}),
			pages:    map[string]int{"LLMSLOBurnFast": 16},
		},
		{
			name:     "objective 0.99, all are late, and counters are reset",
			requests: true,
			build: loaded(&traffic{
				ok:        between(10, 11, absent, up),
				late:      between(10, 11, absent, from(0, 1, always(0))),
				objective: 0.99,
			}),
			pages: map[string]int{"LLMSLOBurnFast": 20},
		},
		{
			name:     "objective 0.9, half are late",
			requests: true,
			build:    loaded(&traffic{ok: always(1), late: from(0, 0.5, always(0)), objective: 0.9}),
			pages:    map[string]int{"LLMSLOBurnFast": 30},
		},
		{
			name:     "objective 0.95, half are late",
			requests: true,
			build:    loaded(&traffic{ok: always(1), late: from(0, 0.5, always(0)), objective: 0.95}),
			pages:    map[string]int{"LLMSLOBurnFast": 30},
		},
		{
			name:     "a quiet morning: 12 of 40 are late, objective 0.95",
			requests: true,
			build:    loaded(&traffic{ok: always(0.01), late: between(0, 33, 0.003, always(0)), objective: 0.95}),
		},
		{name: "a quiet pool: two requests in a row fail", requests: true, build: loaded(&traffic{
			ok: between(
				0,
				2,
				0,
				always(0.01),
			), failed: between(0, 2, 1./60, always(0)), late: between(0, 2, 1./60, always(0)), objective: 0.99,
		})},
		{name: "a request each ten minutes, and all fail", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			// The exporter counts failures until a request succeeds, however long that takes.
			s := e.pool("p", 1, ready.becomes(10*(derive.DefaultFailingMin-1), "failing"))[0]
			e.asked(s, &traffic{failed: func(step int) float64 {
				if step >= 0 && step%(10*minute) < minute {
					return 1. / 60
				}
				return 0
			}})
		}, pages: map[string]int{"LLMPoolDown": 10*(derive.DefaultFailingMin-1) + 2}},
		{name: "a new pool: the first minute is late, objective 0.99", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", from(0, 1, always(absent)))
			s := &server{pool: "p", replica: "new"}
			e.sees(s, stays("").becomes(0, "ready"))
			e.asked(s, &traffic{
				ok:        from(0, 0.5, always(absent)),
				late:      from(1, 0, from(0, 0.5, always(absent))),
				objective: 0.99,
			})
		}},
	}...)
}

// lasts returns the first and the last step.
func (s *scenario) lasts() (first, last int) {
	switch {
	case s.old:
		return -185 * minute, 50 * minute
	case s.requests:
		return -65 * minute, 50 * minute
	}
	return -10 * minute, 65 * minute
}

// swaps adds a pool of which somebody unloads all models, and loads them again from the second minute to another one.
func (e *exporter) swaps(pool string, end int) {
	for _, s := range e.pool(pool, 3, ready.becomes(0, "unserved").becomes(end, "ready")) {
		e.write("llm_server_paused", s.labels(), between(0, 2, 1, between(2, end, 0, always(absent))))
		e.write(
			"llm_server_model_state",
			s.labels("model_id", "m", "model", "m", "state", "loading"),
			between(2, end, 1, always(0)),
		)
	}
}

// ofFaults returns the scenarios of single faults, which are played once.
func ofFaults(every int) []scenario {
	var all []scenario
	for _, f := range faults() {
		if every == 1 {
			all = append(all, f.scenario())
		}
	}
	return all
}

func TestEveryAlertHasAScenario(t *testing.T) {
	t.Parallel()
	fires := make(map[string]bool)
	for _, s := range slices.Concat(scenarios(), ofFaults(1)) {
		for name := range s.pages {
			fires[name] = true
		}
		for _, name := range append(s.tickets, s.only) {
			fires[name] = true
		}
	}
	for _, name := range alertNames(t) {
		require.True(t, fires[name] || name == "LLMExporterScrapedRarely" || name == "LLMSLOBurnSlow", name)
	}
}

// ofCluster returns the name of the scenario's cluster.
func ofCluster(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,:'", r) {
			return '-'
		}
		return r
	}, name)
}

// called writes queries for the expected notifications, and for their absence.
func (s *scenario) called(all []string) string {
	var b strings.Builder
	first, last := s.lasts()
	at := (last-first)/minute - 1
	query := func(expr, samples string) {
		fmt.Fprintf(&b, "      - expr: '%s'\n        eval_time: %dm\n        exp_samples: [%s]\n", expr, at, samples)
	}
	want := func(severity string, names []string) {
		var samples []string
		for _, name := range names {
			samples = append(samples, fmt.Sprintf("{ labels: '{alertname=%q}', value: 1 }", name))
		}
		query(
			fmt.Sprintf(
				`group by (alertname) (count_over_time(ALERTS{cluster=%q,alertstate="firing",severity=%q}[%dm]))`,
				ofCluster(s.name),
				severity,
				at,
			),
			strings.Join(samples, ", "),
		)
	}
	if s.only != "" {
		fires := fmt.Sprintf(
			`group by (alertname) (count_over_time(ALERTS{cluster=%q,alertstate="firing"}`,
			ofCluster(s.name),
		)
		query(fires+fmt.Sprintf("[%dm]))", at), fmt.Sprintf("{ labels: '{alertname=%q}', value: 1 }", s.only))
		if s.only != "LLMReplicaRestarts" {
			query(fires+"[1m]))", "")
		}
		return b.String()
	}
	var pages []string
	for _, name := range all {
		within, paged := s.pages[name]
		if !paged {
			continue
		}
		pages = append(pages, name)
		query(
			fmt.Sprintf(
				`(min_over_time(timestamp(group by (alertname) (ALERTS{cluster=%q,alertstate="firing",alertname=%q}))[%dm:15s]) - %d) / 60 <= bool %d`,
				ofCluster(s.name),
				name,
				at,
				-first*60/minute,
				within,
			),
			fmt.Sprintf("{ labels: '{alertname=%q}', value: 1 }", name),
		)
	}
	for _, name := range pages {
		fires := fmt.Sprintf(
			`group by (alertname) (ALERTS{cluster=%q,alertstate="firing",alertname=%q})`,
			ofCluster(s.name),
			name,
		)
		query(
			fmt.Sprintf(
				`(max_over_time(timestamp(%s)[%dm:15s]) - min_over_time(timestamp(%[1]s)[%[2]dm:15s])) / 15 + 1 - count_over_time(%[1]s[%[2]dm:15s])`,
				fires,
				at,
			),
			fmt.Sprintf("{ labels: '{alertname=%q}', value: 0 }", name),
		)
	}
	want("critical", pages)
	want("warning", slices.Sorted(slices.Values(s.tickets)))
	return b.String()
}

// alertNames returns the names of all alerts.
func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range rules(t) {
		if r.Alert != "" {
			names = append(names, r.Alert)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestAlertsOfFleetScenarios(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scrape   string
		every    int
		requests bool
	}{{"15s", 1, false}, {"15s", 1, true}, {"30s", 2, false}, {"1m", minute, false}, {"1m", minute, true}} {
		t.Run(fmt.Sprintf("scrapes each %s, requests %t", c.scrape, c.requests), func(t *testing.T) {
			t.Parallel()
			play(
				t,
				c.scrape,
				c.every,
				slices.DeleteFunc(
					slices.Concat(scenarios(), ofFaults(c.every)),
					func(s scenario) bool { return s.requests != c.requests },
				),
			)
		})
	}
}

func TestRareScrapesAreReported(t *testing.T) {
	t.Parallel()
	play(t, "1m", 2*minute, []scenario{{
		name:    "scraped every two minutes, and then all replicas crash",
		build:   func(f *fleet) { f.exporter("e", always(1)).pool("p", 3, ready.becomes(0, "down")) },
		pages:   map[string]int{"LLMPoolDown": 4},
		tickets: []string{"LLMExporterScrapedRarely"},
	}})
}

func TestSlowBurnsAreReported(t *testing.T) {
	t.Parallel()
	late := func(share float64) func(*fleet) {
		return func(f *fleet) {
			e := f.exporter("e", always(1))
			for _, s := range e.pool("p", 2, ready) {
				e.asked(s, &traffic{ok: always(1), late: from(0, share, always(0)), objective: 0.99})
			}
		}
	}
	play(t, "1m", minute, []scenario{
		{
			name: "8 of 100 are late for most of an hour", old: true, build: late(0.08),
			tickets: []string{"LLMSLOBurnSlow"},
		},
		{name: "2 of 100 are late for most of an hour", old: true, build: late(0.02)},
	})
}

// TestPagesThatComeAndGo counts the pages of what ends and begins again for an hour: the second one lasts.
func TestPagesThatComeAndGo(t *testing.T) {
	t.Parallel()
	recurs := func(state string, each, lasts int) life {
		return func(step int) string {
			if step >= 0 && step%(each*minute) < lasts*minute {
				return state
			}
			return "ready"
		}
	}
	// half is 1 for the first half of some minutes, again and again.
	half := func(minutes int) timeline {
		return func(step int) float64 {
			if step >= 0 && step%(minutes*minute) < minutes*minute/2 {
				return 1
			}
			return 0
		}
	}
	not := func(at timeline) timeline { return func(step int) float64 { return 1 - at(step) } }
	long := half(24)
	for _, c := range []struct {
		name, alert string
		up          timeline
		build       func(e *exporter)
	}{
		{"all of a pool are suspected for twelve of twenty-four minutes", "LLMPoolSuspected", always(1), func(e *exporter) {
			e.has("p", always(2))
			e.suspects(&server{pool: "p", replica: "0"}, long)
			e.suspects(&server{pool: "p", replica: "1"}, long)
		}},
		{"all requests fail for twelve of twenty-four minutes", "LLMPoolErrors", always(1), func(e *exporter) {
			e.asked(e.pool("p", 1, ready)[0], &traffic{ok: not(long), failed: long})
		}},
		{"all requests are rejected for twelve of twenty-four minutes", "LLMPoolRefuses", always(1), func(e *exporter) {
			e.asked(e.pool("p", 1, ready)[0], &traffic{ok: not(long), refused: long})
		}},
		{"a model is lost for twelve of twenty-four minutes", "LLMModelDown", always(1), func(e *exporter) {
			s := e.pool("p", 1, ready)[0]
			for state, at := range map[string]timeline{"ready": not(long), "unavailable": long} {
				e.write("llm_server_model_state", s.labels("model_id", "b", "model", "b", "state", state), at)
			}
		}},
		{"the node of the only sidecar is away for eight of sixteen minutes", "LLMPoolUnseen", not(half(16)), func(e *exporter) {
			e.pool("p", 1, ready)
			e.fleet.exporter("other", always(1)).pool("q", 2, ready)
		}},
		{"a shard does not answer for twelve of twenty-four minutes", "LLMShardMissing", not(long), func(e *exporter) {
			for i, shard := range []*exporter{e, e.fleet.exporter("other", always(1))} {
				shard.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(2))
				shard.named(fmt.Sprint("on-", i), fmt.Sprint("p", i), 2, ready)
				shard.has("p0", always(float64(2-2*i)))
				shard.has("p1", always(float64(2*i)))
			}
		}},
		{"a pool of one crashes every quarter of an hour", "LLMPoolDown", always(1), func(e *exporter) {
			e.pool("p", 1, recurs("down", 15, 2))
		}},
		{"one of four hangs every ten minutes", "LLMReplicaBroken", always(1), func(e *exporter) {
			e.pool("p", 4, ready)
			e.named("hangs", "p", 1, recurs("stalled", 10, 3))
		}},
		{"the only exporter is down for five of ten minutes", "LLMExporterDown", func(step int) float64 {
			if step >= 0 && step%(10*minute) < 5*minute {
				return 0
			}
			return 1
		}, func(e *exporter) { e.pool("p", 4, ready) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fleet{cluster: "c", every: 1, last: 61 * minute}
			c.build(f.exporter("e", c.up))
			fixture.PlayRules(t, alerts.WithoutPanels(rendered(t)), "15s", fmt.Sprintf(
				"  - interval: 15s\n    input_series:\n%s    promql_expr_test:\n"+
					"      - expr: '1 + sum(changes(ALERTS_FOR_STATE{alertname=%q,severity=\"critical\"}[60m]))'\n"+
					"        eval_time: 60m\n        exp_samples: [{ labels: '{}', value: 2 }]\n", f.out.String(), c.alert))
		})
	}
}

// TestPoolsThatAreGoneAreForgotten plays a pool that the configuration no longer has: records that remember themselves
// end, too, once it no longer counts as one that served.
func TestPoolsThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	values["evaluation_interval"] = "1m"
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	const gone, last = 20, 480
	f := &fleet{cluster: "c", every: minute, last: last * minute}
	e := f.exporter("e", always(1))
	e.has("p", from(gone, absent, always(2)))
	there, none := from(gone, absent, always(1)), from(gone, absent, always(0))
	for _, s := range e.pool("q", 2, ready) {
		e.asked(s, &traffic{ok: always(1)})
	}
	for i := range 2 {
		s := &server{pool: "p", replica: strconv.Itoa(i)}
		e.sees(s, ready.becomes(gone, ""))
		e.asked(s, &traffic{ok: between(10, gone, 0, there), failed: none, refused: none, canceled: there, running: there})
	}
	rules = alerts.WithoutPanels(rules)
	records, _ := alerts.NewReads(rules).Records()
	var wanted strings.Builder
	for _, name := range records {
		fmt.Fprintf(&wanted, "      - { expr: '%s{pool_id=\"p\"}', eval_time: %dm, exp_samples: [] }\n", name, last-1)
	}
	fixture.PlayRules(t, rules, "1m",
		"  - interval: 15s\n    input_series:\n"+f.out.String()+"    promql_expr_test:\n"+wanted.String())
}

// play evaluates all rules over scenarios, each in its own cluster.
func play(t *testing.T, scrape string, every int, all []scenario) {
	t.Helper()
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	evaluation := "15s"
	if every > 1 {
		evaluation = "30s" // Evaluations take most of the time, and samples are not newer in between.
	}
	values["scrape_interval"], values["evaluation_interval"] = scrape, evaluation
	// All groups are evaluated equally often.
	values["slo_slow_interval"], values["slo_budget_interval"] = evaluation, evaluation
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	names := alertNames(t)
	var series, wanted strings.Builder
	for _, s := range all {
		f := &fleet{cluster: ofCluster(s.name), every: every}
		f.first, f.last = s.lasts()
		s.build(f)
		series.WriteString(f.out.String())
		wanted.WriteString(s.called(names))
	}
	fixture.PlayRules(
		t,
		alerts.WithoutPanels(rules),
		evaluation,
		"  - interval: 15s\n    input_series:\n"+series.String()+"    promql_expr_test:\n"+wanted.String(),
	)
}
