//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// left waits until a client has left in the middle and the pages have shown what
// became of its request: freed or held. A check is unclear on a machine that is too
// busy for a page in time, and the next one is waited for.
func left(t *testing.T, e *exporter, became string) {
	t.Helper()
	results := func() (all []string) {
		for _, s := range e.page(t).named("llm_server_canary_cancel_checks_total") {
			all = append(all, s.labels.Get("result"))
		}
		return all
	}
	for limit := time.Now().Add(2 * time.Minute); !slices.Contains(results(), became); time.Sleep(time.Second) {
		require.True(t, time.Now().Before(limit), "%v is all that became of them: %s", results(), e.body(t, "/targets?format=json"))
	}
	for _, other := range []string{"freed", "held"} {
		require.True(t, other == became || !slices.Contains(results(), other), "%v", results())
	}
	require.Equal(t, 1.0, e.page(t).only(t, "llm_server_capability", "capability", "cancel"))
}

// leftAndFreed requires the slot to be free again.
func leftAndFreed(t *testing.T, e *exporter) {
	t.Helper()
	left(t, e, "freed")
	p := e.page(t)
	require.Equal(t, 1.0, p.only(t, "llm_server_canary_cancel_success"))
	took := p.only(t, "llm_server_canary_cancel_seconds")
	require.Positive(t, took)
	t.Logf("the slot was free %.2f s after the client left, or before", took)
}
