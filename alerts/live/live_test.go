//go:build e2e_live

package live

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// reaction is the longest time from a fault to its notification, with the intervals of this
// test.
const reaction = time.Minute

// fault is an event in the fleet, with the expected alert and receiver.
type fault struct {
	name, alert, receiver string
	labels                []string
	cause                 func(*simulate.Fleet)
}

// faults returns faults that happen at the same time, each in another pool.
func faults() []fault {
	return []fault{
		{
			"one of three replicas is down", "LLMPoolDegraded", "working-day",
			[]string{"pool_id", "lossy", "severity", "warning"},
			func(f *simulate.Fleet) { f.Replica("lossy", "lossy-2").Stop() },
		},
		{
			"the only replica of a pool is down", "LLMPoolDown", "on-call",
			[]string{"pool_id", "lone", "severity", "critical"},
			func(f *simulate.Fleet) { f.Replica("lone", "lone-0").Stop() },
		},
		{
			"an executor hangs", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "stuck", "replica_id", "stuck-0"},
			func(f *simulate.Fleet) { f.Replica("stuck", "stuck-0").Stall(true) },
		},
		{
			"an engine behind the LLM-API backend hangs", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "module-stuck", "replica_id", "module-stuck-0"},
			func(f *simulate.Fleet) { f.Replica("module-stuck", "module-stuck-0").Stall(true) },
		},
		{
			"more requests than the pool can serve", "LLMPoolSaturated", "working-day",
			[]string{"pool_id", "busy", "model_id", "qwen"},
			func(f *simulate.Fleet) {
				f.Replica("busy", "busy-0").SetRate(60)
				f.Replica("busy", "busy-1").SetRate(60)
			},
		},
		{"first tokens are late", "LLMSLOBurnFast", "on-call", []string{"pool_id", "busy", "slo", "ttft"}, nil},
		{
			"a rollout stops halfway", "LLMPoolSkew", "working-day",
			[]string{"pool_id", "mixed", "fact", "engine_version"},
			func(f *simulate.Fleet) { f.Replica("mixed", "mixed-1").Rollout(time.Second, "2.67.0", "1.2.0") },
		},
		{
			"a stub died", "LLMReplicaBroken", "on-call",
			[]string{"pool_id", "failing", "replica_id", "failing-0"},
			func(f *simulate.Fleet) { f.Replica("failing", "failing-0").FailRequests(true) },
		},
		{
			"streams that never end", "LLMCanaryFailing", "working-day",
			[]string{"pool_id", "hung", "replica_id", "hung-0"},
			func(f *simulate.Fleet) { f.Replica("hung", "hung-0").Stick(1 << 30) },
		},
	}
}

// faultsOf returns the faults in these pools.
func faultsOf(pools ...string) []fault {
	return slices.DeleteFunc(faults(), func(f fault) bool { return !slices.Contains(pools, f.labels[1]) })
}

func TestFaultsReachReceiver(t *testing.T) {
	t.Parallel()
	s := startStack(t, quick(t))
	s.awaitReady(t)
	// Wait until windows are filled.
	pause(t, 30*time.Second)
	calm := s.panels(t)
	require.Empty(t, s.hook.firing("LLMReplicaDown"))
	s.requireKinds(t)
	s.requireVocabulary(t)

	start := time.Now()
	for _, f := range faults() {
		if f.cause != nil {
			f.cause(s.fleet)
		}
	}
	for _, f := range faults() {
		within(
			t,
			reaction-time.Since(start),
			f.name+": "+f.alert,
			func() bool { return len(s.hook.firing(f.alert, f.labels...)) > 0 },
		)
		got := s.hook.firing(f.alert, f.labels...)[0]
		require.Equal(t, f.receiver, got.receiver, f.name)
		require.NotEmpty(t, got.Annotations["summary"])
		require.NotContains(t, got.Annotations["description"], "<no value>")
		require.Contains(t, got.Annotations["runbook_url"], "#"+strings.ToLower(f.alert))
		t.Logf("%-40s %-20s after %s", f.name, f.alert, got.receivedAt.Sub(start).Round(100*time.Millisecond))
	}
	s.requireInhibition(t)
	s.requireOthersSilent(t)
	s.requireHealthyRules(t)
	s.requireComplete(t, calm, s.panels(t))
	s.requireFiring(t, faultsOf("lossy", "lone", "stuck", "failing"), "a restart of the exporter", func() {
		s.process.exporters[0].end(t)
		pause(t, 3*time.Second)
		s.process.exporters[0].begin(t)
	})
	s.requireFiring(t, faultsOf("lossy", "lone", "stuck", "failing"), "a stopped Prometheus", func() {
		s.process.prometheus.signal(t, syscall.SIGSTOP)
		pause(t, 15*time.Second)
		s.process.prometheus.signal(t, syscall.SIGCONT)
	})
}

// requireFiring requires that alerts keep firing through an interruption: nobody is
// notified that they are resolved.
func (s *stack) requireFiring(t *testing.T, all []fault, interruption string, cause func()) {
	t.Helper()
	cause()
	pause(t, 50*time.Second)
	for _, f := range all {
		require.Empty(t, s.hook.received("resolved", f.alert, f.labels...), "%s resolved %s", interruption, f.alert)
		within(t, 10*time.Second, f.alert+" after "+interruption, func() bool {
			return len(s.query(t, `ALERTS{alertstate="firing",alertname="`+f.alert+`",pool_id="`+f.labels[1]+`"}`)) > 0
		})
		t.Logf("%-40s %-20s keeps firing", interruption, f.alert)
	}
}

// requireInhibition requires that symptoms fire and are inhibited.
func (s *stack) requireInhibition(t *testing.T) {
	t.Helper()
	type active struct {
		Labels map[string]string `json:"labels"`
		Status struct {
			State       string   `json:"state"`
			InhibitedBy []string `json:"inhibitedBy"`
		} `json:"status"`
	}
	for _, c := range []struct{ name, alert, pool string }{
		{"a degraded pool mutes its replicas", "LLMReplicaDown", "lossy"},
		{"a broken replica mutes the error budget", "LLMSLOBurnFast", "failing"},
	} {
		within(t, 30*time.Second, c.name, func() bool {
			var all []active
			fetchJSON(t, "http://"+s.alertmanager+"/api/v2/alerts", &all)
			return slices.ContainsFunc(all, func(a active) bool {
				return a.Labels["alertname"] == c.alert && a.Labels["pool_id"] == c.pool &&
					a.Status.State == "suppressed" &&
					len(a.Status.InhibitedBy) > 0
			})
		})
		require.Empty(t, s.hook.firing(c.alert, "pool_id", c.pool), c.name)
	}
}

// requireOthersSilent requires that no alert fires for pools without faults.
func (s *stack) requireOthersSilent(t *testing.T) {
	t.Helper()
	s.hook.mu.Lock()
	defer s.hook.mu.Unlock()
	for _, a := range s.hook.alerts {
		require.NotContains(
			t,
			a.Labels["pool_id"],
			"calm",
			"%s: %s",
			a.Labels["alertname"],
			a.Annotations["description"],
		)
		require.NotEqual(t, "info", a.Labels["severity"])
	}
}

// requireHealthyRules requires that Prometheus could evaluate every rule.
func (s *stack) requireHealthyRules(t *testing.T) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name   string `json:"name"`
					Health string `json:"health"`
					Error  string `json:"lastError"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"data"`
	}
	fetchJSON(t, "http://"+s.prometheus+"/api/v1/rules", &answer)
	count := 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			count++
			require.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.Error)
		}
	}
	require.Positive(t, count)
}
