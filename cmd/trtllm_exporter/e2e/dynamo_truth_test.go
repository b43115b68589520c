//go:build e2e_dynamo && linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The number of requests to two workers at once is more than both accept.
const (
	bothRun, bothWait = 2 * dynamoSlots, 8
	bothTokens        = 250
	leave             = 4
)

// both adds a second worker for a while: quantities come from one tier and are sums.
func (s *scene) both(t *testing.T) {
	t.Helper()
	second := s.deployment.start(s.whole, "worker", secondWorkerPort)
	s.becomes(t, "w1", "ready")
	s.spread(t)
	before := s.exporter.page(t)
	load := startStreams(t, bothRun+bothWait, bothTokens)
	var full page
	within(t, 15*time.Second, "the load is seen", func() bool {
		full = s.exporter.page(t)
		return full.sum("llm_server_requests_running", "tier", "worker") == bothRun &&
			full.sum("llm_server_queue_depth", "tier", "worker") == bothWait
	})
	require.Empty(
		t,
		full.named("llm_server_queue_depth", "replica_id", "f0"),
		"without the KV router it knows no places",
	)
	load.requireWords(t, (bothRun+bothWait)*bothTokens)
	firstTokens := func(p page) float64 { return p.sum("llm_server_time_to_first_token_seconds_count", "tier", "frontend") }
	leaving := startStreams(t, leave, 8*bothTokens)
	s.runs(t, leave)
	within(t, 10*time.Second, "those that leave have their first tokens", func() bool {
		return firstTokens(s.exporter.page(t))-firstTokens(before) == bothRun+bothWait+leave
	})
	leaving.leave()
	ended := func(p page, class string) float64 {
		return p.sum("llm_server_requests_total", "tier", "frontend", "class", class)
	}
	var after page
	within(t, 10*time.Second, "all that ended is counted", func() bool {
		after = s.exporter.page(t)
		return ended(after, "ok")-ended(before, "ok") == bothRun+bothWait &&
			ended(after, "canceled")-ended(before, "canceled") == leave
	})
	grown := func(name string) float64 {
		return after.sum(name, "tier", "frontend") - before.sum(name, "tier", "frontend")
	}
	require.Zero(t, ended(after, "server")-ended(before, "server"))
	// Tokens of abandoned streams count until the disconnect.
	require.GreaterOrEqual(t, grown("llm_server_generation_tokens_total"), float64((bothRun+bothWait)*bothTokens))
	require.Equal(t, float64(bothRun+bothWait+leave), grown("llm_server_time_to_first_token_seconds_count"))
	second.kill(t)
	require.Contains(t, s.becomes(t, "w1", "down"), "nothing listens any more")
	warm(t)
}

// spread waits until the frontend sends requests to both workers.
func (s *scene) spread(t *testing.T) {
	t.Helper()
	within(t, 30*time.Second, "both workers get requests", func() bool {
		open := startStreams(t, 4, 8*bothTokens) // They run until both pages were read.
		defer open.leave()
		pause(t.Context(), 2*dynamoInterval)
		p := s.exporter.page(t)
		return p.sum("llm_server_requests_running", "replica_id", "w0") > 0 &&
			p.sum("llm_server_requests_running", "replica_id", "w1") > 0
	})
	s.runs(t, 0)
	pause(t.Context(), 2*dynamoInterval) // Until the frontend has counted them.
}
