package engine_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// slow answers after a while.
type slow struct {
	answers

	after time.Duration
}

func (s slow) Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	select {
	case <-time.After(s.after):
		return s.answers.Do(ctx, method, url, body, limit)
	case <-ctx.Done():
		return 0, nil, nil, ctx.Err()
	}
}

// A gateway, a tarpit, or the server itself may let requests for paths that it does not know hang.
func TestDetectionWhereUnknownPathsHang(t *testing.T) {
	const timeout = 4 * time.Second
	page := func(kind simulate.Kind) string { return string(replica(t, simulate.Spec{Kind: kind}, 0).Page()) }
	models := `{"data":[{"id":"m","owned_by":"vllm"}]}`
	for _, c := range []struct {
		name   string
		server answers
		after  time.Duration
		want   engine.Name
		path   string
	}{
		{"Triton", answers{"/metrics": page(simulate.KindTriton)}, 0, engine.Triton, "/metrics"},
		{"vLLM", answers{"/metrics": page(simulate.KindVLLM)}, 0, engine.VLLM, "/metrics"},
		{
			"vLLM with its API",
			answers{"/metrics": page(simulate.KindVLLM), "/v1/models": models, "/version": `{"version":"0.11.0"}`},
			0, engine.VLLM, "/metrics",
		},
		{"SGLang", answers{"/metrics": page(simulate.KindSGLang)}, 0, engine.SGLang, "/metrics"},
		{"a slow one", answers{"/metrics": page(simulate.KindTriton)}, timeout / 4, engine.Triton, "/metrics"},
		{
			"trtllm-serve",
			answers{"/prometheus/metrics": page(simulate.KindServe)},
			0,
			engine.TRTLLMServe, "/prometheus/metrics",
		},
		{"NIM", answers{"/v1/metrics": page(simulate.KindVLLM)}, 0, engine.VLLM, "/v1/metrics"},
		{"another program", answers{"/metrics": "node_load1 1\n"}, 0, engine.Unknown, ""},
		{"nothing", answers{}, 0, engine.Unknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				began := time.Now()
				c.server["*"] = hangs
				found := engine.Detect(ctx, slow{c.server, c.after}, "http://server", true)
				require.Equal(t, c.want, found.Kind)
				require.Equal(t, c.path, found.Path)
				if c.want != engine.Unknown {
					require.LessOrEqual(t, time.Since(began), timeout*3/4, "the page must still be scraped")
				}
			})
		})
	}
}
