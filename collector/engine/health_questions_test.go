package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestHealthQuestions(t *testing.T) {
	for _, c := range []struct {
		says   string
		kind   engine.Kind
		server answers
		want   engine.APIState
		live   bool
		detail string
	}{
		{"Triton is ready", engine.Triton, answers{"/v2/health/ready": "", "/v2/health/live": "", "/v2/repository/index": index}, engine.APIReady, true, "200"},
		{"Triton refuses", engine.Triton, answers{"*": refuses}, engine.APIRefused, false, "refuses"},
		{"Triton is restricted", engine.Triton, answers{"*": restricted}, engine.APIFailed, false, "http_headers"},
		{"something else answers", engine.Triton, answers{}, engine.APIFailed, false, "Not Found"},
		{"trtllm-serve is well", engine.TRTLLMServe, answers{"/health": ""}, engine.APIReady, true, "200"},
		{"the OpenAI frontend is ready", engine.TritonOpenAI, answers{"/health/ready": ""}, engine.APIReady, false, "200"},
		{"NIM is ready", engine.NIM, answers{"/v1/health/ready": "{}", "/v1/health/live": "{}"}, engine.APIReady, true, "200"},
		{"Dynamo's frontend has a worker", engine.Dynamo, answers{"/health": `{"status":"healthy","instances":[{}]}`}, engine.APIReady, true, "200"},
		{"Dynamo's frontend has none and says healthy", engine.Dynamo, answers{"/health": `{"status":"healthy","instances":[]}`}, engine.APINotReady, true, "no worker"},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of(string(c.kind))
			require.True(t, ok)
			h := e.Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API, h.Detail)
			require.Equal(t, c.live, h.Live)
			require.Contains(t, h.Detail, c.detail)
		})
	}
}
