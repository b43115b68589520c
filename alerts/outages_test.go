package alerts_test

import (
	"fmt"
	"slices"
	"strconv"
)

// outages returns histories in which a cause hides another, or looks like one: who is to be
// told, once, and who is not.
func outages() []scenario {
	return slices.Concat(rollouts(), tiers(), unseen(), failures())
}

// routed adds the frontend of a pool p, and its workers.
func (e *exporter) routed(frontend, workers life) {
	e.has("p", always(5))
	e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, frontend)
	for i := range 4 {
		e.sees(&server{pool: "p", replica: fmt.Sprint("worker-", i), tier: "worker"}, workers)
	}
}

// disaggregated adds a pool p of two servers that prefill and two that decode.
func (e *exporter) disaggregated(prefill, decode life) {
	e.has("p", always(4))
	for i := range 2 {
		e.sees(&server{pool: "p", replica: fmt.Sprint("prefill-", i), tier: "prefill"}, prefill)
		e.sees(&server{pool: "p", replica: fmt.Sprint("decode-", i), tier: "decode"}, decode)
	}
}

// tiers returns histories of pools of which a part vanishes, so that nothing is down that is there.
func tiers() []scenario {
	up := always(1)
	vanishes := ready.becomes(0, "")
	return []scenario{
		{
			name:  "the only frontend vanishes",
			build: func(f *fleet) { f.exporter("e", up).routed(vanishes, ready) },
			pages: map[string]int{"LLMPoolDown": 2},
		},
		{
			name:  "the node of the only frontend dies, and its pod is evicted later",
			build: func(f *fleet) { f.exporter("e", up).routed(ready.becomes(0, "down").becomes(5, ""), ready) },
			pages: map[string]int{"LLMPoolDown": 2},
		},
		{
			name:  "all workers vanish behind their frontend",
			build: func(f *fleet) { f.exporter("e", up).routed(ready, vanishes) },
			pages: map[string]int{"LLMPoolDown": 2},
		},
		{name: "one of two frontends vanishes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.routed(ready, ready)
			e.sees(&server{pool: "p", replica: "front-2", tier: "frontend"}, vanishes)
		}},
		{name: "the only frontend drains, and its successor loads for five minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.routed(ready.becomes(0, "draining").becomes(1, ""), ready)
			e.sees(&server{pool: "p", replica: "front-2", tier: "frontend"}, stays("").becomes(6, "ready"))
			e.sees(&server{pool: "p", replica: "front-2"}, stays("").becomes(1, "unknown").becomes(6, ""))
		}},
		{name: "the exporter of a pool with a frontend restarts", build: func(f *fleet) {
			later := ready.becomes(1, "unknown").becomes(2, "ready")
			f.exporter("e", between(0, 1, 0, up)).routed(later, later)
		}},
		{name: "the node of the only frontend dies with its sidecar, which is evicted later", build: func(f *fleet) {
			e := f.exporter("front", from(5, absent, from(0, 0, up)))
			e.has("p", up)
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			for i := range 4 {
				e := f.exporter(fmt.Sprint("worker-", i), up)
				e.has("p", up)
				e.sees(&server{pool: "p", replica: strconv.Itoa(i), tier: "worker"}, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 8}},
		{name: "the shard that has the only frontend of a pool is down", build: func(f *fleet) {
			for i, tier := range []string{"frontend", "worker"} {
				e := f.exporter(fmt.Sprint("s", i), from(0, float64(i), up))
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(2))
				e.has("p", up)
				e.sees(&server{pool: "p", replica: tier, tier: tier}, ready)
			}
		}, pages: map[string]int{"LLMShardMissing": 4}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "one exporter of a pair no longer finds the only frontend", build: func(f *fleet) {
			f.exporter("a", up).routed(ready, ready)
			f.exporter("b", up).routed(vanishes, ready)
		}},
		{name: "all decoders drain, and nobody replaces them", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.disaggregated(ready, ready.becomes(0, "draining").becomes(1, ""))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "all decoders drain, and their successors load for six minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.disaggregated(ready, ready.becomes(0, "draining").becomes(1, ""))
			for i := range 2 {
				e.sees(
					&server{pool: "p", replica: fmt.Sprint("new-decode-", i), tier: "decode"},
					stays("").becomes(2, "starting").becomes(8, "ready"),
				)
			}
		}},
		{name: "all decoders are away for the night, and load for six minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.disaggregated(ready, ready.becomes(0, "draining").becomes(1, "").becomes(40, "starting").becomes(46, "ready"))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "all that sleep are woken, serve, and three minutes later crash and start again", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(2))
			life := stays("unserved").becomes(-3, "ready").becomes(0, "starting")
			for i := range 2 {
				s := &server{pool: "p", replica: strconv.Itoa(i)}
				e.sees(s, life)
				e.write("llm_server_engine_awake", s.labels("model_id", "m"), from(-3, 1, always(0)))
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{
			name:    "all replicas drain, and do not end",
			build:   func(f *fleet) { f.exporter("e", up).pool("p", 3, ready.becomes(0, "draining")) },
			pages:   map[string]int{"LLMPoolDown": 33},
			tickets: []string{"LLMReplicaNotUp"},
		},
		{
			name:  "one of two models is loading again on every replica, without end",
			build: func(f *fleet) { f.exporter("e", up).reloads(1 << 20) },
			pages: map[string]int{"LLMModelDown": 24},
		},
		{
			name: "one of two models is loading again on every replica, for half an hour, which the budget allows",
			build: func(f *fleet) {
				e := f.exporter("e", up)
				e.allows("p", 3600)
				e.reloads(30)
			},
		},
	}
}

// reloads adds a pool of which all replicas load a model for some minutes.
func (e *exporter) reloads(minutes int) {
	for _, s := range e.pool("p", 3, ready) {
		loading := between(0, minutes, 1, always(0))
		e.write("llm_server_model_state", s.labels("model_id", "b", "model", "b", "state", "loading"), loading)
		e.write("llm_server_model_state", s.labels("model_id", "b", "model", "b", "state", "ready"),
			func(step int) float64 { return 1 - loading(step) })
	}
}

// rollouts returns histories of pools whose replicas are replaced, or that have roles.
func rollouts() []scenario {
	up := always(1)
	return []scenario{
		{name: "a stateful set is rolled in place, and crashes two minutes later", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			for i := range 4 {
				t := 2*i - 9
				e.sees(
					&server{pool: "p", replica: strconv.Itoa(i)},
					ready.becomes(t, "draining").becomes(t+1, "down").becomes(t+2, "ready").becomes(0, "down"),
				)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "a deployment is rolled, and crashes at once", build: func(f *fleet) {
			f.exporter("e", up).successors(
				"p",
				ready.becomes(-3, "draining").becomes(-2, ""),
				stays("").becomes(-5, "unknown").becomes(-4, "ready").becomes(0, "down"),
			)
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "a pool that expects replicas is recreated, which takes eighteen minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.expects("p", 3)
			e.successors("p", ready.becomes(0, "draining").becomes(1, ""), stays("").becomes(1, "unknown").becomes(18, "ready"))
		}, pages: map[string]int{"LLMPoolDown": 6}},
		{name: "a pool is scaled to zero for half an hour, and then loads for six minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", between(1, 31, 0, up))
			e.named("old", "p", 1, ready.becomes(0, "draining").becomes(1, ""))
			e.named("new", "p", 1, stays("").becomes(31, "unknown").becomes(37, "ready"))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a pool is scaled to zero for half an hour, and then loads for fifteen minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", between(1, 31, 0, up))
			e.named("old", "p", 1, ready.becomes(0, "draining").becomes(1, ""))
			e.named("new", "p", 1, stays("").becomes(31, "unknown").becomes(46, "ready"))
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a stateful set is scaled to zero for twenty-four minutes, and then loads for seven", build: func(f *fleet) {
			back := ready.becomes(0, "draining").becomes(1, "").becomes(25, "unknown").becomes(32, "ready")
			f.exporter("e", up).pool("p", 3, back)
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a node is lent to another pool for twenty minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.named("lent", "p", 1, ready.becomes(0, "draining").becomes(1, "").becomes(21, "unknown").becomes(26, "ready"))
		}},
		{name: "all of a pool hang, and are found out within a minute", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			for i := range 4 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, func(step int) string {
					return ready.becomes(0, "stalled")(step - i)
				})
			}
		}, pages: map[string]int{"LLMPoolDown": 3}},
		{name: "all replicas are down for half a minute of each three", build: func(f *fleet) {
			f.exporter("e", up).pool("p", 3, func(step int) string {
				if step >= 0 && step/2%6 == 0 {
					return "down"
				}
				return "ready"
			})
		}, pages: map[string]int{"LLMPoolDown": 13}},
		{name: "a pool of one is recreated, which takes six minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(1))
			e.sees(&server{pool: "p", replica: "old"}, ready.becomes(0, "draining").becomes(1, ""))
			e.sees(&server{pool: "p", replica: "new"}, stays("").becomes(1, "unknown").becomes(6, "ready"))
		}},
		{name: "one of three loads for twenty-five minutes, as its budget allows", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 2, ready)
			e.allows("p", 3600)
			e.sees(&server{
				pool:    "p",
				replica: "third",
			}, ready.becomes(0, "draining").becomes(1, "down").becomes(2, "starting").becomes(27, "ready"))
		}},
		{name: "one of three loads for longer than its budget of half an hour", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.allows("p", 1800)
			e.sees(&server{pool: "p", replica: "new"}, stays("").becomes(0, "starting"))
		}, tickets: []string{"LLMReplicaNotUp"}},
		{name: "a new replica crashes again and again while it loads, once a minute", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.allows("p", 900)
			e.sees(&server{pool: "p", replica: "new"}, func(step int) string {
				switch {
				case step < 0:
					return ""
				case step/(minute/2)%2 == 0:
					return "starting"
				default:
					return "down"
				}
			})
		}, tickets: []string{"LLMReplicaNotUp"}},
		{name: "two of six replicas drain for good, and later expect does not want them", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 4, ready)
			e.named("gone", "p", 2, ready.becomes(0, "draining").becomes(2, ""))
			lower := map[string]string{"pool_id": "p", "bound": "lower"}
			e.write("llm_server_pool_replicas_expected", lower, from(45, absent, always(6)))
		}, only: "LLMReplicasMissing"},
		{name: "three new replicas do not load, and are removed", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 4, ready)
			e.named("new", "p", 3, stays("").becomes(0, "unknown").becomes(12, ""))
		}},
		{name: "three pools of one are recreated at once, which takes six minutes", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, pool := range []string{"p", "q", "r"} {
				e.has(pool, always(1))
				e.named("old", pool, 1, ready.becomes(0, "draining").becomes(1, ""))
				e.named("new", pool, 1, stays("").becomes(1, "unknown").becomes(6, "ready"))
			}
		}},
		{name: "all prefill servers of a disaggregated pool die", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(5))
			e.sees(&server{pool: "p", replica: "router", tier: "frontend"}, ready)
			for i := range 2 {
				e.sees(&server{pool: "p", replica: fmt.Sprint("ctx-", i)}, ready.becomes(0, "down"))
				e.sees(&server{pool: "p", replica: fmt.Sprint("gen-", i)}, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "all decode workers die, and those that prefill do not", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(5))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			for i := range 2 {
				e.sees(&server{pool: "p", replica: fmt.Sprint("prefill", i), tier: "worker"}, ready)
				e.sees(&server{pool: "p", replica: fmt.Sprint("decode", i), tier: "worker"}, ready.becomes(0, "down"))
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "all decode workers die whose names are one word with others", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			e.named("disagg-vllmprefillworker-", "p", 2, ready)
			e.named("disagg-vllmdecodeworker-", "p", 2, ready.becomes(0, "down"))
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "all prefill workers vanish whom only their names tell, for half an hour", build: func(f *fleet) {
			e, away := f.exporter("e", up), ready.becomes(0, "").becomes(30, "ready")
			e.has("p", always(5))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			for i := range 2 {
				e.sees(&server{pool: "p", replica: fmt.Sprint("prefill", i), tier: "worker"}, away)
				e.sees(&server{pool: "p", replica: fmt.Sprint("decode", i), tier: "worker"}, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "the nodes of all decode workers die with their sidecars, which are evicted later", build: func(f *fleet) {
			for name, at := range map[string]timeline{"prefill": up, "decode": from(5, absent, from(0, 0, up))} {
				e := f.exporter(name, at)
				e.has("p", up)
				e.named(name, "p", 1, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 8}},
		{name: "a disaggregated pool is rolled, and then becomes one of plain workers", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			for i, name := range []string{"prefill-", "decode-"} {
				e.named(name+"old", "p", 1, ready.becomes(8*i, "draining").becomes(8*i+2, ""))
				e.named(name+"new", "p", 1, stays("").becomes(8*i-6, "starting").becomes(8*i, "ready").
					becomes(30, "draining").becomes(32, ""))
			}
			e.named("plain", "p", 2, stays("").becomes(24, "starting").becomes(30, "ready"))
		}},
		{name: "all prefill servers die whose names do not say it, but a label", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(2))
			e.sees(&server{pool: "p", replica: "0", tier: "prefill"}, ready.becomes(0, "down"))
			e.sees(&server{pool: "p", replica: "1", tier: "decode"}, ready)
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "a server crashes that is called gen, as no other of its pool", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 4, ready)
			e.named("next-gen-", "p", 1, ready.becomes(0, "down"))
		}, tickets: []string{"LLMReplicaDown"}},
		{name: "all servers of a disaggregated pool get names that tell no roles", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(5))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			for i, name := range []string{"prefill-0", "prefill-1", "decode-0", "decode-1"} {
				e.sees(&server{pool: "p", replica: name}, ready.becomes(0, ""))
				e.sees(&server{pool: "p", replica: fmt.Sprint("node-", i)}, stays("").becomes(0, "ready"))
			}
		}},
		{name: "all servers of a disaggregated pool vanish but its routers, whose tier is not known", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			e.named("router-", "p", 2, ready)
			for _, name := range []string{"prefill-0", "decode-0"} {
				e.sees(&server{pool: "p", replica: name}, ready.becomes(0, ""))
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "the exporter is rolled back to a release that sees no prefill, no decode and no frontends", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(6))
			for i, tiers := range [][2]string{{"frontend", ""}, {"prefill", "worker"}, {"decode", "worker"}} {
				name := strconv.Itoa(i)
				e.sees(&server{pool: "p", replica: name, tier: tiers[0]}, ready.becomes(0, ""))
				e.sees(&server{pool: "p", replica: name, tier: tiers[1]}, stays("").becomes(0, "ready"))
			}
		}},
		{name: "one of two decode workers dies", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(5))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			e.sees(&server{pool: "p", replica: "decode0", tier: "worker"}, ready.becomes(0, "down"))
			for _, name := range []string{"decode1", "prefill0", "prefill1"} {
				e.sees(&server{pool: "p", replica: name, tier: "worker"}, ready)
			}
		}, tickets: []string{"LLMReplicaDown"}},
		{name: "the only router of a disaggregated pool dies", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.sees(&server{pool: "p", replica: "router", tier: "frontend"}, ready.becomes(0, "down"))
			for i := range 2 {
				e.sees(&server{pool: "p", replica: strconv.Itoa(i)}, ready)
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "a worker that never answered has no tier yet", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.sees(&server{pool: "p", replica: "front", tier: "frontend"}, ready)
			e.sees(&server{pool: "p", replica: "0", tier: "worker"}, ready)
			e.sees(&server{pool: "p", replica: "1"}, stays("").becomes(0, "unknown").becomes(15, ""))
		}},
		{name: "a model is unloaded on purpose", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				for state, at := range map[string]timeline{
					"ready":       from(0, 0, always(1)),
					"unloading":   between(0, 1, 1, always(0)),
					"unavailable": from(1, 1, always(0)),
				} {
					e.write("llm_server_model_state", s.labels("model_id", "a", "model", "a", "state", state), at)
				}
			}
		}},
		{name: "a model is unloaded on purpose between two scrapes", build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				for state, at := range map[string]timeline{"ready": from(0, 0, up), "unavailable": from(0, 1, always(0))} {
					e.write("llm_server_model_state", s.labels("model_id", "a", "model", "a", "state", state), at)
				}
				e.write("llm_server_model_unloaded", s.labels("model_id", "a", "model", "a"), from(0, 1, always(absent)))
			}
		}},
		{name: "a model is unloaded on purpose from one of three replicas", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i, s := range e.pool("p", 3, ready) {
				there := always(1)
				if i == 0 {
					there = from(0, 0, up)
					e.write("llm_server_model_unloaded", s.labels("model_id", "a", "model", "a"), from(0, 1, always(absent)))
				}
				e.write("llm_server_model_state", s.labels("model_id", "a", "model", "a", "state", "ready"), there)
				e.write("llm_server_model_state", s.labels("model_id", "a", "model", "a", "state", "unavailable"),
					func(step int) float64 { return 1 - there(step) })
			}
		}},
		{name: "the replicas of a pool crash in turn, each every three quarters of an hour", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				e.write("trtllm_exporter_target_up", s.labels(), up)
				e.write("trtllm_exporter_target_restarts_total", s.labels(), func(step int) float64 {
					return float64((step + 65*minute) / (38 * minute))
				})
			}
		}, tickets: []string{"LLMReplicaRestarts"}},
	}
}

// small adds pools that lie on one or several of some shards, of which all list all pools. Pool c is
// not on the first.
func small(f *fleet, shards int, first timeline, c life) {
	pools := map[string][]int{"a": {0}, "b": {0, 0}, "c": {1}, "d": {1, 2}, "e": {0, 2}}
	for i := range shards {
		at := always(1)
		if i == 0 {
			at = first
		}
		e := f.exporter(fmt.Sprint("s", i), at)
		e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(float64(shards)))
		for pool, on := range pools {
			n, l := 0, ready
			if pool == "c" {
				l = c
			}
			for j, shard := range on {
				if shard == i {
					e.sees(&server{pool: pool, replica: strconv.Itoa(j)}, l)
					n++
				}
			}
			e.has(pool, always(float64(n)))
		}
	}
}

// sidecars adds a pool of replicas that have an exporter each, with the life that it sees.
func (f *fleet) sidecars(pool string, n int, at timeline, l life) {
	for i := range n {
		e := f.exporter(fmt.Sprint(pool, "-", i), at)
		e.has(pool, always(1))
		e.sees(&server{pool: pool, replica: strconv.Itoa(i)}, l)
	}
}

// unseen returns histories of exporters that do not answer, or do not see what they should.
func unseen() []scenario {
	up := always(1)
	evicted := from(5, absent, from(0, 0, up))
	return []scenario{
		{name: "all sidecars of a cluster stop answering", build: func(f *fleet) {
			for _, pool := range []string{"p", "q", "r"} {
				f.sidecars(pool, 3, from(0, 0, up), ready)
			}
		}, pages: map[string]int{"LLMExporterDown": 3}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "the nodes of a pool die with their sidecars, which are evicted later", build: func(f *fleet) {
			f.sidecars("p", 2, evicted, ready)
			f.sidecars("q", 2, up, ready)
		}, pages: map[string]int{"LLMPoolUnseen": 8}},
		{name: "all pods of a pool are deleted with their sidecars", build: func(f *fleet) {
			f.sidecars("p", 2, from(0, absent, up), ready)
			f.sidecars("q", 2, up, ready)
		}, pages: map[string]int{"LLMPoolUnseen": 8}},
		{name: "all pods of a pool are deleted with their sidecars, and their successors load", build: func(f *fleet) {
			f.sidecars("p", 2, from(0, absent, up), ready)
			for i := range 2 {
				e := f.exporter(fmt.Sprint("p-new-", i), from(10, 1, always(absent)))
				e.has("p", up)
				e.sees(&server{pool: "p", replica: fmt.Sprint("new", i)}, stays("unknown").becomes(18, "ready"))
			}
			f.sidecars("q", 2, up, ready)
		}, pages: map[string]int{"LLMPoolUnseen": 8}},
		{name: "the sidecars of a pool do not answer, but another exporter has it", build: func(f *fleet) {
			f.sidecars("p", 3, from(0, 0, up), ready)
			e := f.exporter("e", up)
			e.has("p", always(3))
			e.named("", "p", 3, ready)
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "the server of one sidecar is down, and later another sidecar restarts", build: func(f *fleet) {
			f.sidecars("p", 1, up, ready.becomes(0, "down"))
			e := f.exporter("p-new", between(30, 31, 0, up))
			e.has("p", up)
			e.named("new", "p", 1, ready.becomes(31, "unknown").becomes(32, "ready"))
			f.sidecars("q", 2, up, ready)
		}, tickets: []string{"LLMPoolDegraded", "LLMReplicaDown"}},
		{name: "a sidecar is down, and later the other server of its pool", build: func(f *fleet) {
			f.sidecars("p", 1, from(0, 0, up), ready)
			f.exporter("p-new", up).pool("p", 1, ready.becomes(30, "down"))
			f.sidecars("q", 2, up, ready)
		}, pages: map[string]int{"LLMPoolDown": 35}, tickets: []string{"LLMExporterUnhealthy", "LLMPoolDegraded"}},
		{name: "the replicas on one shard are down, and later the other shard restarts", build: func(f *fleet) {
			for i := range 2 {
				at, l := up, ready.becomes(0, "down")
				if i == 1 {
					at, l = between(30, 31, 0, up), ready.becomes(31, "unknown").becomes(32, "ready")
				}
				e := f.exporter(fmt.Sprint("s", i), at)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(2))
				e.has("p", always(2))
				e.named(fmt.Sprint("on-", i, "-"), "p", 2, l)
			}
		}, tickets: []string{"LLMPoolDegraded", "LLMReplicaDown"}},
		{name: "a pool of sidecars is scaled to zero, and drains", build: func(f *fleet) {
			f.sidecars("p", 2, from(2, absent, up), ready.becomes(0, "draining"))
			f.sidecars("q", 2, up, ready)
		}, tickets: []string{"LLMPoolGone"}},
		{name: "a pool of sidecars is scaled to zero, and later loads for fifteen minutes", build: func(f *fleet) {
			f.sidecars("p", 2, from(2, absent, up), ready.becomes(0, "draining"))
			e := f.exporter("p-new", from(32, 1, always(absent)))
			e.has("p", up)
			e.sees(&server{pool: "p", replica: "new"}, stays("starting").becomes(47, "ready"))
			f.sidecars("q", 2, up, ready)
		}, tickets: []string{"LLMPoolGone"}},
		{name: "several pools of sidecars are lost at once", build: func(f *fleet) {
			for i := range 4 {
				f.sidecars(fmt.Sprint("p", i), 2, evicted, ready)
				f.sidecars(fmt.Sprint("q", i), 2, up, ready)
			}
		}, pages: map[string]int{"LLMExporterBlind": 8}},
		{name: "the list of targets loses four of six pools", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 6 {
				l := ready
				if i < 4 {
					l = ready.becomes(0, "")
				}
				e.pool(fmt.Sprint("p", i), 2, l)
			}
		}, pages: map[string]int{"LLMExporterBlind": 6}},
		{
			name:    "a shard that has some pools alone is down",
			build:   func(f *fleet) { small(f, 3, from(0, 0, up), ready) },
			pages:   map[string]int{"LLMShardMissing": 4},
			tickets: []string{"LLMExporterUnhealthy"},
		},
		{
			name:  "a shard that has some pools alone is deleted",
			build: func(f *fleet) { small(f, 3, from(0, absent, up), ready) },
			pages: map[string]int{"LLMShardMissing": 4},
		},
		{
			name:    "a shard is down, and later a pool of another one crashes",
			build:   func(f *fleet) { small(f, 3, from(0, 0, up), ready.becomes(10, "down")) },
			pages:   map[string]int{"LLMShardMissing": 4, "LLMPoolDown": 12},
			tickets: []string{"LLMExporterUnhealthy"},
		},
		{
			name:  "a shard is deleted, and later a pool of another one crashes",
			build: func(f *fleet) { small(f, 3, from(0, absent, up), ready.becomes(10, "down")) },
			pages: map[string]int{"LLMShardMissing": 4, "LLMPoolDown": 12},
		},
		{name: "an exporter loses the route to a zone, and later a pool elsewhere crashes", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 4 {
				e.pool(fmt.Sprint("zone-a", i), 2, ready.becomes(0, "down"))
			}
			for i := range 3 {
				e.pool(fmt.Sprint("zone-b", i), 2, ready)
			}
			e.pool("later", 2, ready.becomes(30, "down"))
		}, pages: map[string]int{"LLMExporterBlind": 5, "LLMPoolDown": 32}},
		{name: "the nodes of three of ten pools die, and their successors load", build: func(f *fleet) {
			e := f.exporter("e", up)
			for i := range 7 {
				e.pool(fmt.Sprint("well", i), 2, ready)
			}
			for i := range 3 {
				later := stays("").becomes(5, "starting").becomes(25, "ready")
				e.successors(fmt.Sprint("p", i), ready.becomes(0, "down").becomes(5, ""), later)
			}
		}, pages: map[string]int{"LLMExporterBlind": 5}},
		{name: "an exporter moves to a node without egress", build: func(f *fleet) {
			for _, instance := range []string{"old", "new"} {
				at, l := from(0, absent, up), ready
				if instance == "new" {
					at, l = from(1, 1, always(absent)), stays("unknown").becomes(21, "down")
				}
				e := f.exporter(instance, at)
				for i := range 4 {
					e.pool(fmt.Sprint("p", i), 2, l)
				}
			}
		}, pages: map[string]int{"LLMExporterBlind": 6}},
		{name: "the node of the only exporter dies, which is evicted and later replaced", build: func(f *fleet) {
			f.exporter("old", evicted).pool("p", 3, ready)
			f.exporter("new", from(12, 1, always(absent))).pool("p", 3, ready)
		}, pages: map[string]int{"LLMExporterDown": 3}},
		{name: "the node of one of two exporters dies, which is evicted and later replaced", build: func(f *fleet) {
			f.exporter("old", evicted).pool("p", 3, ready)
			f.exporter("new", from(12, 1, always(absent))).pool("p", 3, ready)
			f.exporter("other", up).pool("q", 3, ready)
		}, pages: map[string]int{"LLMExporterDown": 3}},
		{name: "a pool is down, and the node of its exporter dies, which is later replaced", build: func(f *fleet) {
			f.exporter("old", from(15, absent, from(10, 0, up))).pool("p", 3, ready.becomes(0, "down"))
			f.exporter("new", from(25, 1, always(absent))).pool("p", 3, stays("down"))
		}, pages: map[string]int{"LLMPoolDown": 2, "LLMExporterDown": 13}},
		{name: "four shards become three, one after another", build: func(f *fleet) {
			for i := range 4 {
				shards, at := always(4), up
				if i == 3 {
					at = from(0, absent, up)
				} else {
					shards = from(3-i, 3, shards)
				}
				e := f.exporter(fmt.Sprint("s", i), at)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, shards)
				e.has("p", always(1))
				e.named(fmt.Sprint("on-", i, "-"), "p", 1, ready)
			}
		}},
		{
			name: "an exporter is cut off, and one of its pools is put to sleep meanwhile",
			only: "LLMExporterBlind",
			build: func(f *fleet) {
				e := f.exporter("e", up)
				e.has("asleep", up)
				e.sleeps(&server{pool: "asleep", replica: "0"}, 12, ready.becomes(0, "down").becomes(12, "unserved"))
				for i := range 3 {
					e.pool(fmt.Sprint("p", i), 2, ready.becomes(0, "down").becomes(12, "ready"))
				}
			},
		},
		{name: "an exporter restarts each three minutes", build: func(f *fleet) {
			restarts := func(step int) float64 {
				if step >= 0 && step%(3*minute) == 0 {
					return 0
				}
				return 1
			}
			f.exporter("e", restarts).pool("p", 3, func(step int) string {
				if step >= 0 && step%(3*minute) == 1 {
					return "unknown"
				}
				return "ready"
			})
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "an exporter that is cut off restarts", build: func(f *fleet) {
			e := f.exporter("e", between(10, 11, 0, up))
			for i := range 4 {
				e.pool(fmt.Sprint("p", i), 2, ready.becomes(0, "down").becomes(11, "unknown").becomes(31, "down"))
			}
		}, pages: map[string]int{"LLMExporterBlind": 5}},
		{name: "shards are told of a new pool one after another", build: func(f *fleet) {
			for i := range 3 {
				e := f.exporter(fmt.Sprint("s", i), up)
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(i)}, always(3))
				e.pool("p", 1, ready)
				e.has("new", from(3*i, float64(1-min(i, 1)), always(absent)))
			}
		}},
		{name: "an exporter of a pair is cut off, and later the other restarts", build: func(f *fleet) {
			later := ready.becomes(31, "unknown").becomes(32, "ready")
			f.exporter("a", between(30, 31, 0, up)).pool("p", 2, later)
			f.exporter("b", up).pool("p", 2, ready.becomes(0, "down"))
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "an exporter of a pair is cut off, and later a pool crashes", build: func(f *fleet) {
			f.exporter("a", up).pool("p", 2, ready.becomes(30, "down"))
			f.exporter("b", up).pool("p", 2, ready.becomes(0, "down"))
		}, pages: map[string]int{"LLMPoolDown": 32}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "an exporter of a pair is down that has a single replica", build: func(f *fleet) {
			f.exporter("a", from(0, 0, up)).pool("p", 1, ready)
			f.exporter("b", up).pool("p", 1, ready)
		}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "an exporter of a pair is down, and later their single replica crashes", build: func(f *fleet) {
			f.exporter("a", from(0, 0, up)).pool("p", 1, ready)
			f.exporter("b", up).pool("p", 1, ready.becomes(15, "down"))
		}, pages: map[string]int{"LLMPoolDown": 18}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "both exporters of a pair are down that have a single replica", build: func(f *fleet) {
			f.exporter("a", from(0, 0, up)).pool("p", 1, ready)
			f.exporter("b", from(0, 0, up)).pool("p", 1, ready)
		}, pages: map[string]int{"LLMExporterDown": 4}, tickets: []string{"LLMExporterUnhealthy"}},
		{name: "two pools of an exporter crash half an hour apart", build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 1, ready.becomes(0, "down"))
			e.pool("q", 1, ready.becomes(30, "down"))
		}, pages: map[string]int{"LLMPoolDown": 2}},
	}
}

// counts adds a pool of one with an objective, the rate of requests that it counts, and that of requests that
// end.
func (e *exporter) counts(started, ended timeline) {
	s := e.pool("p", 1, ready)[0]
	e.write("llm_server_slo_objective", map[string]string{"pool_id": "p", "slo": "ttft"}, always(0.9))
	e.write("llm_server_slo_measured", s.labels("slo", "ttft"), always(1))
	e.counter("llm_server_slo_requests_total", s.labels("model_id", "m", "slo", "ttft"), started)
	e.counter("llm_server_requests_total", s.labels("model_id", "m", "class", "ok"), ended)
}

// failures returns histories of requests that fail, are rejected or are late.
func failures() []scenario {
	up := always(1)
	pool := func(name string, n int, of func(i int) *traffic) func(*fleet) {
		return func(f *fleet) {
			e := f.exporter("e", up)
			for i, s := range e.pool(name, n, ready) {
				e.asked(s, of(i))
			}
		}
	}
	all := func(t *traffic) func(int) *traffic { return func(int) *traffic { return t } }
	return []scenario{
		{name: "without objectives: 15 of 100 requests fail", requests: true, build: pool("p", 2, all(&traffic{
			ok:     from(0, 0.85, always(1)),
			failed: from(0, 0.15, always(0)),
		})), tickets: []string{"LLMPoolErrors"}},
		{name: "clients give up on all requests", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0, up), canceled: from(1, 1, always(0)), running: from(0, 60, always(10)),
		})), pages: map[string]int{"LLMPoolSuspected": 12}},
		{name: "clients give up on all requests after ten minutes, four a minute", requests: true, build: pool("p", 1, all(&traffic{
			ok: from(0, 0, up), canceled: from(10, 4./60, always(0)), running: from(0, 40, always(30)),
		})), pages: map[string]int{"LLMPoolSuspected": 30}},
		{name: "users stop nine of ten requests", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0.1, up), canceled: from(0, 0.9, always(0)), running: always(10),
		}))},
		{name: "a user stops three requests in a quiet night", requests: true, build: pool("p", 1, all(&traffic{
			ok: from(-10, 0, up), canceled: between(0, 3, 1./60, always(0)), running: between(0, 3, 1, always(0)),
		}))},
		{name: "a client with a hundred requests is killed, and twenty long ones go on", requests: true, build: pool("p", 1, all(&traffic{
			ok: from(-10, 0, up), canceled: between(0, 1, 100./60, always(0)), running: from(1, 20, always(120)),
		}))},
		{name: "all requests for one of two models are canceled", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			s := e.pool("p", 1, ready)[0]
			e.asked(s, &traffic{model: "a", ok: up, canceled: always(0.1)})
			e.asked(s, &traffic{model: "b", ok: from(0, 0, up), canceled: from(0, 1, always(0))})
		}, pages: map[string]int{"LLMPoolSuspected": 12}},
		{name: "requests fail or are canceled", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0, up), failed: from(0, 0.4, always(0)), canceled: from(0, 0.6, always(0)),
		})), pages: map[string]int{"LLMPoolErrors": 12}, tickets: []string{"LLMPoolErrors"}},
		{name: "the clients of a pool that is filled on purpose cancel all requests", requests: true, build: pool("p-batch", 2, all(&traffic{
			ok: from(0, 0, up), canceled: from(0, 1, always(0)), running: always(10),
		}))},
		{name: "a release renames the model, so that all requests are the clients' fault", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 2, ready) {
				e.asked(s, &traffic{model: "old", ok: from(-58, absent, up)})
				e.asked(s, &traffic{model: "new", ok: from(-58, 0, always(absent)), invalid: from(-58, 1, always(absent))})
			}
		}, tickets: []string{"LLMPoolErrors"}},
		{name: "a limit is lowered, so that all requests are the clients' fault", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(-58, 0, up), invalid: from(-58, 1, always(0)),
		})), tickets: []string{"LLMPoolErrors"}},
		{name: "a client sends bad requests, and few others ask", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(-58, 0.01, up), invalid: from(-58, 3, always(0)),
		}))},
		{name: "all requests to a new pool are the clients' fault", requests: true, build: pool("p", 1, all(&traffic{
			invalid: always(1),
		}))},
		{name: "a client sends two bad requests in an hour, and nobody else asks", requests: true, build: pool("p", 1, all(&traffic{
			ok: from(-58, 0, up), invalid: between(-20, -18, 1./60, always(0)),
		}))},
		{name: "one of ten fails half of its requests", requests: true, build: pool("p", 10, func(i int) *traffic {
			if i > 0 {
				return &traffic{ok: always(2)}
			}
			return &traffic{ok: from(0, 1, always(2)), failed: from(0, 0.9, always(0))}
		}), tickets: []string{"LLMReplicaErrors"}},
		{name: "all requests for a model fail, one each minute", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			s := e.pool("p", 1, ready)[0]
			e.asked(s, &traffic{model: "often", ok: always(1)})
			e.asked(s, &traffic{model: "rare", ok: from(0, 0, always(1./75)), failed: from(0, 1./75, always(0))})
		}, tickets: []string{"LLMPoolErrors"}},
		{name: "a replica hangs, and half an hour later the others are late", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 3, ready) {
				e.asked(s, &traffic{ok: always(1), late: from(25, 1, always(0)), objective: 0.99})
			}
			e.sees(&server{pool: "p", replica: "fourth"}, ready.becomes(0, "stalled"))
		}, pages: map[string]int{"LLMReplicaBroken": 2, "LLMSLOBurnFast": 41}},
		{name: "objective 0.75, 22 of 100 are late, so that it is met", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), late: always(0.22), objective: 0.75,
		}))},
		{name: "all requests fail for ten minutes, as the replicas say", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 2, ready.becomes(0, "failing").becomes(10, "ready")) {
				e.asked(s, &traffic{ok: between(0, 10, 0, up), failed: between(0, 10, 1, always(0))})
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "availability 0.99, all requests fail for ten minutes, as the replicas say", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 2, ready.becomes(0, "failing").becomes(10, "ready")) {
				e.asked(s, &traffic{ok: between(0, 10, 0, up), failed: between(0, 10, 1, always(0)), availability: 0.99})
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "all requests are rejected for ten minutes by servers that are not ready", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			for _, s := range e.pool("p", 2, ready.becomes(0, "not_ready").becomes(10, "ready")) {
				e.asked(s, &traffic{ok: between(0, 10, 0, up), refused: between(0, 10, 1, always(0))})
			}
		}, pages: map[string]int{"LLMPoolDown": 2}, tickets: []string{"LLMPoolSaturated"}},
		{name: "objective 0.5, as for a median, all are late", requests: true, build: pool("p", 2, all(&traffic{
			ok: up, late: from(-30, 1, always(0)), objective: 0.5,
		})), pages: map[string]int{"LLMSLOBurnFast": 19}},
		{name: "objective 0.5, 70 of 100 are late", requests: true, build: pool("p", 2, all(&traffic{
			ok: up, late: from(-40, 0.7, always(0)), objective: 0.5,
		}))},
		{name: "availability 0.75, 22 of 100 fail, so that it is met", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(0.78), failed: always(0.22), availability: 0.75,
		}))},
		{name: "availability 0.75, 60 of 100 fail", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0.4, up), failed: from(0, 0.6, always(0)), availability: 0.75,
		})), pages: map[string]int{"LLMPoolErrors": 10}, tickets: []string{"LLMPoolErrors"}},
		{name: "availability 0.5, all fail", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0, up), failed: from(0, 1, always(0)), availability: 0.5,
		})), pages: map[string]int{"LLMPoolErrors": 11}, tickets: []string{"LLMPoolErrors"}},
		{name: "availability 0.999, 25 of 100 fail", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(0, 0.75, up), failed: from(0, 0.25, always(0)), availability: 0.999,
		})), pages: map[string]int{"LLMSLOBurnFast": 7}},
		{name: "availability 0.99, 12 of 100 fail", requests: true, build: pool("p", 2, all(&traffic{
			ok: from(10, 0.88, up), failed: from(10, 0.12, always(0)), availability: 0.99,
		})), tickets: []string{"LLMPoolErrors"}},
		{name: "objective 0.9, 25 of 100 are late for an hour", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), late: between(-15, 45, 0.25, always(0.02)), objective: 0.9,
		}))},
		{name: "most requests are rejected, and the others are late", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), refused: between(0, 40, 1.5, always(0)), late: between(0, 40, 1, always(0)), objective: 0.95,
		})), pages: map[string]int{"LLMPoolRefuses": 12}, tickets: []string{"LLMPoolSaturated"}},
		{name: "most requests fail, and the others are late", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), failed: between(0, 40, 1.5, always(0)), late: between(0, 40, 1, always(0)), objective: 0.95,
		})), pages: map[string]int{"LLMPoolErrors": 8}, tickets: []string{"LLMPoolErrors"}},
		{name: "most requests are rejected for four of each ten minutes", requests: true, build: pool("p", 2, all(&traffic{
			ok: up, refused: func(step int) float64 {
				if step >= 0 && step%(10*minute) < 4*minute {
					return 1.5
				}
				return 0
			},
		})), tickets: []string{"LLMPoolSaturated"}},
		{name: "a pool that is filled on purpose rejects requests, and is slow", requests: true, build: pool("p-batch", 2, all(&traffic{
			ok: always(1), refused: from(0, 9, always(0)), seconds: always(40),
		}))},
		{name: "without objectives: a token takes 0.8 seconds", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), gap: from(0, 0.8, always(0.02)),
		})), tickets: []string{"LLMPoolSlow"}},
		{name: "first tokens take half as long again", requests: true, build: pool("p", 2, all(&traffic{
			ok: always(1), seconds: between(0, 30, 0.6, always(0.4)),
		})), only: "LLMPoolSlow"},
		{name: "frontends measure an objective, and workers cannot", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(4))
			front := &server{pool: "p", replica: "front", tier: "frontend"}
			e.sees(front, ready)
			e.asked(front, &traffic{ok: always(1), late: always(0), objective: 0.99})
			for i := range 3 {
				s := &server{pool: "p", replica: strconv.Itoa(i), tier: "worker"}
				e.sees(s, ready)
				e.write("llm_server_slo_measured", s.labels("slo", "ttft"), always(0))
			}
		}},
		{name: "a release is tried on one of ten replicas", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			e.has("p", always(10))
			e.write("llm_server_pool_skew", map[string]string{"pool_id": "p", "fact": "config_hash"}, from(-40, 1, always(0)))
			for i := range 10 {
				s := &server{pool: "p", replica: strconv.Itoa(i), engine: "vllm", version: "0.32.0"}
				at := always(1)
				if i == 0 {
					s.version, at = "0.33.0", from(-40, 1, always(absent))
				}
				e.sees(s, ready)
				e.write("llm_server_info", s.labels(), at)
			}
		}},
		{name: "a pool hangs for twenty minutes, and what waited then ends late", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			hangs := ready.becomes(0, "stalled").becomes(20, "ready")
			for _, s := range e.pool("p", 2, hangs) {
				e.asked(s, &traffic{
					ok:        between(0, 20, 0, between(20, 23, 20, up)),
					late:      between(20, 23, 20, always(0)),
					objective: 0.95,
				})
			}
		}, pages: map[string]int{"LLMPoolDown": 2}},
		{name: "an objective counts none of the requests any more", requests: true, build: func(f *fleet) {
			f.exporter("e", up).counts(from(-40, 0, up), up)
		}, tickets: []string{"LLMSLOBlind"}},
		{name: "requests end half an hour after their first token", requests: true, build: func(f *fleet) {
			f.exporter("e", up).counts(between(-1, 0, 3, always(0)), between(20, 45, 0.1, always(0)))
		}},
		{name: "a suspicion comes and goes", requests: true, build: func(f *fleet) {
			e := f.exporter("e", up)
			e.pool("p", 3, ready)
			e.suspects(&server{pool: "p", replica: "fourth"}, func(step int) float64 {
				if step >= 0 && step%(20*minute) < 13*minute {
					return 1
				}
				return 0
			})
		}, tickets: []string{"LLMReplicaSuspected"}},
	}
}
