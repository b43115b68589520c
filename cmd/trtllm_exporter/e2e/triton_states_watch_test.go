//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// questionInterval is the time within which every state must be detected. Health is requested
	// once per scrape interval, everything else once in this time.
	questionInterval = 2 * time.Second
	// slack is the delay that a busy machine may add.
	slack = 2 * time.Second
	// longest is the longest wait for a state.
	longest = 20 * time.Second
)

// watched is an exporter with one Triton, and everything that its page showed.
type watched struct {
	*exporter

	// ready is the readiness probe.
	ready *probed
	// requests holds the observed values of llm_server_requests_total of the ensemble.
	requests []float64
}

func watchStates(t *testing.T, s *tritonServer) *watched {
	t.Helper()
	// A model whose process died answers one request a second.
	e := startPool(t, fmt.Sprintf("scrape_interval: %[1]s, scrape_timeout: %[1]s, "+
		"failing_min: 3", scrapeInterval), s.metricsAddress(), "identity_interval: "+questionInterval.String())
	return &watched{exporter: e, ready: startProbe(t, e, "/-/replica/ready")}
}

// see reads and checks a page, and records counters.
func (w *watched) see(t *testing.T) page {
	t.Helper()
	p := w.page(t)
	requireSaneRates(t, p)
	require.Zero(t, p.only(t, "trtllm_exporter_target_restarts_total"), "the server never restarted")
	for _, s := range p.named("llm_server_requests_total", "model", "ensemble", "class", "ok") {
		w.requests = append(w.requests, s.value)
	}
	return p
}

// waitFor waits until page and /targets show a state, and requires that the verdict is from within
// an interval of the requests after it began, by the exporter's clock.
func (w *watched) waitFor(t *testing.T, state string, began time.Time) replicaReport {
	t.Helper()
	var r replicaReport
	within(t, longest, "state "+state, func() bool {
		p := w.see(t)
		r = w.report(t)
		return r.State == state && p.is(1, "llm_server_state", "state", state)
	})
	require.Len(t, w.shown(t), 1, "one state holds")
	require.LessOrEqual(
		t,
		r.Since.Sub(began),
		questionInterval+slack,
		"from the moment it was so to the state %s",
		state,
	)
	w.ready.waitFor(t, probeOf(state), state, began)
	t.Logf("%s after %s: %s", state, r.Since.Sub(began).Round(time.Millisecond), r.Reason)
	return r
}

func (w *watched) shown(t *testing.T) []string {
	t.Helper()
	var states []string
	for _, s := range w.page(t).named("llm_server_state") {
		if s.value == 1 {
			states = append(states, s.labels.Get("state"))
		}
	}
	return states
}

// models waits until the page shows these states of models, at most an interval after they began.
func (w *watched) models(t *testing.T, began time.Time, want map[string]string) page {
	t.Helper()
	var p page
	within(t, time.Until(began)+questionInterval+slack, fmt.Sprint("models ", want), func() bool {
		p = w.see(t)
		for name, state := range want {
			if !p.is(1, "llm_server_model_state", "model", name, "state", state) {
				return false
			}
		}
		return true
	})
	for name, state := range want {
		for _, s := range p.named("llm_server_model_state", "model", name) {
			require.Equal(t, s.labels.Get("state") == state, s.value == 1, "one state of %s holds", name)
		}
		ready := map[bool]float64{true: 1}[state == "ready"]
		require.Equal(t, ready, p.only(t, "llm_server_model_ready", "model", name), name)
	}
	return p
}

// increase returns the increase of a counter like Prometheus.
func increase(values []float64) (total float64) {
	for i := 1; i < len(values); i++ {
		total += values[i]
		if values[i] >= values[i-1] { // A counter that decreases started from 0.
			total -= values[i-1]
		}
	}
	return total
}
