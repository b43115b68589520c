//go:build e2e_dynamo && linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDynamoPool has a pool with a frontend with the KV router and two workers: each quantity
// counts once.
func TestDynamoPool(t *testing.T) {
	s := &scene{deployment: newDeployment(t), whole: t}
	s.frontend = s.deployment.start(t, "frontend", frontendPort, "--router-mode", "kv")
	s.worker = s.deployment.start(t, "worker", workerPort)
	second := s.deployment.start(t, "worker", secondWorkerPort)
	s.exporter = startConfigured(t, fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }
pools:
  - { pool_id: p, identity_interval: 2s, static_configs: [
      { targets: ["127.0.0.1:%[2]d"], labels: { replica_id: f0 } },
      { targets: ["127.0.0.1:%[3]d"], labels: { replica_id: w0 } },
      { targets: ["127.0.0.1:%[4]d"], labels: { replica_id: w1 } } ] }
`, dynamoInterval, frontendPort, workerPort, secondWorkerPort))
	s.ready = map[string]*probed{"f0": startProbe(t, s.exporter, "/-/replicas/p/f0/ready")}
	s.becomes(t, "f0", "ready")
	warm(t)
	s.spread(t)
	play(t, []step{
		{"what waits is counted once", s.waitsOnce},
		{"client errors match the client's count", s.mistakes},
		{"failures without workers match the client's count", func(t *testing.T) { t.Helper(); s.workless(t, second) }},
		{"a stopping frontend drains", s.ends},
	})
}

func (s *scene) waitsOnce(t *testing.T) {
	t.Helper()
	load := startStreams(t, bothRun+bothWait, 2*bothTokens)
	var full page
	within(t, 15*time.Second, "the load is seen", func() bool {
		full = s.exporter.page(t)
		return full.sum("llm_server_requests_running", "tier", "worker") == bothRun &&
			full.sum("llm_server_queue_depth", "tier", "frontend") == bothWait
	})
	var fleet struct {
		Pools []struct {
			Waiting *float64 `json:"waiting"`
		} `json:"pools"`
	}
	within(t, 5*time.Second, "the page of the fleet adds one tier up", func() bool {
		require.NoError(t, json.Unmarshal(s.exporter.body(t, "/?format=json"), &fleet))
		return fleet.Pools[0].Waiting != nil && *fleet.Pools[0].Waiting == bothWait
	})
	require.Empty(
		t,
		full.named("llm_server_kv_cache_utilization_ratio", "replica_id", "f0"),
		"its router knows blocks of prompts only",
	)
	require.Positive(t, full.sum("llm_server_kv_cache_utilization_ratio", "tier", "worker"))
	require.NotEmpty(t, full.named("llm_server_inter_token_latency_seconds_count", "replica_id", "w0"))
	load.requireWords(t, (bothRun+bothWait)*2*bothTokens)
}

func post(t *testing.T, path, kind, body string) int {
	t.Helper()
	response, err := send(t.Context(), http.MethodPost, dynamoURL(frontendPort, path), kind, body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// ended returns the number of ended requests of a class, according to the frontend.
func (s *scene) ended(t *testing.T, class string) float64 {
	t.Helper()
	return s.exporter.page(t).sum("llm_server_requests_total", "tier", "frontend", "class", class)
}

func (s *scene) mistakes(t *testing.T) {
	t.Helper()
	const asJSON, chat = "application/json", "/v1/chat/completions"
	before, server := s.ended(t, "client"), s.ended(t, "server")
	for _, body := range []string{
		`{`, ``, `{"model":"tiny-llama"}`, `{"model":"tiny-llama","messages":[]}`,
		`{"model":"tiny-llama","messages":[{"role":"user","content":"w1"}],"max_tokens":0}`,
	} {
		require.Equal(t, http.StatusBadRequest, post(t, chat, asJSON, body), body)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, post(t, chat, "text/plain", `{}`))
	for range 2 {
		require.Equal(
			t,
			http.StatusNotFound,
			post(t, chat, asJSON, `{"model":"other","messages":[{"role":"user","content":"w1"}]}`),
		)
	}
	require.Equal(t, http.StatusNotFound, post(t, "/v1/nowhere", asJSON, `{}`), "it is not a request to a model")
	within(
		t,
		10*dynamoInterval,
		"the client's mistakes are counted",
		func() bool { return s.ended(t, "client")-before == 5+1+2 },
	)
	pause(t.Context(), 3*dynamoInterval)
	require.Equal(t, 5.0+1+2, s.ended(t, "client")-before, "each once")
	require.Zero(t, s.ended(t, "server")-server)
}

// states returns the states of a replica in order, without repetitions.
func (s *scene) states(t *testing.T, replica string) (stop func() []string) {
	t.Helper()
	var seen []string
	end := repeat(t, 100*time.Millisecond, func(context.Context) {
		for _, series := range s.exporter.page(t).named("llm_server_state", "replica_id", replica) { //nolint:contextcheck // It is read until the test ends.
			if now := series.labels.Get("state"); series.value == 1 && (len(seen) == 0 || seen[len(seen)-1] != now) {
				seen = append(seen, now)
			}
		}
	})
	return func() []string { end(); return seen }
}

func (s *scene) workless(t *testing.T, second *process) {
	t.Helper()
	before, stop := s.ended(t, "server"), s.states(t, "f0")
	open := startStreams(t, 4, 2000)
	s.runs(t, 4)
	s.worker.kill(t)
	second.kill(t)
	open.wait()
	failed := len(open.errs)
	for range 24 {
		switch status := post(t, "/v1/completions", "application/json", `{"model":"tiny-llama","prompt":"w1","max_tokens":2}`); status {
		case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError:
			failed++
		default:
			require.Equal(t, http.StatusNotFound, status, "the model is withdrawn, which nobody counts")
		}
		pause(t.Context(), dynamoInterval/2)
	}
	within(
		t,
		10*dynamoInterval,
		"what failed is counted",
		func() bool { return s.ended(t, "server")-before == float64(failed) },
	)
	states := stop()
	t.Log("states of a frontend without workers:", states)
	for _, series := range s.exporter.page(t).named("llm_server_requests_migrated_total") {
		require.Equal(t, "failure", series.labels.Get("outcome"), "no migration is allowed")
	}
	// The frontend lists the model of dead workers again for a second out of five, until their leases end.
	failing := slices.Index(states, "failing")
	require.GreaterOrEqual(t, failing, 0, states)
	require.Len(t, states, failing+1, "%v: it is one trouble", states)
	require.Subset(t, []string{"ready", "not_ready"}, states[:failing], states)
}

func (s *scene) ends(t *testing.T) {
	t.Helper()
	s.worker = s.deployment.start(s.whole, "worker", workerPort)
	warm(t) // Earlier failures count until a request succeeds.
	s.becomes(t, "f0", "ready")
	startStreams(t, 1, 3000)
	s.runs(t, 1)
	stop := s.states(t, "f0")
	s.frontend.signal(t, syscall.SIGTERM)
	s.becomes(t, "f0", "draining")
	s.becomes(t, "f0", "down")
	require.Equal(t, []string{"ready", "draining"}, stop()[:2], "no other state in between")
}
