//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leftAndFreed waits until a page shows that the slot of a request was free again
// whose client left in the middle, and none that was not. A check is unclear on a
// machine that is too busy for a page in time.
func leftAndFreed(t *testing.T, e *exporter) {
	t.Helper()
	value := func(p page, name string, pairs ...string) (sum float64) {
		for _, s := range p.named(name, pairs...) {
			sum += s.value
		}
		return sum
	}
	within(t, 2*time.Minute, "a client left, and its slot is free", func() bool {
		return value(e.page(t), "llm_server_canary_cancel_checks_total", "result", "freed") > 0
	})
	p := e.page(t)
	require.Zero(t, value(p, "llm_server_canary_cancel_checks_total", "result", "held"), string(e.body(t, "/targets?format=json")))
	require.Equal(t, 1.0, p.only(t, "llm_server_canary_cancel_success"))
	took := p.only(t, "llm_server_canary_cancel_seconds")
	require.Positive(t, took)
	require.Equal(t, 1.0, p.only(t, "llm_server_capability", "capability", "cancel"))
	t.Logf("the slot was free %.2f s after the client left, or before", took)
}
