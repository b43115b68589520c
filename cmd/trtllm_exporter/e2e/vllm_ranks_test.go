//go:build e2e_vllm && linux

package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVLLMStoppedRank stops one of two engines behind one API: tokens still arrive, and the
// server reports healthy.
func TestVLLMStoppedRank(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--data-parallel-size", "2")
	l := watchLife(t, s)
	l.serves(t)
	stated := 0.0 // Each rank reports only itself.
	for _, rank := range l.page(t).named("vllm:cache_config_info") {
		each, err := strconv.ParseFloat(rank.labels.Get("kv_cache_size_tokens"), 64)
		require.NoError(t, err)
		stated += each
	}
	require.InDelta(
		t,
		stated,
		l.page(t).only(t, "llm_server_kv_cache_capacity_tokens"),
		2*256,
		"but for one block of each",
	)
	const tokens = 2400 // The other rank must have work while the stall is detected.
	c := s.startCrowd(t, 2*slots, arrival{words: 20, tokens: tokens})
	running := func(rank string) float64 {
		return l.page(t).sum("vllm:num_requests_running", "exported_engine", rank)
	}
	within(t, engineLongest, "both engines work", func() bool { return running("0") > 0 && running("1") > 0 })
	l.shows(t, 2*slots, "llm_server_requests_running")

	stopped := s.part(t, vllmCore+"_DP1")
	signalPart(t, stopped, syscall.SIGSTOP)
	moved := l.lastMove(t, "1")
	r := l.report(t)
	require.Equal(t, "ready", r.State, "requests need not reach that rank, so that its gauge is one sign")
	require.Contains(t, r.Reason, "nothing has moved since")
	t.Logf("suspected %s after its counts moved last", time.Since(moved).Round(time.Millisecond))
	before := l.page(t).sum("llm_server_generation_tokens_total")
	require.Positive(t, running("0"), "the other engine has requests yet: give them more tokens")
	within(t, engineLongest, "tokens come from the other engine", func() bool {
		return l.page(t).sum("llm_server_generation_tokens_total") > before
	})
	require.True(t, l.report(t).Suspected)
	require.Equal(t, http.StatusOK, s.status(t, "/health"))
	signalPart(t, stopped, syscall.SIGCONT)
	within(t, engineLongest, "the suspicion ends", func() bool { return !l.report(t).Suspected })
	c.requireComplete(t)
	l.shows(t, 2*slots*tokens, "llm_server_generation_tokens_total", "model_id", engineModel)
	l.shows(t, 2*slots*20, "llm_server_prompt_tokens_total", "model_id", engineModel)
	l.shows(t, 2*slots, "llm_server_requests_total", "class", "ok")
	require.LessOrEqual(t, l.page(t).only(t, "llm_server_kv_cache_utilization_ratio"), 1.0)

	killed := signalPart(t, s.part(t, vllmCore+"_DP0"), syscall.SIGKILL)
	l.waitFor(t, "down", killed, engineLongest)
	require.Subset(t, []string{"ready", "not_ready", "blind", "down"}, l.history(t), "no other state was ever shown")
}

// lastMove waits until the replica is suspected, and returns when a counter of an engine last
// changed on the server's page: the API may count late what it got from an engine before the
// stop.
func (l *life) lastMove(t *testing.T, engine string) time.Time {
	t.Helper()
	begun := time.Now()
	last, before := begun, ""
	within(t, 2*engineLongest, "a suspicion", func() bool {
		report, p := l.report(t), l.page(t)
		var counted []string
		for _, name := range []string{
			"vllm:generation_tokens_total", "vllm:prompt_tokens_total", "vllm:iteration_tokens_total_count",
		} {
			for _, s := range p.named(name, "exported_engine", engine) {
				counted = append(counted, s.text)
			}
		}
		if now := strings.Join(counted, " "); now != before {
			last, before = time.Now(), now
		}
		return report.Suspected
	})
	t.Logf("what engine %s had done was counted until %s "+
		"after it stopped", engine, last.Sub(begun).Round(time.Millisecond))
	return last
}
