//go:build e2e_dynamo && linux

package e2e

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// dynamoPatience is how long the frontend may list a lost worker, whose lease lasts ten
	// seconds.
	dynamoPatience = 30 * time.Second
	dynamoInterval = time.Second
)

type scene struct {
	deployment *deployment
	exporter   *exporter

	// whole ends the processes when it ends.
	whole            *testing.T
	frontend, worker *process
	// ready holds the readiness probes by replica.
	ready map[string]*probed
}

func TestDynamo(t *testing.T) {
	s := &scene{deployment: newDeployment(t), whole: t}
	s.frontend = s.deployment.start(t, "frontend", frontendPort)
	s.exporter = startConfigured(t, fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }
pools:
  - { pool_id: frontends, identity_interval: 2s, static_configs: [{ targets: ["127.0.0.1:%[2]d"], labels: { replica_id: f0 } }] }
  - { pool_id: workers, identity_interval: 2s, static_configs: [{ targets: ["127.0.0.1:%[3]d"], labels: { replica_id: w0 } }, { targets: ["127.0.0.1:%[4]d"], labels: { replica_id: w1 } }] }
`, dynamoInterval, frontendPort, workerPort, secondWorkerPort))
	s.ready = map[string]*probed{
		"f0": startProbe(
			t,
			s.exporter,
			"/-/replicas/frontends/f0/ready",
		), "w0": startProbe(t, s.exporter, "/-/replicas/workers/w0/ready"),
		"w1": startProbe(t, s.exporter, "/-/replicas/workers/w1/ready"),
	}
	live := startProbe(t, s.exporter, "/-/replicas/frontends/f0/live")
	play(t, []step{
		{"an empty frontend that reports healthy is not ready", s.empty},
		{"a serving worker that reports notready is ready", s.serves},
		{"tokens equal those of the client", s.tokens},
		{"a frontend's canary succeeds", canaried},
		{"two workers and their frontend add up", s.both},
		{"a killed worker is down and its frontend not ready until the next one", s.killed},
		{"a frozen worker is down and its frontend not ready", s.frozen},
		{"a killed frontend is down", s.gone},
	})
	live.never(t, http.StatusServiceUnavailable) // Nobody restarts a frontend for its workers.
}

func (s *scene) becomes(t *testing.T, replica, state string) string {
	t.Helper()
	began := time.Now()
	r := s.exporter.inState(t, replica, state, dynamoPatience)
	s.ready[replica].waitFor(t, probeOf(state), replica+" is "+state, began)
	return r.Reason
}

func (s *scene) runs(t *testing.T, n float64) {
	t.Helper()
	within(t, 20*time.Second, "the streams run", func() bool {
		return s.exporter.page(t).sum("llm_server_requests_running", "tier", "worker") == n
	})
}

func (s *scene) empty(t *testing.T) {
	t.Helper()
	requireHealthy(t)
	require.Contains(t, s.becomes(t, "f0", "not_ready"), "no worker")
	require.Contains(t, s.becomes(t, "w0", "unknown"), "nothing listens, and this exporter has never seen it up")
	p := s.exporter.page(t)
	require.Equal(t, 1.0, p.only(t, "trtllm_exporter_target_up", "replica_id", "f0"))
	require.Equal(t, 0.0, p.only(t, "llm_server_ready", "replica_id", "f0"))
	require.Equal(t, 1.0, p.only(t, "llm_server_live", "replica_id", "f0"))
	require.NotEmpty(
		t,
		p.named("dynamo_component_uptime_seconds", "engine", "dynamo", "pool_id", "frontends", "replica_id", "f0"),
	)
}

func (s *scene) serves(t *testing.T) {
	t.Helper()
	s.worker = s.deployment.start(s.whole, "worker", workerPort)
	status, _, err := get(t.Context(), dynamoURL(workerPort, "/health"))
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, "it says that it is not ready")
	require.Contains(t, s.becomes(t, "w0", "ready"), "generate is ready")
	s.becomes(t, "f0", "ready")
	require.Equal(t, 1.0, s.exporter.page(t).only(t, "llm_server_ready", "replica_id", "w0"))
}

// warm waits until requests succeed: the frontend notices new and lost workers with a delay.
func warm(t *testing.T) {
	t.Helper()
	within(t, dynamoPatience, "requests pass", func() bool {
		for range 4 {
			if words, err := complete(t.Context(), 1); err != nil || words != 1 {
				return false
			}
		}
		return true
	})
}

func (s *scene) tokens(t *testing.T) {
	t.Helper()
	const requests, words, tokens = 5, 3, 40
	identity := []string{"engine", "dynamo", "pool_id", "frontends", "replica_id", "f0", "model_id", dynamoModel}
	warm(t)
	pause(t.Context(), 3*dynamoInterval) // Until those requests are counted.
	before := s.exporter.page(t)
	startStreams(t, requests, tokens).requireWords(t, requests*tokens)
	within(t, 10*time.Second, "the tokens are counted", func() bool {
		p := s.exporter.page(t)
		for name, want := range map[string]float64{
			"llm_server_generation_tokens_total":           requests * tokens,
			"llm_server_prompt_tokens_total":               requests * words,
			"llm_server_time_to_first_token_seconds_count": requests,
			"llm_server_request_generation_tokens_count":   requests,
		} {
			if p.sum(name, identity...)-before.sum(name, identity...) != want {
				return false
			}
		}
		return true
	})
	for _, series := range s.exporter.page(t).named("llm_server_state") {
		if series.labels.Get("replica_id") == "w1" {
			continue // It has never been there.
		}
		require.Equal(t, "dynamo", series.labels.Get("engine"), series.labels)
	}
}

func (s *scene) killed(t *testing.T) {
	t.Helper()
	s.worker.kill(t)
	require.Contains(t, s.becomes(t, "w0", "down"), "nothing listens any more")
	s.becomes(t, "f0", "not_ready")
	requireHealthy(t)
	require.Equal(t, 0.0, s.exporter.page(t).only(t, "trtllm_exporter_target_up", "replica_id", "w0"))
	s.worker = s.deployment.start(s.whole, "worker", workerPort)
	s.becomes(t, "w0", "ready")
	s.becomes(t, "f0", "ready")
}

func (s *scene) frozen(t *testing.T) {
	t.Helper()
	warm(t)
	open := startStreams(t, 2, 2000)
	s.runs(t, 2)
	s.worker.signal(t, syscall.SIGSTOP)
	require.Contains(t, s.becomes(t, "w0", "down"), "timeout")
	s.becomes(t, "f0", "not_ready")
	requireHealthy(t)
	require.Empty(
		t,
		s.exporter.page(t).named("llm_server_requests_running", "replica_id", "w0"),
		"nothing old is shown as new",
	)
	open.leave()
}

func (s *scene) gone(t *testing.T) {
	t.Helper()
	s.frontend.kill(t)
	require.Contains(t, s.becomes(t, "f0", "down"), "nothing listens any more")
}
