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

func TestSGLang(t *testing.T) {
	s := newEngine(t, "sglang")
	l := watchLife(t, s, confirms)
	play(t, []step{
		{"a loading server is unknown", func(t *testing.T) { t.Helper(); l.starts(t) }},
		{"a serving server is identified by its page", l.sglangServes},
		{"running and waiting requests are shown", func(t *testing.T) { t.Helper(); l.load(t, 300) }},
		{"clients that leave are counted", s.sglangLeft},
		{"its canary succeeds and leaves", s.sglangCanary},
		{"a hung scheduler with requests is stalled", l.sglangHangs},
		{"a draining server completes its requests", l.sglangDrains},
		{"a restarted server is ready", l.back},
		{
			"a server with a killed scheduler is down",
			func(t *testing.T) { t.Helper(); l.killed(t, sglangScheduler, 400) },
		},
	})
	// If the scheduler was killed, the page fails before the API.
	require.Subset(t, []string{
		"unknown", "ready", "stalled", "blind", "down",
	}, l.history(t), "no other state was ever shown")
}

// sglangServes requires names with a colon, which the server's other format lacks.
func (l *life) sglangServes(t *testing.T) {
	t.Helper()
	l.identified(t, "sglang:")
	p := l.page(t)
	require.NotEmpty(t, p.named("sglang:num_running_reqs", "engine", "sglang"))
	require.Empty(t, p.named("sglang_num_running_reqs"))
}

// sglangHangs requires that the server's own readiness, which remembers that its health check failed,
// is back soon: the exporter asks until that succeeds.
func (l *life) sglangHangs(t *testing.T) {
	t.Helper()
	l.hangs(t, sglangScheduler, "the scheduler", 200)
	within(
		t,
		10*time.Second,
		"its own readiness is back",
		func() bool { return l.server.status(t, "/ready") == http.StatusOK },
	)
}

// sglangDrains requires that after SIGTERM it completes its requests. Its health, a 503, is not
// requested.
func (l *life) sglangDrains(t *testing.T) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 200})
	l.shows(t, slots, "llm_server_requests_running")
	require.NoError(t, syscall.Kill(l.server.cmd.Process.Pid, syscall.SIGTERM))
	within(
		t,
		engineLongest,
		"its health says so",
		func() bool { return l.server.status(t, "/health") == http.StatusServiceUnavailable },
	)
	require.Equal(t, "ready", l.report(t).State)
	c.requireComplete(t)
	l.waitFor(t, "down", time.Now(), engineLongest)
}
