//go:build e2e_vllm && linux

package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sglangScheduler is in the title of the process that schedules and computes.
const sglangScheduler = "sglang::scheduler"

func TestSGLangStates(t *testing.T) {
	l := watchLife(t, newEngine(t, "sglang"), confirms)
	play(t, []step{
		{"one whose model loads is unknown", func(t *testing.T) { t.Helper(); l.starts(t) }},
		{"one that serves is known by its page", l.sglangServes},
		{"what runs and what waits is seen under load", func(t *testing.T) { t.Helper(); l.load(t, 300) }},
		{"one whose scheduler hangs with requests is stalled", func(t *testing.T) { t.Helper(); l.hangs(t, sglangScheduler, "the scheduler", 200) }},
		{"one that drains serves to the end", l.sglangDrains},
		{"one that is back is ready", l.back},
		{"one whose scheduler was killed is down", func(t *testing.T) { t.Helper(); l.killed(t, sglangScheduler, 400) }},
	})
	// Of one whose scheduler was killed the page fails before its API does.
	require.Subset(t, []string{"unknown", "ready", "stalled", "blind", "down"}, l.history(t), "no other state was ever shown")
}

// sglangServes requires names with the colon: the server's other format has none.
func (l *life) sglangServes(t *testing.T) {
	t.Helper()
	l.identified(t, "sglang:")
	p := l.page(t)
	require.NotEmpty(t, p.named("sglang:num_running_reqs", "engine", "sglang"))
	require.Empty(t, p.named("sglang_num_running_reqs"))
}

// sglangDrains shows that after SIGTERM it serves to the last request; its health, a 503, is not asked.
func (l *life) sglangDrains(t *testing.T) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 200})
	l.shows(t, slots, "llm_server_requests_running")
	require.NoError(t, syscall.Kill(l.server.cmd.Process.Pid, syscall.SIGTERM))
	within(t, engineLongest, "its health says so", func() bool { return l.server.status(t, "/health") == http.StatusServiceUnavailable })
	require.Equal(t, "ready", l.report(t).State)
	c.whole(t)
	l.turns(t, "down", time.Now(), engineLongest)
}
