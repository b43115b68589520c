//go:build e2e_triton && linux

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTritonWithoutHTTP requires that a Triton with gRPC only is identified like one with HTTP.
func TestTritonWithoutHTTP(t *testing.T) {
	s := newTriton(t, releases()[0])
	s.serves = func(t *testing.T) bool {
		t.Helper()
		s.relaunch(t)
		return s.showsPage(t)
	}
	s.start(t, "--allow-http=false")
	_, _, err := get(t.Context(), s.url("/v2"))
	require.Error(t, err, "nothing listens on the HTTP port")

	identity := []string{
		"engine", "triton", "engine_version", s.release.triton, "trtllm_version", s.release.trtllm,
		"pool_id", "p", "replica_id", "r0",
	}
	l := watchTriton(t, s, scrapeInterval, "", "api_protocol: grpc")
	ready := step{
		name: "a server is ready and identified by gRPC",
		says: is("ready", keep, ""),
		then: acts{
			models(map[string]string{
				"ensemble":         "ready",
				"preprocessing":    "ready",
				"tensorrt_llm":     "ready",
				"tensorrt_llm_bls": "ready",
				"postprocessing":   "ready",
			}),
			shows(
				has(1, "llm_server_ready"),
				has(1, "llm_server_live"),
				has(1, "llm_server_state", append(identity, "state", "ready")...),
				has(1, "llm_server_model_info", "model", "tensorrt_llm", "decoupled", "true"),
				has(1, "llm_server_model_info", "model", "ensemble", "platform", "ensemble"),
				// The parts have the id of the entry model, which their configs tell.
				some("nv_inference_request_success",
					append(identity, "model", "tensorrt_llm", "model_id", "ensemble")...),
			),
		},
	}
	again := ready
	again.name = "it is ready again after a restart"
	again.does = acts{launch(s.server, "--allow-http=false"), serve(s.server)}
	l.plays(
		ready,
		step{
			name: "it is down when it was killed",
			does: acts{kill(s.server, "")},
			says: is("down", avoid, ""),
		},
		again,
	)
}
