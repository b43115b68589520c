//go:build e2e_vllm && linux

package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVLLMStoppedRank stops one of two engines behind one API: tokens still arrive, and the
// server reports healthy.
func TestVLLMStoppedRank(t *testing.T) {
	const (
		n, words = 2 * slots, 20
		tokens   = 2400 // The other rank must have work while the stall is detected.
		first    = vllmCore + "_DP0"
		second   = vllmCore + "_DP1"
	)
	s := newEngine(t, "vllm")
	s.start(t, "--data-parallel-size", "2")
	l := watchEngine(t, s)
	var before page
	bothRun := shows(
		above(0, "vllm:num_requests_running", "exported_engine", "0"),
		above(0, "vllm:num_requests_running", "exported_engine", "1"),
	)
	l.plays(
		step{
			name: "a server of two ranks is ready",
			says: engineReady(),
			then: acts{capacityOfRanks},
		},
		step{
			name: "a stopped rank is one sign only, since requests need not reach it",
			does: acts{load(n, words, tokens), running(n), bothRun, freeze(s, second), lastMove},
			says: stays(suspected, keep, "nothing has moved since"),
			then: acts{func(l *life) { before = l.page() }},
		},
		step{
			name: "so it is while tokens come from the other one and the server reports healthy",
			does: acts{func(l *life) {
				const generated = "llm_server_generation_tokens_total"
				require.Positive(l.t, before.sum("vllm:num_requests_running", "exported_engine", "0"),
					"the other rank has requests yet: give them more tokens")
				l.shows(above(before.sum(generated), generated))
				require.True(l.t, l.exporter.report(l.t).Suspected, "suspected")
				require.Equal(l.t, http.StatusOK, s.status(l.t, "/health"))
			}},
		},
		step{
			name: "the suspicion ends when it goes on",
			does: acts{thaw(s, second)},
			says: stays("ready", keep, ""),
			then: acts{
				complete,
				shows(
					has(n*tokens, "llm_server_generation_tokens_total", "model_id", tinyLlama),
					has(n*words, "llm_server_prompt_tokens_total", "model_id", tinyLlama),
					has(n, "llm_server_requests_total", "class", "ok"),
				),
				func(l *life) {
					require.LessOrEqual(l.t, l.page().only(l.t, "llm_server_kv_cache_utilization_ratio"), 1.0)
				},
			},
		},
		step{
			name: "a server with a killed rank is down",
			does: acts{kill(s, first)},
			says: is("down", avoid, ""),
		},
	)
	require.Subset(t, []string{"ready", "not_ready", "blind", "down"}, l.exporter.history(t, "r0"),
		"no other state was ever shown")
}

// capacityOfRanks requires the sum of what the ranks state, each of itself, but for one block of each.
func capacityOfRanks(l *life) {
	stated := 0.0
	p := l.page()
	for _, rank := range p.named("vllm:cache_config_info") {
		each, err := strconv.ParseFloat(rank.labels.Get("kv_cache_size_tokens"), 64)
		require.NoError(l.t, err)
		stated += each
	}
	require.InDelta(l.t, stated, p.only(l.t, "llm_server_kv_cache_capacity_tokens"), 2*256)
}

// lastMove waits until the replica is suspected, and logs how long after a counter of the second rank
// last changed on the server's page: the API may count late what it got from a rank before the stop.
func lastMove(l *life) {
	last, before := l.happened, ""
	within(l.t, 2*patience, "it is suspected", func() bool {
		report, p := l.exporter.report(l.t), l.page()
		var counted []string
		for _, name := range []string{
			"vllm:generation_tokens_total", "vllm:prompt_tokens_total", "vllm:iteration_tokens_total_count",
		} {
			for _, s := range p.named(name, "exported_engine", "1") {
				counted = append(counted, s.text)
			}
		}
		if now := strings.Join(counted, " "); now != before {
			last, before = time.Now(), now
		}
		return report.Suspected
	})
	l.t.Logf("what the rank had done was counted until %s after it stopped, and it was suspected %s after that",
		last.Sub(l.happened).Round(time.Millisecond), time.Since(last).Round(time.Millisecond))
}
