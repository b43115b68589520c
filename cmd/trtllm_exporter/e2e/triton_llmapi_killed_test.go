//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVersionsOfAModelAndWhatItWasNeverGiven holds what the exporter counts of two
// versions of an LLM-API model with the metrics module to what clients sent to each,
// and, once their processes are killed, to the failures that clients got.
func TestVersionsOfAModelAndWhatItWasNeverGiven(t *testing.T) {
	for _, decoupled := range []string{"true", "false"} {
		t.Run("decoupled: "+decoupled, func(t *testing.T) {
			s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40", "decoupled": decoupled})
			s.addVersion(t)
			if decoupled == "false" {
				edit(t, s.repository+"/tensorrt_llm/config.pbtxt", map[string]string{"decoupled: True": "decoupled: False"})
			}
			s.start(t)
			e := startConfigured(t, exporterBinary(t), fmt.Sprintf(`
global: { scrape_interval: 1s, scrape_timeout: 1s, window: 10s }
pools:
  - pool_id: real
    identity_interval: 2s
    static_configs: [ { targets: [%q], labels: { replica_id: r0 } } ]
`, s.metricsAddress()))
			counts := func(class, version string, want float64) func() bool {
				return func() bool {
					return e.page(t).sum("llm_server_requests_total", "class", class, "version", version, "model", "tensorrt_llm") == want
				}
			}
			s.sendVersion(t, "1", 10)
			s.sendVersion(t, "2", 30)
			within(t, 10*time.Second, "the first version has 10", counts("ok", "1", 10))
			within(t, 10*time.Second, "the second version has 30", counts("ok", "2", 30))
			p := e.page(t)
			require.Equal(t, 40.0, p.sum("llm_server_requests_total"), "none is counted twice")
			require.Equal(t, 40.0, p.only(t, "llm_server_request_duration_seconds_count"))
			require.Greater(t, p.only(t, "llm_server_request_duration_average_seconds"), 0.1, "the server's own times say milliseconds")

			s.killStubs(t, 2)
			require.Equal(t, 25, s.sendVersion(t, "2", 25), "clients are answered that the process is not there")
			within(t, 10*time.Second, "all 25 failed", counts("server", "2", 25))
			p = e.page(t)
			require.Equal(t, 25.0, p.sum("llm_server_requests_failed_total", "class", "server"))
			require.Equal(t, 65.0, p.sum("llm_server_requests_total"))
			require.Equal(t, 25.0, p.only(t, "llm_server_requests_failed_total", "reason", "backend", "version", "2"))
			within(t, longest, "nothing is made of gauges that are frozen", func() bool { return len(e.page(t).named("llm_server_requests_running")) == 0 })
		})
	}
}

// sendVersion sends so many requests to a version of the model, and says how many of
// them failed.
func (s *llmapiServer) sendVersion(t *testing.T, version string, n int) (failed int) {
	t.Helper()
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(5, 5, false)
		questions[i].version = version
	}
	for _, r := range s.sendAll(t, questions...) {
		if r.status != http.StatusOK {
			failed++
		}
	}
	return failed
}
