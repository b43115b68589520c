//go:build e2e_triton && linux

package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDoctorNamesMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], false, nil)
	s.start(t)
	found := doctor(t, s.tritonServer)
	require.Contains(t, found.stdout, "metric set C")
	require.Contains(t, found.stdout, "deploy/triton/llmapi")
}

func TestModelVersionsAreCountedSeparately(t *testing.T) {
	for _, decoupled := range []string{"true", "false"} {
		t.Run("decoupled: "+decoupled, func(t *testing.T) {
			s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40", "decoupled": decoupled})
			s.addVersion(t)
			if decoupled == "false" {
				config := s.repository + "/tensorrt_llm/config.pbtxt"
				edit(t, config, map[string]string{"decoupled: True": "decoupled: False"})
			}
			s.start(t)
			const requests = "llm_server_requests_total"
			l := watchTriton(t, s.tritonServer, time.Second, "window: 10s")
			l.plays(
				step{
					name: "requests of each version are counted, none twice",
					does: acts{func(l *life) {
						require.Zero(l.t, s.sendVersion(l.t, "1", 10), "failed requests")
						require.Zero(l.t, s.sendVersion(l.t, "2", 30), "failed requests")
					}},
					then: acts{shows(
						has(10, requests, "class", "ok", "version", "1", "model", "tensorrt_llm"),
						has(30, requests, "class", "ok", "version", "2", "model", "tensorrt_llm"),
						has(40, requests),
						has(40, "llm_server_request_duration_seconds_count"),
						above(0.1, "llm_server_request_duration_average_seconds"), // Its own times are milliseconds.
					)},
				},
				step{
					name: "a server is failing if all requests to the newest one fail",
					does: acts{func(l *life) {
						s.killStubs(l.t, 2)
						require.Equal(l.t, 25, s.sendVersion(l.t, "2", 25), "requests that failed")
					}},
					says: is("failing", avoid, ""),
					then: acts{shows(
						has(25, requests, "class", "server", "version", "2", "model", "tensorrt_llm"),
						has(25, "llm_server_requests_failed_total", "class", "server"),
						has(25, "llm_server_requests_failed_total", "reason", "backend", "version", "2"),
						has(65, requests),
						lacks("llm_server_requests_running"), // Nothing is made of gauges that are frozen.
					)},
				},
			)
		})
	}
}

// sendVersion sends n questions to a version of the model, and returns how many failed.
func (s *llmapiServer) sendVersion(t *testing.T, version string, n int) (failed int) {
	t.Helper()
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(5, 5, false)
		questions[i].version = version
	}
	for _, seen := range s.sendAll(t, questions...) {
		if seen.status != http.StatusOK {
			failed++
		}
	}
	return failed
}
