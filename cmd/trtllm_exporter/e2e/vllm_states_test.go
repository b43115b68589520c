//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// vllmCore and vllmWorker are in the titles of vLLM's processes: what schedules
// and what computes.
const (
	vllmCore   = "VLLM::EngineCore"
	vllmWorker = "VLLM::Worker"
)

func TestVLLMStates(t *testing.T) {
	l := watchLife(t, newEngine(t, "vllm"), confirms)
	play(t, []step{
		// Requests are served to the end after SIGTERM.
		{"one whose model loads is unknown", func(t *testing.T) { t.Helper(); l.starts(t, "--shutdown-timeout", "120") }},
		{"one that serves is known by its page", l.vllmServes},
		{"what runs and what waits is seen under load", func(t *testing.T) { t.Helper(); l.load(t, 1000) }},
		{"one whose engine hangs with requests is stalled though it says ready", func(t *testing.T) { t.Helper(); l.hangs(t, vllmCore, "the engine", 2400) }},
		{"one whose worker hangs is stalled, too", func(t *testing.T) { t.Helper(); l.hangs(t, vllmWorker, "the worker, as in a stuck kernel", 2400) }},
		{"one that sleeps is not stalled", l.vllmSleeps},
		{"one that drains says ready and fails", l.vllmDrains},
		{"one that is back is ready", l.back},
		{"one whose engine was killed is down", func(t *testing.T) { t.Helper(); l.killed(t, vllmCore, 2000) }},
	})
	// Its health is 503 for a moment when it saw its engine die.
	require.Subset(t, []string{"unknown", "ready", "not_ready", "stalled", "unserved", "failing", "down"}, l.history(t), "no other state was ever shown")
}

func (l *life) vllmServes(t *testing.T) {
	t.Helper()
	l.identified(t, "vllm:")
	for _, s := range l.page(t).named("vllm:num_requests_running") {
		require.Equal(t, "vllm", s.labels.Get("engine"))
		require.Equal(t, "0", s.labels.Get("exported_engine"), "the rank keeps its number")
	}
}

func (l *life) vllmSleeps(t *testing.T) {
	t.Helper()
	l.server.post(t, "/sleep?level=1")
	r := l.turns(t, "unserved", time.Now(), 2*engineInterval)
	require.Contains(t, r.Reason, "sleep")
	c := l.server.startCrowd(t, 1, arrival{words: 5, tokens: 5})
	pause(t.Context(), stallAfter+3*engineInterval)
	require.Equal(t, "unserved", l.report(t).State, "a request waits for a server that sleeps")
	l.server.post(t, "/wake_up")
	l.turns(t, "ready", time.Now(), 2*engineInterval)
	c.whole(t)
}

func (l *life) vllmDrains(t *testing.T) {
	t.Helper()
	before := l.page(t)
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 1600})
	l.shows(t, slots, "llm_server_requests_running")
	require.NoError(t, syscall.Kill(l.server.cmd.Process.Pid, syscall.SIGTERM))
	within(t, engineLongest, "new requests are refused", func() bool {
		seen, err := l.server.complete(t.Context(), 1, arrival{words: 5, tokens: 5})
		return err == nil && seen.status == http.StatusInternalServerError
	})
	refused := time.Now()
	require.Equal(t, http.StatusOK, l.server.status(t, "/health"), "it says that it is ready")
	repeat(t, engineInterval/2, func(ctx context.Context) {
		_, _ = l.server.complete(ctx, 1, arrival{words: 5, tokens: 5})
	})
	l.turns(t, "failing", refused, 3*engineInterval)
	require.Zero(t, before.only(t, "llm_server_requests_total", "class", "server"))
	c.whole(t)
	l.turns(t, "down", time.Now(), engineLongest)
}
