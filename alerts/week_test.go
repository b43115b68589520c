package alerts_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// A step of the week is a minute.
const (
	hour = 60
	day  = 24 * hour
)

// resident is a replica of the week.
type resident struct {
	server
	life life
}

// byDay returns the life of a replica that loads each morning, and drains each night.
func byDay(morning, night int) life {
	return func(step int) string {
		switch at := step % day; {
		case at < morning || at >= night+3:
			return ""
		case at == morning:
			return "unknown"
		case at < morning+8:
			return "starting"
		case at < night:
			return "ready"
		default:
			return "draining"
		}
	}
}

// on changes a life on some days: the states at each minute after a time of these days.
func (l life) on(days func(d int) bool, at int, states ...string) life {
	return func(step int) string {
		if i := step%day - at; days(step/day) && i >= 0 && i < len(states) {
			return states[i]
		}
		return l(step)
	}
}

// minutes repeats a state.
func minutes(n int, state string) []string { return slices.Repeat([]string{state}, n) }

// residents returns the replicas of pools that all are well: p is scaled by night, restarted and rolled in place, q is
// rolled out each day under other names, r is scaled to zero by night.
func residents(days int) []resident {
	restart := slices.Concat(minutes(1, "down"), minutes(4, "starting"))
	roll := slices.Concat(minutes(1, "draining"), minutes(1, "down"), minutes(5, "starting"))
	var all []resident
	for i := range 4 {
		l := ready
		if i >= 2 {
			l = byDay(6*hour, 22*hour)
		}
		l = l.on(func(d int) bool { return d%4 == i }, 14*hour, restart...)
		l = l.on(func(d int) bool { return d == 3 }, 16*hour+8*i, roll...)
		all = append(all, resident{server{"p", fmt.Sprint("p-", i), "", "vllm", "0.32.0"}, l})
	}
	for d := -1; d < days; d++ {
		for i := range 2 {
			comes, goes := d*day+10*hour+10*i, (d+1)*day+10*hour+10*i+8
			all = append(all, resident{
				server{"q", fmt.Sprint("q-", d+1, "-", i), "", "vllm", fmt.Sprint("0.33.", d+1)},
				stays("").since(comes, "unknown").since(comes+1, "starting").since(comes+7, "ready").
					since(goes, "draining").since(goes+2, ""),
			})
		}
	}
	return append(all, resident{server{"r", "r-0", "", "vllm", "0.32.0"}, byDay(7*hour, 22*hour)})
}

// since changes the state at a step.
func (l life) since(from int, state string) life {
	return func(step int) string {
		if step >= from {
			return state
		}
		return l(step)
	}
}

// restarts returns when an exporter answers: each day it does not for a minute, each day at another time, at which
// something else happens too. Several exporters restart one after another.
func restarts(i int) timeline {
	at := []int{3 * hour, 6*hour + 3, 10*hour + 5, 14*hour + 2, 16*hour + 4, 22*hour + 1, 12 * hour}
	return func(step int) float64 {
		if step%day == at[step/day%len(at)]+2*i {
			return 0
		}
		return 1
	}
}

// lives adds the replicas that an exporter watches, and its pools. It knows none in the first minute.
func (e *exporter) lives(pools []string, all []resident) {
	for _, pool := range pools {
		e.has(pool, func(step int) float64 {
			n := 0.
			for i := range all {
				if all[i].pool == pool && all[i].life(step) != "" {
					n++
				}
			}
			return n
		})
		if expected, is := map[string]float64{"q": 2, "r": 0}[pool]; is {
			e.expects(pool, expected)
		}
	}
	for i := range all {
		e.watches(&all[i])
	}
	began := make([]float64, e.fleet.last)
	for step := 1; step < e.fleet.last; step++ {
		began[step] = began[step-1]
		if e.up(step) == 1 && e.up(step-1) != 1 {
			began[step] = float64(step)
		}
	}
	e.write("process_start_time_seconds", nil, func(step int) float64 { return began[step] })
}

// watches adds the series of a replica.
func (e *exporter) watches(r *resident) {
	s := &r.server
	life := func(step int) string {
		if l := r.life(step); l == "" || step == 0 || e.up(step-1) == 1 {
			return l
		}
		return "unknown"
	}
	while := func(v float64) timeline {
		return func(step int) float64 {
			if l := life(step); l == "ready" || l == "draining" {
				return v
			}
			return absent
		}
	}
	e.sees(s, life)
	e.write("llm_server_info", s.labels("trtllm_version", "1.2."+s.version), while(1))
	e.write("llm_server_suspected", s.labels(), while(0))
	e.write("llm_server_saturated", s.labels("model_id", "m"), while(0))
	e.write("llm_server_queue_depth", s.labels("model_id", "m"), while(1))
	e.write("llm_server_canary_success", s.labels("model_id", "m"), while(1))
	e.write("llm_server_canary_active", s.labels(), while(1))
	e.write("trtllm_exporter_target_up", s.labels(), func(step int) float64 {
		switch life(step) {
		case "":
			return absent
		case "down", "starting":
			return 0
		default:
			return 1
		}
	})
	// Few requests by night, many by day; one of 300 is late, one of 500 fails. The fleet counts 15 seconds a step.
	share := func(of float64) timeline {
		return func(step int) float64 {
			if l := life(step); l != "ready" && l != "draining" {
				return absent
			}
			return 4 * of * (1.05 - math.Cos(2*math.Pi*float64(step%day)/day))
		}
	}
	e.asked(s, &traffic{
		ok: share(1), failed: share(1. / 500), late: share(1. / 300),
		seconds: always(0.4), gap: always(0.03), objective: 0.99,
	})
}

// places returns the topologies by name.
func places() map[string]func(f *fleet, all []resident) {
	pools := []string{"p", "q", "r"}
	some := func(all []resident, of func(i int) bool) (some []resident) {
		for i := range all {
			if of(i) {
				some = append(some, all[i])
			}
		}
		return some
	}
	sharded := func(on func(r *resident, i int) int) func(f *fleet, all []resident) {
		return func(f *fleet, all []resident) {
			for shard := range 3 {
				e := f.exporter(fmt.Sprint("s", shard), restarts(shard))
				e.write("trtllm_exporter_shards", map[string]string{"shard": strconv.Itoa(shard)}, always(3))
				e.lives(pools, some(all, func(i int) bool { return on(&all[i], i) == shard }))
			}
		}
	}
	one := func(f *fleet, all []resident) { f.exporter("e", restarts(0)).lives(pools, all) }
	return map[string]func(f *fleet, all []resident){
		"one": one,
		"central ruler": func(f *fleet, all []resident) {
			for _, f.cluster = range []string{"a", "b"} {
				one(f, all)
			}
		},
		"pair": func(f *fleet, all []resident) {
			f.exporter("a", restarts(0)).lives(pools, all)
			f.exporter("b", restarts(1)).lives(pools, all)
		},
		"shards of pools":    sharded(func(r *resident, _ int) int { return slices.Index(pools, r.pool) }),
		"shards of replicas": sharded(func(_ *resident, i int) int { return i % 2 }),
		"sidecars": func(f *fleet, all []resident) {
			for i := range all {
				r := &all[i]
				up := restarts(i)
				e := f.exporter("sidecar-"+r.replica, func(step int) float64 {
					if r.life(step) == "" {
						return absent
					}
					return up(step)
				})
				e.lives([]string{r.pool}, []resident{*r})
			}
		},
	}
}

// TestHealthyFleetsAreSilentForAWeek takes minutes: `make week` runs it.
func TestHealthyFleetsAreSilentForAWeek(t *testing.T) {
	t.Parallel()
	days, err := strconv.Atoi(os.Getenv("WEEK"))
	if err != nil {
		t.Skip("WEEK is not set to a number of days")
	}
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	values["evaluation_interval"] = "1m"
	// All groups are evaluated equally often.
	values["slo_slow_interval"], values["slo_budget_interval"] = "1m", "1m"
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	// Each topology is a cluster of its own, so that rules are evaluated once for several: that takes most of the time.
	build := places()
	for names := range slices.Chunk(slices.Sorted(maps.Keys(build)), 3) {
		t.Run(strings.Join(names, ", "), func(t *testing.T) {
			t.Parallel()
			var series strings.Builder
			for _, name := range names {
				// Prometheus restarts at noon.
				restart := func(step int) bool { return step%day >= 12*hour && step%day < 12*hour+3 }
				f := &fleet{cluster: name, every: 1, last: days * day, gap: restart}
				build[name](f, residents(days))
				series.WriteString(f.out.String())
			}
			fixture.PlayRules(t, alerts.WithoutPanels(rules), "1m", fmt.Sprintf("  - interval: 1m\n    input_series:\n%s    promql_expr_test:\n"+
				"      - expr: 'count by (cluster, alertname, pool_id, replica_id, instance) "+
				"(count_over_time(ALERTS{alertstate=\"firing\",severity!=\"info\"}[%dd]))'\n        eval_time: %dm\n        "+
				"exp_samples: []\n", series.String(), days, days*day-1))
		})
	}
}
