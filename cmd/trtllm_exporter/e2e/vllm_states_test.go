//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// vllmCore and vllmWorker are in the titles of vLLM's processes for scheduling and computing.
const (
	vllmCore   = "VLLM::EngineCore"
	vllmWorker = "VLLM::Worker"
)

func TestVLLMStates(t *testing.T) {
	l := watchLife(t, newEngine(t, "vllm"), confirms)
	play(t, []step{
		// Requests are completed after SIGTERM.
		{"a loading server is unknown", func(t *testing.T) { t.Helper(); l.starts(t, "--shutdown-timeout", "120") }},
		{"a serving server is identified by its page", l.vllmServes},
		{"running and waiting requests are shown", func(t *testing.T) { t.Helper(); l.load(t, 1000) }},
		{
			"a hung engine with requests is stalled",
			func(t *testing.T) { t.Helper(); l.hangs(t, vllmCore, "the engine", 2400) },
		},
		{
			"a hung worker with requests is stalled",
			func(t *testing.T) { t.Helper(); l.hangs(t, vllmWorker, "the worker, as in a stuck kernel", 2400) },
		},
		{"a sleeping server is not stalled", l.vllmSleeps},
		{"a draining server reports ready, and finishes what it has", l.vllmDrains},
		{"a restarted server is ready", l.back},
		{"a server with a killed engine is down", func(t *testing.T) { t.Helper(); l.killed(t, vllmCore, 2000) }},
	})
	// Its health is 503 for a moment after its engine died.
	require.Subset(t, []string{
		"unknown", "ready", "not_ready", "stalled", "unserved", "failing", "down",
	}, l.history(t), "no other state was ever shown")
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
	r := l.waitFor(t, "unserved", time.Now(), 2*engineInterval)
	require.Contains(t, r.Reason, "sleep")
	c := l.server.startCrowd(t, 1, arrival{words: 5, tokens: 5})
	pause(t.Context(), stallAfter+3*engineInterval)
	require.Equal(t, "unserved", l.report(t).State, "a request waits for a server that sleeps")
	l.server.post(t, "/wake_up")
	l.waitFor(t, "ready", time.Now(), 2*engineInterval)
	c.requireComplete(t)
}

func (l *life) vllmDrains(t *testing.T) {
	t.Helper()
	before := l.page(t)
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 3600})
	l.shows(t, slots, "llm_server_requests_running")
	require.NoError(t, syscall.Kill(l.server.cmd.Process.Pid, syscall.SIGTERM))
	within(t, engineLongest, "new requests are refused", func() bool {
		seen, err := l.server.complete(t.Context(), 1, arrival{words: 5, tokens: 5})
		return err == nil && seen.status == http.StatusInternalServerError
	})
	require.Equal(t, http.StatusOK, l.server.status(t, "/health"), "it reports ready")
	stop := repeat(t, engineInterval/2, func(ctx context.Context) {
		_, _ = l.server.complete(ctx, 1, arrival{words: 5, tokens: 5})
	})
	within(
		t,
		engineLongest,
		"it is said that new requests fail",
		func() bool { return strings.Contains(l.report(t).Reason, "all requests are failing") },
	)
	stop() // A request at its very end may keep the server from ending.
	require.False(t, c.over(), "give them more tokens")
	require.Equal(
		t,
		[]int{http.StatusOK, http.StatusOK},
		l.probes(t),
		"a restart would end the requests that it finishes",
	)
	require.Zero(t, before.only(t, "llm_server_requests_total", "class", "server"))
	c.requireComplete(t)
	l.waitFor(t, "down", time.Now(), engineLongest)
}
