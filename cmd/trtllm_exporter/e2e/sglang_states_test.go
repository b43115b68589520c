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

// sglangLife is the life of an SGLang.
type sglangLife struct{ *life }

// TestStatesOfSGLang takes an SGLang through all that happens to one.
func TestStatesOfSGLang(t *testing.T) {
	s := newEngine(t, "sglang")
	l := sglangLife{watchLife(t, s, confirms)}
	play(t, []step{
		{"one whose model loads is unknown", l.starts},
		{"one that serves is known by its page", l.serves},
		{"its series have the names that its page has", l.names},
		{"what runs and what waits is seen under load", l.load},
		{"one whose scheduler hangs with requests is stalled", l.hangs},
		{"one that drains serves to the end", l.drains},
		{"one that is back is ready", l.back},
		{"one whose scheduler was killed is down", l.killed},
	})
	// Of one whose scheduler was killed the page fails before its API does.
	require.Subset(t, []string{"unknown", "ready", "stalled", "blind", "down"}, l.history(t), "no other state was ever shown")
}

func (l sglangLife) starts(t *testing.T) {
	t.Helper()
	l.server.launch(l.whole)
	l.turns(t, "unknown", time.Now(), 2*engineInterval)
	l.server.waitServes(t)
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
}

func (l sglangLife) serves(t *testing.T) {
	t.Helper()
	r := l.report(t)
	require.Equal(t, "sglang", r.Engine)
	require.Contains(t, r.Evidence, "sglang:")
	l.shows(t, 1, "llm_server_info", "engine", "sglang", "engine_version", l.server.version(), "trtllm_version", "unknown")
}

// names requires no series but under its name with the colon: the server's other
// format has them without.
func (l sglangLife) names(t *testing.T) {
	t.Helper()
	p := l.page(t)
	require.NotEmpty(t, p.named("sglang:num_running_reqs", "engine", "sglang"))
	require.Empty(t, p.named("sglang_num_running_reqs"))
}

func (l sglangLife) load(t *testing.T) {
	t.Helper()
	const waiting, tokens = 8, 300 // The first to run are seconds at it, also on a quick machine.
	before := l.page(t)
	c := l.server.startCrowd(t, slots+waiting, arrival{words: 20, tokens: tokens})
	l.showsAtOnce(t, map[string]float64{"llm_server_requests_running": slots, "llm_server_queue_depth": waiting})
	c.whole(t)
	l.shows(t, 0, "llm_server_requests_running")
	l.shows(t, before.sum("llm_server_generation_tokens_total")+(slots+waiting)*tokens, "llm_server_generation_tokens_total", "model_id", engineModel)
	l.shows(t, before.sum("llm_server_prompt_tokens_total")+(slots+waiting)*20, "llm_server_prompt_tokens_total", "model_id", engineModel)
	l.shows(t, before.sum("llm_server_requests_total", "class", "ok")+slots+waiting, "llm_server_requests_total", "class", "ok")
}

func (l sglangLife) hangs(t *testing.T) {
	t.Helper()
	l.hung(t, sglangScheduler, "the scheduler", 200)
}

// drains shows an SGLang after SIGTERM: its health says 503, which is not asked,
// and it serves until its last request has ended.
func (l sglangLife) drains(t *testing.T) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 200})
	l.shows(t, slots, "llm_server_requests_running")
	require.NoError(t, syscall.Kill(l.server.cmd.Process.Pid, syscall.SIGTERM))
	within(t, engineLongest, "its health says so", func() bool { return l.server.status(t, "/health") == http.StatusServiceUnavailable })
	require.Equal(t, "ready", l.report(t).State)
	c.whole(t)
	l.turns(t, "down", time.Now(), engineLongest)
}

func (l sglangLife) back(t *testing.T) {
	t.Helper()
	within(t, engineLongest, "the old server has ended", l.server.ended)
	l.server.start(l.whole)
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
}

func (l sglangLife) killed(t *testing.T) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 400})
	l.shows(t, slots, "llm_server_requests_running")
	killed := signalPart(t, l.server.part(t, sglangScheduler), syscall.SIGKILL)
	l.turns(t, "down", killed, 10*engineInterval)
	for _, a := range c.wait() {
		require.False(t, a.done && !a.failed, "a stream of a dead engine came to a good end")
	}
	l.absent(t, "llm_server_requests_running")
}
