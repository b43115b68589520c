//go:build e2e_vllm && linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRequestsThatVLLMRefusesCountOnce has more requests than fit into a vLLM's queue,
// and compares what became of them with what their clients were answered.
func TestRequestsThatVLLMRefusesCountOnce(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--max-num-queued-reqs", "6")
	l := watchLife(t, s, "")
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
	s.startCrowd(t, 1, arrival{words: 10, tokens: 20}).whole(t) // The first request compiles.
	pause(t.Context(), 3*engineInterval)
	before := l.page(t)
	refused, all := 0.0, s.startCrowd(t, 20, arrival{words: 20, tokens: 60}).wait()
	for _, one := range all {
		if one.failed {
			refused++
		}
	}
	t.Logf("%g of %d were refused", refused, len(all))
	require.Positive(t, refused)
	for class, more := range map[string]float64{"ok": float64(len(all)) - refused, "overload": refused} {
		l.shows(t, total(before, "llm_server_requests_total", "class", class)+more, "llm_server_requests_total", "class", class)
	}
	p := l.page(t)
	require.Zero(t, total(p, "llm_server_requests_total", "class", "server"))
	require.Zero(t, total(p, "llm_server_requests_failed_total", "class", "server"))
	require.Equal(t, refused, total(p, "llm_server_requests_failed_total", "class", "overload"))
}
