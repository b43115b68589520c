//go:build e2e_live

package live

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// page is a fault with the longest time until the webhook receives its alert.
type page struct {
	fault

	limit time.Duration
}

// pages returns the faults that page, one per pool.
func pages(t *testing.T) []page {
	t.Helper()
	limits := map[string]time.Duration{
		"lone":         90 * time.Second,
		"stuck":        100 * time.Second,
		"module-stuck": 100 * time.Second,
		"failing":      time.Minute,
	}
	var all []page
	for _, f := range faults() {
		if limit, timed := limits[f.labels[1]]; timed && f.cause != nil {
			all = append(all, page{f, limit})
		}
	}
	require.Len(t, all, len(limits), "a pool without a fault")
	unload := fault{
		"the LLM of a Triton is unloaded", "LLMReplicaBroken", "on-call",
		[]string{"pool_id", "mixed", "replica_id", "mixed-1"},
		func(f *simulate.Fleet) { f.Replica("mixed", "mixed-1").Unload("tensorrt_llm") },
	}
	return append(all, page{unload, 175 * time.Second})
}

// everyPool returns a configuration with the pools of the fleet only.
func everyPool(fleet *simulate.Fleet) string { return poolsConfig(fleet.Pools()...) }

// poolsConfig returns a configuration with these pools.
func poolsConfig(pools ...simulate.Pool) string {
	var b strings.Builder
	b.WriteString("pools:\n")
	for _, pool := range pools {
		fmt.Fprintf(&b, "  - pool_id: %s\n%s%s", pool.Name, questions(pool), targets(pool))
	}
	return b.String()
}

// TestPagesArriveInTime uses the shipped rules and Alertmanager configuration with scrapes
// every five seconds, and logs how long each page takes.
func TestPagesArriveInTime(t *testing.T) {
	t.Parallel()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	v["scrape_interval"] = "5s"
	s := startStack(t, setting{
		fleet: fleetSpec(), values: v, prometheus: []string{"scrape_interval: 15s", "scrape_interval: 5s"},
		exporters: []exporter{{[]string{"serve"}, everyPool}},
	})
	s.awaitReady(t)
	// Wait until the rules have seen them serve.
	pause(t, 20*time.Second)

	start := time.Now()
	all := pages(t)
	for _, p := range all {
		p.cause(s.fleet)
	}
	for _, p := range all {
		within(
			t,
			4*time.Minute,
			p.name+": "+p.alert,
			func() bool { return len(s.hook.firing(p.alert, p.labels...)) > 0 },
		)
		got := s.hook.firing(p.alert, p.labels...)[0]
		delay := got.receivedAt.Sub(start).Round(100 * time.Millisecond)
		t.Logf("%-45s %-20s after %s, at most %s", p.name, p.alert, delay, p.limit)
		require.Equal(t, p.receiver, got.receiver, p.name)
		require.LessOrEqual(t, delay, p.limit, p.name)
	}
	s.requireFiring(t, faultsOf("lone", "stuck", "module-stuck", "failing"), "a restart of the exporter", func() {
		s.process.exporters[0].end(t)
		pause(t, 5*time.Second)
		s.process.exporters[0].begin(t)
	})
	s.requireFiring(t, faultsOf("lone", "stuck", "module-stuck", "failing"), "a stopped Prometheus", func() {
		s.process.prometheus.signal(t, syscall.SIGSTOP)
		pause(t, 40*time.Second)
		s.process.prometheus.signal(t, syscall.SIGCONT)
	})
	s.requireOthersSilent(t)
}
