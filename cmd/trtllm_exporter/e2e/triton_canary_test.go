//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTritonCanary(t *testing.T) {
	const canaryTokens = 8
	s := startTriton(t, releases()[0])
	l := watchTriton(t, s, time.Second, "window: 5s", fmt.Sprintf(
		"canary: { enabled: true, interval: 10s, timeout: 9s, first_token_timeout: 4s, gap_timeout: 2s, "+
			"end_timeout: 2s, max_tokens: %d }", canaryTokens))
	l.plays(
		step{
			name: "a canary succeeds with a server that serves",
			does: acts{shows(has(2, "llm_server_canary_requests_total"), has(1, "llm_server_canary_success"))},
			says: stays("ready", keep, ""),
			then: acts{
				shows(
					has(canaryTokens, "llm_server_canary_tokens"),
					has(1, "llm_server_canary_deterministic"), // The models answer a prompt with the same words.
					above(0, "llm_server_canary_time_to_first_token_seconds"),
					// The executor takes 10 ms per token.
					above(0.005, "llm_server_canary_inter_token_latency_max_seconds"),
					above(0.01*(canaryTokens-1), "llm_server_canary_duration_seconds"),
					above(2*canaryTokens-1, "nv_llm_output_token_len_sum"),
				),
			},
		},
		step{
			name: "it fails with a server whose models died, although that reports ready",
			does: acts{func(l *life) {
				s.killStubs(l.t, modelProcesses)
				await(l.t, patience, func() string {
					if c := l.exporter.report(l.t).Canary; c.Result == "ok" {
						return "the canary: wanted a failure, got " + c.Result
					}
					return ""
				})
				canary := l.exporter.report(l.t).Canary
				require.Equal(l.t, "http_error", canary.Result, canary.Reason)
				require.Contains(l.t, canary.Reason, "is not healthy")
			}},
			then: acts{
				answering(s.server, "/v2/health/ready", http.StatusOK, 0),
				shows(
					has(0, "llm_server_canary_success"),
					has(1, "llm_server_ready"),
					lacks("llm_server_canary_time_to_first_token_seconds"),
				),
			},
		},
	)
}
