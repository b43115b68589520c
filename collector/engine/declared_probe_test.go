package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestProbeOfAnUnknownServer(t *testing.T) {
	const models = `{"data":[{"id":"m","owned_by":"acme"}]}`
	for _, c := range []struct {
		name   string
		server answers
		want   engine.DeclaredPaths
		owner  string
	}{
		{
			"a server with OpenAI's API",
			answers{"/health": "{}", "/v1/models": models, "/version": `{"version":"1.2"}`},
			engine.DeclaredPaths{Health: "/health", Models: "/v1/models", Version: "/version"},
			"acme",
		},
		{"a server with a health check alone", answers{"/ping": "pong"}, engine.DeclaredPaths{Health: "/ping"}, ""},
		{"a server without an API", answers{}, engine.DeclaredPaths{}, ""},
		{"a server that answers every path alike", answers{"*": models}, engine.DeclaredPaths{}, ""},
	} {
		paths, owner := engine.Probe(t.Context(), c.server, "http://server")
		require.Equal(t, c.want, paths, c.name)
		require.Equal(t, c.owner, owner, c.name)
	}
}
