//go:build e2e_dynamo && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// canaried has canaries of a frontend and its worker, of which only the frontend gets requests.
func canaried(t *testing.T) {
	t.Helper()
	const tokens = 5
	canary := fmt.Sprintf("canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, "+
		"max_tokens: %d }", tokens)
	e := startConfigured(t, fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }
pools:
  - { pool_id: frontends, identity_interval: 2s, %[4]s, static_configs: [{ targets: ["127.0.0.1:%[2]d"], labels: { replica_id: f0 } }] }
  - { pool_id: workers, identity_interval: 2s, %[4]s, static_configs: [{ targets: ["127.0.0.1:%[3]d"], labels: { replica_id: w0 } }] }
`, dynamoInterval, frontendPort, workerPort, canary))
	within(t, time.Minute, "two good requests", func() bool {
		good := e.page(t).named("llm_server_canary_requests_total", "result", "ok")
		return len(good) == 1 && good[0].value >= 2
	})
	p := e.page(t)
	require.Equal(t, 1.0, p.only(t, "llm_server_canary_success", "replica_id", "f0", "model_id", dynamoModel))
	require.Equal(t, float64(tokens), p.only(t, "llm_server_canary_tokens"), "as in the frontend's usage")
	require.Positive(t, p.only(t, "llm_server_canary_time_to_first_token_seconds"))
	require.Equal(t, 0.0, p.only(t, "llm_server_canary_active", "replica_id", "w0"))
	require.Equal(t, 1.0, p.only(t, "llm_server_canary_active", "replica_id", "f0"))
}
