//go:build e2e_live

package live

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// outage is a cause that lasts for minutes, with the one page that follows in each cluster that is named.
type outage struct {
	name        string
	begins, end time.Duration
	cause       func(on bool)
	pages       map[string]string
}

// watchers returns an exporter for all replicas, a pair and two shards, in a cluster each.
func watchers() []exporter {
	asks := func(global string) func(*simulate.Fleet) string {
		return func(fleet *simulate.Fleet) string {
			return configured(global, fleet.Pools(), func(*simulate.Pool) []string {
				return []string{"canary: { confirm: true }"}
			})
		}
	}
	in := func(cluster string, e exporter) exporter {
		e.cluster = cluster
		return e
	}
	const two = "sharding: { total: 2 }"
	return []exporter{
		in("one", serving(asks(""))),
		in("pair", serving(asks(""))),
		in("pair", serving(asks(""))),
		in("shards", serving(asks(two), "--sharding.index=0")),
		in("shards", serving(asks(two), "--sharding.index=1")),
	}
}

// outages returns what happens to the fleet and its exporters.
func (s *stack) outages(t *testing.T) []outage {
	t.Helper()
	everywhere := func(alert string) map[string]string {
		return map[string]string{"one": alert, "pair": alert, "shards": alert}
	}
	isQwen := func(p simulate.Pool) bool { return p.Name == "qwen-7b-chat" }
	qwen := s.fleet.Pools()[slices.IndexFunc(s.fleet.Pools(), isQwen)]
	return []outage{
		{
			name: "a pool is killed", begins: 3 * time.Minute, end: 8 * time.Minute,
			cause: func(on bool) {
				for _, r := range qwen.Replicas {
					if on {
						r.Stop()
					} else {
						r.Restart(time.Second)
					}
				}
			},
			pages: everywhere("LLMPoolDown"),
		},
		{
			name: "one of three hangs", begins: 15 * time.Minute, end: 20 * time.Minute,
			cause: func(on bool) { s.fleet.Replica("llama-70b-prod", "llama-70b-0").Stall(on) },
			pages: everywhere("LLMReplicaBroken"),
		},
		{
			name: "an exporter of each cluster ends", begins: 26 * time.Minute, end: 30 * time.Minute,
			cause: func(on bool) {
				for _, i := range []int{0, 2, 4} {
					if on {
						s.process.exporters[i].end(t)
					} else {
						s.process.exporters[i].begin(t)
					}
				}
			},
			pages: map[string]string{"one": "LLMExporterDown", "shards": "LLMShardMissing"},
		},
	}
}

// resolves is the longest time until a page is resolved.
const resolves = 10 * time.Minute

// TestPagesAreTrue watches a mixed fleet for forty minutes with the shipped rules and configuration, by one
// exporter, a pair and shards: every outage is one page in each cluster, which is resolved when it is over.
func TestPagesAreTrue(t *testing.T) {
	t.Parallel()
	s := startStack(t, setting{fleet: simulate.MixedFleet(1), exporters: watchers(), values: shippedValues(t, 0)})
	s.awaitReady(t, 4*s.replicas(), 4*time.Minute)
	start := time.Now()
	all := s.outages(t)
	for _, o := range all {
		pause(t, time.Until(start.Add(o.begins)))
		o.cause(true)
		pause(t, time.Until(start.Add(o.end)))
		o.cause(false)
	}
	pause(t, time.Until(start.Add(all[len(all)-1].end+resolves)))
	s.requirePages(t, start, all)
	require.Empty(t, s.query(t, `ALERTS{alertstate="firing",severity="critical"}`))
	s.requireHealthyRules(t)
}

// requirePages requires that each outage was paged while it lasted, and resolved after it, once in each cluster,
// and that there were no other pages.
func (s *stack) requirePages(t *testing.T, start time.Time, all []outage) {
	t.Helper()
	wanted, got := make(map[string]int), make(map[string]int)
	for _, o := range all {
		for cluster, alert := range o.pages {
			wanted["firing "+alert+" of "+cluster]++
			wanted["resolved "+alert+" of "+cluster]++
		}
	}
	for _, a := range s.hook.all() {
		after, cluster, alert := a.receivedAt.Sub(start).Round(time.Second), a.Labels["cluster"], a.Labels["alertname"]
		t.Logf("%6s %s in %s: %s", after, a.receiver, cluster, a)
		if a.receiver != "on-call" {
			continue
		}
		got[a.Status+" "+alert+" of "+cluster]++
		of := slices.IndexFunc(all, func(o outage) bool { return o.pages[cluster] == alert })
		require.GreaterOrEqual(t, of, 0, "a page without a cause: %s", a)
		from, to := all[of].begins, all[of].end
		if a.Status == "resolved" {
			from, to = to, to+resolves
		}
		require.Greater(t, after, from, "%s: %s", all[of].name, a)
		require.LessOrEqual(t, after, to, "%s: %s", all[of].name, a)
		require.NotContains(t, a.Annotations["description"], "<no value>", a)
	}
	require.Equal(t, wanted, got)
}
