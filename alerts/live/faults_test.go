//go:build e2e_live

package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// fault is an event in the fleet, with the expected alert and receiver.
type fault struct {
	name, alert, receiver string
	labels                []string
	cause                 func(*simulate.Fleet)
	// paged is the longest time until the page of the shipped rules, if it is measured.
	paged time.Duration
}

// faults returns faults that happen at the same time, each in another pool.
func faults() []fault {
	return []fault{
		{
			"one of three replicas is down", "LLMPoolDegraded", "working-day",
			[]string{"pool_id", "lossy", "severity", "warning"},
			func(f *simulate.Fleet) { f.Replica("lossy", "lossy-2").Stop() }, 0,
		},
		{
			"the only replica of a pool is down", "LLMPoolDown", "on-call",
			[]string{"pool_id", "lone", "severity", "critical"},
			func(f *simulate.Fleet) { f.Replica("lone", "lone-0").Stop() }, 90 * time.Second,
		},
		{
			"an executor hangs", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "stuck", "replica_id", "stuck-0"},
			func(f *simulate.Fleet) { f.Replica("stuck", "stuck-0").Stall(true) }, 160 * time.Second,
		},
		{
			"an engine behind the LLM-API backend hangs", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "module-stuck", "replica_id", "module-stuck-0"},
			func(f *simulate.Fleet) { f.Replica("module-stuck", "module-stuck-0").Stall(true) }, 160 * time.Second,
		},
		{
			"more requests than the pool can serve", "LLMPoolSaturated", "working-day",
			[]string{"pool_id", "busy", "model_id", "qwen"},
			func(f *simulate.Fleet) {
				f.Replica("busy", "busy-0").SetRate(60)
				f.Replica("busy", "busy-1").SetRate(60)
			}, 0,
		},
		{
			"first tokens are late because of that", "LLMSLOBurnFast", "on-call",
			[]string{"pool_id", "busy", "slo", "ttft"},
			func(*simulate.Fleet) {}, 0,
		},
		{
			"a rollout stops halfway", "LLMPoolSkew", "working-day",
			[]string{"pool_id", "mixed", "fact", "engine_version"},
			func(f *simulate.Fleet) { f.Replica("mixed", "mixed-1").Rollout(time.Second, "2.67.0", "1.2.0") }, 0,
		},
		{
			"a stub died", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "failing", "replica_id", "failing-0"},
			func(f *simulate.Fleet) { f.Replica("failing", "failing-0").FailRequests(true) }, 120 * time.Second,
		},
		{
			"streams that never end", "LLMCanaryFailing", "working-day",
			[]string{"pool_id", "hung", "replica_id", "hung-0"},
			func(f *simulate.Fleet) { f.Replica("hung", "hung-0").Stick(1 << 30) }, 0,
		},
	}
}

// TestFaultsReachReceiver has short intervals and times.
func TestFaultsReachReceiver(t *testing.T) {
	t.Parallel()
	s := startStack(t, setting{
		fleet:      breakable(),
		exporters:  []exporter{serving(breakableConfig)},
		values:     values(t),
		rules:      autoscaling(t),
		prometheus: []string{"15s", "1s"},
		alertmanager: []string{
			"group_wait: 30s", "group_wait: 4s", "group_wait: 10s", "group_wait: 4s", "group_interval: 5m",
			"group_interval: 2s",
		},
	})
	s.awaitReady(t, s.replicas(), patience)
	// Wait until windows are filled.
	pause(t, 30*time.Second)
	calm := s.panels(t)
	require.Empty(t, s.hook.received("firing", "LLMReplicaDown"))
	s.requireKinds(t)
	s.requireVocabulary(t)

	s.breaks(t, faults(), func(fault) time.Duration { return patience })
	s.requireInhibition(t)
	s.requireOthersSilent(t)
	s.requireHealthyRules(t)
	s.requireComplete(t, calm, s.panels(t))
	s.interrupts(t, 3*time.Second, 15*time.Second, "lossy", "lone", "stuck", "failing")
}

// TestPagesArriveInTime uses the shipped rules and Alertmanager configuration with scrapes
// every five seconds, and logs how long each page takes.
func TestPagesArriveInTime(t *testing.T) {
	t.Parallel()
	s := startStack(t, setting{
		fleet:      breakable(),
		exporters:  []exporter{serving(everyPool)},
		values:     shippedValues(t, 5*time.Second),
		prometheus: []string{"scrape_interval: 15s", "scrape_interval: 5s"},
	})
	s.awaitReady(t, s.replicas(), time.Minute)
	// Wait until the rules have seen them serve.
	pause(t, 20*time.Second)
	s.fleet.Replica("mixed", "mixed-1").Unload("tensorrt_llm")
	timed := slices.DeleteFunc(faults(), func(f fault) bool { return f.paged == 0 })
	s.breaks(t, timed, func(f fault) time.Duration { return f.paged })
	s.interrupts(t, 5*time.Second, 40*time.Second, "lone", "stuck", "module-stuck", "failing")
	s.requireOthersSilent(t)
	require.Empty(t, s.hook.received("firing", "LLMReplicaBroken", "pool_id", "mixed"), "a model that somebody unloaded")
	require.NotEmpty(t, s.query(t, `llm_server_state{replica_id="mixed-1",state="unserved"} == 1`))
}

// breaks causes all faults at once, and requires that each alert reaches its receiver in time.
func (s *stack) breaks(t *testing.T, all []fault, limit func(fault) time.Duration) {
	t.Helper()
	began := time.Now()
	for _, f := range all {
		f.cause(s.fleet)
	}
	for _, f := range all {
		await(t, time.Until(began)+limit(f)+time.Minute, func() string {
			if len(s.hook.received("firing", f.alert, f.labels...)) > 0 {
				return ""
			}
			return fmt.Sprintf("%s: wanted %s of %v, got %v", f.name, f.alert, f.labels, s.hook.all())
		})
		got := s.hook.received("firing", f.alert, f.labels...)[0]
		after := got.receivedAt.Sub(began).Round(100 * time.Millisecond)
		require.LessOrEqual(t, after, limit(f), "%s: time until %s", f.name, f.alert)
		require.Equal(t, f.receiver, got.receiver, f.name)
		require.NotEmpty(t, got.Annotations["summary"], f.name)
		require.NotContains(t, got.Annotations["description"], "<no value>", f.name)
		require.Contains(t, got.Annotations["runbook_url"], "#"+strings.ToLower(f.alert), f.name)
		t.Logf("%-45s %-20s after %s, at most %s", f.name, f.alert, after, limit(f))
	}
}

// interrupts restarts the exporter and stops Prometheus for a while, and requires that the alerts of these
// pools keep firing: nobody is notified that they are resolved.
func (s *stack) interrupts(t *testing.T, gone, stopped time.Duration, pools ...string) {
	t.Helper()
	for _, c := range []struct {
		name  string
		cause func()
	}{
		{"a restart of the exporter", func() {
			s.process.exporters[0].end(t)
			pause(t, gone)
			s.process.exporters[0].begin(t)
		}},
		{"a stopped Prometheus", func() {
			s.process.prometheus.signal(t, syscall.SIGSTOP)
			pause(t, stopped)
			s.process.prometheus.signal(t, syscall.SIGCONT)
		}},
	} {
		c.cause()
		pause(t, 50*time.Second)
		for _, f := range faults() {
			if !slices.Contains(pools, f.labels[1]) {
				continue
			}
			require.Empty(t, s.hook.received("resolved", f.alert, f.labels...), "%s resolved %s", c.name, f.alert)
			firing := fmt.Sprintf(`ALERTS{alertstate="firing",alertname=%q,pool_id=%q}`, f.alert, f.labels[1])
			within(t, patience, f.alert+" fires after "+c.name, func() bool {
				return len(s.query(t, firing)) > 0
			})
			t.Logf("%-40s %-20s keeps firing", c.name, f.alert)
		}
	}
}

// requireInhibition requires that symptoms fire and are inhibited, and that what users notice is not.
func (s *stack) requireInhibition(t *testing.T) {
	t.Helper()
	type active struct {
		Labels map[string]string `json:"labels"`
		Status struct {
			State       string   `json:"state"`
			InhibitedBy []string `json:"inhibitedBy"`
		} `json:"status"`
	}
	replicas := []string{"alertname", "LLMReplicaDown", "pool_id", "lossy"}
	within(t, patience, "a degraded pool mutes its replicas", func() bool {
		body, err := fetch(t.Context(), "http://"+s.alertmanager+"/api/v2/alerts")
		require.NoError(t, err)
		var all []active
		require.NoError(t, json.Unmarshal(body, &all))
		return slices.ContainsFunc(all, func(a active) bool {
			return has(a.Labels, replicas) && a.Status.State == "suppressed" && len(a.Status.InhibitedBy) > 0
		})
	})
	require.Empty(t, s.hook.received("firing", "LLMReplicaDown", "pool_id", "lossy"))
	// Whichever fires first mutes the other: both say that half of its requests fail.
	within(t, patience, "the errors of a pool page beside its broken replica", func() bool {
		return len(s.hook.received("firing", "LLMSLOBurnFast", "pool_id", "failing")) > 0 ||
			len(s.hook.received("firing", "LLMPoolErrors", "pool_id", "failing", "severity", "critical")) > 0
	})
}

// requireOthersSilent requires that no alert fires for pools without faults.
func (s *stack) requireOthersSilent(t *testing.T) {
	t.Helper()
	for _, a := range s.hook.all() {
		require.NotContains(t, a.Labels["pool_id"], "calm", a)
		require.NotEqual(t, "info", a.Labels["severity"], a)
	}
}

// topology is a way to run the exporter, with a fault and the one page that it causes.
type topology struct {
	name  string
	fleet simulate.FleetSpec
	// exporters scrape the fleet; scrapes is the scrape interval of Prometheus.
	exporters []exporter
	scrapes   time.Duration
	// replicas is the number that all exporters show together; a replica counts for each
	// exporter that scrapes it.
	replicas int
	breaks   func(t *testing.T, s *stack)
	// page is the name of the alert, empty if nobody may be paged; within is its latest
	// time.
	page   string
	within time.Duration
}

// topologies returns the topologies of the promtool scenarios, for real programs.
func topologies() []topology {
	down := func(pool, replica string) func(*testing.T, *stack) {
		return func(_ *testing.T, s *stack) { s.fleet.Replica(pool, replica).Stop() }
	}
	ends := func(exporters ...int) func(*testing.T, *stack) {
		return func(t *testing.T, s *stack) {
			t.Helper()
			for _, i := range exporters {
				s.process.exporters[i].end(t)
			}
		}
	}
	shard := func(index string) exporter {
		return serving(func(fleet *simulate.Fleet) string {
			return configured("sharding: { total: 2 }", fleet.Pools(), questions)
		}, "--sharding.index="+index)
	}
	sidecar := func(pool, replica int) exporter {
		return serving(func(fleet *simulate.Fleet) string {
			only := fleet.Pools()[pool]
			only.Replicas = only.Replicas[replica : replica+1]
			return configured("", []simulate.Pool{only}, questions)
		})
	}
	pair := []exporter{serving(everyPool), serving(everyPool)}
	const often = 5 * time.Second
	return []topology{
		{
			name:      "one exporter of a pair stops",
			fleet:     alike(simulate.KindTriton, 1, 3),
			exporters: pair,
			scrapes:   often,
			replicas:  8,
			breaks:    ends(1),
			within:    5 * time.Minute,
		},
		{
			name:      "a pool of one replica is down behind a pair",
			fleet:     alike(simulate.KindTriton, 1, 3),
			exporters: pair,
			scrapes:   often,
			replicas:  8,
			breaks:    down("p0", "p0-0"),
			page:      "LLMPoolDown",
			within:    2 * time.Minute,
		},
		{
			name:      "one of two shards stops",
			fleet:     alike(simulate.KindTriton, 4, 4),
			exporters: []exporter{shard("0"), shard("1")},
			scrapes:   often,
			replicas:  8,
			breaks:    ends(1),
			page:      "LLMShardMissing",
			within:    5 * time.Minute,
		},
		{
			name:      "all sidecars of a pool stop",
			fleet:     alike(simulate.KindTriton, 3, 1),
			exporters: []exporter{sidecar(1, 0), sidecar(0, 0), sidecar(0, 1), sidecar(0, 2)},
			scrapes:   often,
			replicas:  4,
			breaks:    ends(1, 2, 3),
			page:      "LLMPoolUnseen",
			within:    10 * time.Minute,
		},
		{
			name:      "the only frontend is down",
			fleet:     alike(simulate.KindDynamo, 2),
			exporters: []exporter{serving(frontAndWorker)},
			scrapes:   often,
			replicas:  2,
			breaks:    down("p0", "p0-0"),
			page:      "LLMPoolDown",
			within:    2 * time.Minute,
		},
		{
			name:      "a pool of one replica is down, scraped every minute",
			fleet:     alike(simulate.KindTriton, 1, 3),
			exporters: []exporter{serving(everyPool)},
			scrapes:   time.Minute,
			replicas:  4,
			breaks:    down("p0", "p0-0"),
			page:      "LLMPoolDown",
			within:    5 * time.Minute,
		},
	}
}

// frontAndWorker returns a pool with the frontend of the first deployment and the worker of
// the second.
func frontAndWorker(fleet *simulate.Fleet) string {
	all := fleet.Pools()[0].Replicas
	return fmt.Sprintf("pools:\n  - pool_id: p0\n    static_configs:\n      - { targets: [%q, %q] }\n",
		all[0].APIAddr(), all[1].MetricsAddr())
}

// TestTopologiesPageOnce runs the shipped files in each topology, and requires one page per
// cause, and none while all users are served.
func TestTopologiesPageOnce(t *testing.T) {
	t.Parallel()
	for _, c := range topologies() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
}

func (c *topology) play(t *testing.T) {
	t.Helper()
	s := startStack(t, setting{
		fleet:      c.fleet,
		exporters:  c.exporters,
		values:     shippedValues(t, c.scrapes),
		prometheus: []string{"scrape_interval: 15s", "scrape_interval: " + c.scrapes.String()},
	})
	s.awaitReady(t, c.replicas, 4*time.Minute)
	// Wait until the rules have seen them serve.
	pause(t, 5*c.scrapes)
	require.Empty(t, s.hook.all(), "before the fault")
	start := time.Now()
	c.breaks(t, s)
	pages := func() []alert { return s.hook.received("firing", c.page, "severity", "critical") }
	if c.page != "" {
		within(t, c.within, c.page+" pages", func() bool { return len(pages()) > 0 })
		t.Logf("%s after %s", c.page, time.Since(start).Round(time.Second))
		pause(t, time.Minute)
	} else {
		pause(t, c.within)
	}
	for _, a := range s.hook.all() {
		t.Log(a)
		if a.Labels["severity"] == "critical" {
			require.Equal(t, c.page, a.Labels["alertname"], "a page: %s", a)
		}
	}
	require.LessOrEqual(t, len(pages()), 1, "one cause, one page")
}
