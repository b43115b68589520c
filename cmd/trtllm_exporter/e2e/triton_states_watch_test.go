//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// questionInterval is the time within which every state has to be detected. Health is asked for
	// once a scrape interval, everything else once in this time.
	questionInterval = 2 * time.Second
	// slack is what a busy machine may add.
	slack = 2 * time.Second
	// longest is the longest wait for the end of a state.
	longest = 20 * time.Second
)

// watched is an exporter in front of one Triton, with all that its page showed.
type watched struct {
	*exporter

	// ready is its readiness by the verdict.
	ready *probed
	// requests are the values of llm_server_requests_total of the ensemble that were seen.
	requests []float64
}

func watchStates(t *testing.T, s *tritonServer) *watched {
	t.Helper()
	e := startPool(t, fmt.Sprintf("scrape_interval: %[1]s, scrape_timeout: %[1]s", scrapeInterval), s.metricsAddress(), "identity_interval: "+questionInterval.String())
	return &watched{exporter: e, ready: startProbe(t, e, "/-/replica/ready")}
}

// see reads a page, wants it sane and notes what has to add up.
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

// turns waits until page and /targets show a state, and requires that it was judged within one interval
// of the questions after it began, by the exporter's own time of the verdict.
func (w *watched) turns(t *testing.T, state string, began time.Time) replicaReport {
	t.Helper()
	var r replicaReport
	within(t, longest, "state "+state, func() bool {
		p := w.see(t)
		r = w.report(t)
		return r.State == state && p.is(1, "llm_server_state", "state", state)
	})
	require.Len(t, w.shown(t), 1, "one state holds")
	require.LessOrEqual(t, r.Since.Sub(began), questionInterval+slack, "from the moment it was so to the state %s", state)
	w.ready.turns(t, probeOf(state), state, began)
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

// models waits until the page shows these states of models, at most one interval after they began.
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

// increase returns what Prometheus makes of the values of a counter.
func increase(values []float64) (total float64) {
	for i := 1; i < len(values); i++ {
		total += values[i]
		if values[i] >= values[i-1] { // A counter that falls has begun again from 0.
			total -= values[i-1]
		}
	}
	return total
}
