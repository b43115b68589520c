package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestModelsThatAreNotReadyAreNamed(t *testing.T) {
	for _, c := range []struct{ says, index, want string }{
		{"all are ready", `[{"name":"a","version":"1","state":"READY"}]`, "the API answers 200"},
		{"one was never loaded", `[{"name":"a","version":"1","state":"READY"},{"name":"b"}]`, "the API answers 200"},
		{"an older version gave way", `[{"name":"a","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"a","version":"2","state":"READY"}]`, "the API answers 200"},
		{
			"the model and the ensemble over it are going", // Triton 2.51, while tensorrt_llm unloads.
			`[{"name":"ensemble","version":"1","state":"UNAVAILABLE","reason":"unloaded"},{"name":"preprocessing","version":"1","state":"READY"},{"name":"tensorrt_llm","version":"1","state":"UNLOADING"}]`,
			"the API answers 200; not loaded: ensemble (unloaded), tensorrt_llm (unloading)",
		},
		{
			"more than a line can hold",
			`[{"name":"a","state":"LOADING","version":"1"},{"name":"b","state":"LOADING","version":"1"},{"name":"c","state":"LOADING","version":"1"},{"name":"d","state":"LOADING","version":"1"},{"name":"e","state":"LOADING","version":"1"},{"name":"f","state":"LOADING","version":"1"}]`,
			"the API answers 200; not loaded: a (loading), b (loading), c (loading), d (loading) and 2 more",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			e, ok := engine.Of(string(engine.Triton))
			require.True(t, ok)
			server := answers{"/v2/health/ready": "", "/v2/health/live": "", "/v2/repository/index": c.index}
			require.Equal(t, c.want, e.Health(t.Context(), server, "http://server").Detail)
		})
	}
}
