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

// dynamoPatience is how long a lost worker may stay in the frontend's list: its
// lease lasts some ten seconds.
const dynamoPatience = 30 * time.Second

// dynamoInterval is how often its parts are scraped.
const dynamoInterval = time.Second

// scene is an exporter in front of a Dynamo.
type scene struct {
	deployment *deployment
	exporter   *exporter

	// whole is the test that the processes live as long as.
	whole            *testing.T
	frontend, worker *process
	// ready are the readiness probes by replica.
	ready map[string]*probed
}

// TestExporterInFrontOfDynamo plays the life of a deployment, each step on top
// of the one before.
func TestExporterInFrontOfDynamo(t *testing.T) {
	s := &scene{deployment: newDeployment(t), whole: t}
	s.frontend = s.deployment.start(t, "frontend", frontendPort)
	s.exporter = startConfigured(t, exporterBinary(t), fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }
pools:
  - { pool_id: frontends, identity_interval: 2s, static_configs: [{ targets: ["127.0.0.1:%[2]d"], labels: { replica_id: f0 } }] }
  - { pool_id: workers, identity_interval: 2s, static_configs: [{ targets: ["127.0.0.1:%[3]d"], labels: { replica_id: w0 } }, { targets: ["127.0.0.1:%[4]d"], labels: { replica_id: w1 } }] }
`, dynamoInterval, frontendPort, workerPort, secondWorkerPort))
	s.ready = map[string]*probed{
		"f0": startProbe(t, s.exporter, "/-/replicas/frontends/f0/ready"), "w0": startProbe(t, s.exporter, "/-/replicas/workers/w0/ready"),
		"w1": startProbe(t, s.exporter, "/-/replicas/workers/w1/ready"),
	}
	play(t, []step{
		{"an empty frontend is not ready though it says healthy", s.empty},
		{"a worker that says notready while it serves is ready", s.serves},
		{"tokens are what the client counted", s.tokens},
		{"what waits and what runs is seen under load", s.load},
		{"two workers and their frontend add up", s.both},
		{"a killed worker is down and its frontend not ready", s.killed},
		{"a worker that comes back is ready", s.back},
		{"a frozen worker is down and its frontend not ready", s.frozen},
		{"a killed frontend is down", s.gone},
	})
}

// becomes waits until a replica is in a state, and gives the reason for it.
func (s *scene) becomes(t *testing.T, replica, state string) string {
	t.Helper()
	began := time.Now()
	within(t, dynamoPatience, replica+" is "+state, func() bool {
		found := s.exporter.page(t).named("llm_server_state", "replica_id", replica, "state", state)
		return len(found) == 1 && found[0].value == 1
	})
	s.ready[replica].turns(t, probeOf(state), replica+" is "+state, began)
	for _, target := range s.exporter.reports(t) {
		if target.Replica == replica {
			return target.Reason
		}
	}
	require.FailNow(t, "no such target", replica)
	return ""
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
	require.NotEmpty(t, p.named("dynamo_component_uptime_seconds", "engine", "dynamo", "pool_id", "frontends", "replica_id", "f0"))
}

func (s *scene) serves(t *testing.T) {
	t.Helper()
	s.worker = s.deployment.start(s.whole, "worker", workerPort)
	status, _, err := get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/health", workerPort))
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, "it says that it is not ready")
	require.Contains(t, s.becomes(t, "w0", "ready"), "generate is ready")
	s.becomes(t, "f0", "ready")
	require.Equal(t, 1.0, s.exporter.page(t).only(t, "llm_server_ready", "replica_id", "w0"))
}

// warm waits until a request passes: the way to a new worker takes a moment.
func warm(t *testing.T) {
	t.Helper()
	within(t, 20*time.Second, "a request passes", func() bool {
		words, err := complete(t.Context(), 1)
		return err == nil && words == 1
	})
}

// counts returns what the frontend has counted of its requests, in the order of
// counters.
func (s *scene) counts(t *testing.T, identity []string) (values []float64, ok bool) {
	t.Helper()
	p := s.exporter.page(t)
	for _, name := range counters() {
		found := p.named(name, identity...)
		if len(found) != 1 {
			return nil, false
		}
		values = append(values, found[0].value)
	}
	return values, true
}

// counters grow with each request that ends well.
func counters() []string {
	return []string{
		"llm_server_generation_tokens_total", "llm_server_prompt_tokens_total",
		"llm_server_time_to_first_token_seconds_count", "llm_server_request_generation_tokens_count",
	}
}

func (s *scene) tokens(t *testing.T) {
	t.Helper()
	const requests, words, tokens = 5, 3, 40
	identity := []string{"engine", "dynamo", "pool_id", "frontends", "replica_id", "f0", "model_id", dynamoModel}
	warm(t)
	var before []float64
	within(t, 10*time.Second, "the first request is counted", func() (ok bool) {
		pause(t.Context(), 2*dynamoInterval)
		before, ok = s.counts(t, identity)
		return ok
	})
	require.Equal(t, requests*tokens, startStreams(t, requests, tokens).wait(t))
	want := []float64{requests * tokens, requests * words, requests, requests}
	for i := range want {
		want[i] += before[i]
	}
	var after []float64
	within(t, 10*time.Second, "the tokens are counted", func() (ok bool) {
		after, ok = s.counts(t, identity)
		return ok && after[0] >= want[0]
	})
	require.Equal(t, want, after, "%v", counters())
	for _, series := range s.exporter.page(t).named("llm_server_state") {
		if series.labels.Get("replica_id") == "w1" {
			continue // It was never there.
		}
		require.Equal(t, "dynamo", series.labels.Get("engine"), series.labels)
	}
}

func (s *scene) load(t *testing.T) {
	t.Helper()
	warm(t)
	const waiting = 8
	load := startStreams(t, dynamoSlots+waiting, 250)
	within(t, 10*time.Second, "the load is seen", func() bool {
		p := s.exporter.page(t)
		queue := p.named("llm_server_queue_depth", "replica_id", "w0")
		running := p.named("llm_server_requests_running", "replica_id", "w0")
		return len(queue) == 1 && queue[0].value == waiting && len(running) == 1 && running[0].value == dynamoSlots
	})
	p := s.exporter.page(t)
	require.Empty(t, p.named("llm_server_queue_depth", "replica_id", "f0"), "without the KV router it knows no places")
	for replica, tier := range map[string]string{"f0": "frontend", "w0": "worker"} {
		require.NotEmpty(t, p.named("llm_server_state", "replica_id", replica, "tier", tier), "one quantity is of one tier")
	}
	require.Equal(t, (dynamoSlots+waiting)*250, load.wait(t))
	within(t, 10*time.Second, "all of them ended well", func() bool {
		p := s.exporter.page(t)
		ok := p.named("llm_server_requests_total", "replica_id", "f0", "class", "ok", "model_id", dynamoModel)
		bad := p.named("llm_server_request_error_ratio", "replica_id", "f0", "class", "server", "model_id", dynamoModel)
		return len(ok) == 1 && ok[0].value >= dynamoSlots+waiting && len(bad) == 1 && bad[0].value == 0
	})
}

func (s *scene) killed(t *testing.T) {
	t.Helper()
	s.worker.kill(t)
	require.Contains(t, s.becomes(t, "w0", "down"), "nothing listens any more")
	s.becomes(t, "f0", "not_ready")
	requireHealthy(t)
	require.Equal(t, 0.0, s.exporter.page(t).only(t, "trtllm_exporter_target_up", "replica_id", "w0"))
}

func (s *scene) back(t *testing.T) {
	t.Helper()
	s.worker = s.deployment.start(s.whole, "worker", workerPort)
	s.becomes(t, "w0", "ready")
	s.becomes(t, "f0", "ready")
}

func (s *scene) frozen(t *testing.T) {
	t.Helper()
	warm(t)
	open := startStreams(t, 2, 2000)
	within(t, 10*time.Second, "the streams run", func() bool {
		found := s.exporter.page(t).named("llm_server_requests_running", "replica_id", "w0")
		return len(found) == 1 && found[0].value == 2
	})
	s.worker.signal(t, syscall.SIGSTOP)
	require.Contains(t, s.becomes(t, "w0", "down"), "timeout")
	s.becomes(t, "f0", "not_ready")
	requireHealthy(t)
	require.Empty(t, s.exporter.page(t).named("llm_server_requests_running", "replica_id", "w0"), "nothing old is shown as new")
	open.stop()
	open.under.Wait()
}

func (s *scene) gone(t *testing.T) {
	t.Helper()
	s.frontend.kill(t)
	require.Contains(t, s.becomes(t, "f0", "down"), "nothing listens any more")
}
