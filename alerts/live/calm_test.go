//go:build e2e_live

package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// length returns how long to watch the fleet: LIVE_CALM, or 25 minutes by default.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("LIVE_CALM")
	if text == "" {
		return 25 * time.Minute
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "LIVE_CALM")
	return d
}

// TestHealthyFleetSendsNoAlerts runs the shipped rules and configuration unchanged: with a
// fleet of every kind of server, a rollout and a restart of the exporter, and with the
// demo.
func TestHealthyFleetSendsNoAlerts(t *testing.T) {
	t.Parallel()
	t.Run("every kind of server", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, setting{
			fleet:     healthyAndRolled(),
			exporters: []exporter{serving(healthyConfig(""))},
			values:    shippedValues(t, 0),
		})
		s.requireNoAlerts(t, length(t),
			event{0.3, "a rollout", func() { s.rollout(t) }},
			event{0.7, "a restart of the exporter", func() {
				s.process.exporters[0].end(t)
				s.process.exporters[0].begin(t)
			}})
	})
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		s := startStack(t, setting{
			exporters: []exporter{{command: []string{"demo", "--calm", "--mixed"}}},
			values:    shippedValues(t, 0),
		})
		s.requireNoAlerts(t, length(t))
	})
}

// rollout updates the replicas of a pool, each after the previous one serves again.
func (s *stack) rollout(t *testing.T) {
	t.Helper()
	for _, pool := range s.fleet.Pools() {
		for _, r := range pool.Replicas {
			if pool.Name == rolled {
				r.Rollout(5*time.Second, "2.65.0", "1.2.0")
				within(t, 2*time.Minute, r.Name()+" serves again", func() bool {
					return r.Truth().Phase == simulate.PhaseServing
				})
			}
		}
	}
}

// event happens after a share of the test's time.
type event struct {
	after float64
	name  string
	do    func()
}

// requireNoAlerts runs the events and requires that nothing has fired, and that all
// replicas are ready at the end.
func (s *stack) requireNoAlerts(t *testing.T, length time.Duration, events ...event) {
	t.Helper()
	start := time.Now()
	for _, e := range events {
		pause(t, time.Duration(e.after*float64(length))-time.Since(start))
		t.Logf("%s after %s", e.name, time.Since(start).Round(time.Second))
		e.do()
	}
	pause(t, length-time.Since(start))
	window := time.Since(start).Round(time.Second).String()
	seen := func(state string) []string {
		var all []string
		for _, a := range s.query(t, `count_over_time(ALERTS{alertstate="`+state+`"}[`+window+`])`) {
			all = append(all, fmt.Sprint(a.Metric["alertname"], " of ", a.Metric["pool_id"], " ", a.Metric["replica_id"]))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	t.Logf("%s; pending for a while: %s", window, strings.Join(seen("pending"), ", "))
	require.Empty(t, seen("firing"))
	require.Empty(t, s.hook.all())
	s.requireHealthyRules(t)
	require.Positive(t, s.one(t, `count(llm_server_state{state="ready"} == 1)`))
	require.Empty(t, s.query(t, `llm_server_state{state="ready"} == 0`))
}
