//go:build e2e_vllm && linux

package e2e

import (
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

// vllmLife is the life of a vLLM.
type vllmLife struct{ *life }

// TestStatesOfVLLM takes a vLLM through all that happens to one.
func TestStatesOfVLLM(t *testing.T) {
	s := newEngine(t, "vllm")
	l := vllmLife{watchLife(t, s, confirms)}
	play(t, []step{
		{"one whose model loads is unknown", l.starts},
		{"one that serves is known by its page", l.serves},
		{"what runs and what waits is seen under load", l.load},
		{"one whose engine hangs with requests is stalled though it says ready", l.hangs},
		{"one whose worker hangs is stalled, too", l.workerHangs},
		{"one that sleeps is not stalled", l.sleeps},
		{"one that drains says ready and fails", l.drains},
		{"one that is back is ready", l.back},
		{"one whose engine was killed is down", l.killed},
	})
	// Its health is 503 for a moment when it saw its engine die.
	require.Subset(t, []string{"unknown", "ready", "not_ready", "stalled", "unserved", "failing", "down"}, l.history(t), "no other state was ever shown")
}

func (l vllmLife) starts(t *testing.T) {
	t.Helper()
	// Requests are served to the end after SIGTERM.
	l.server.launch(l.whole, "--shutdown-timeout", "120")
	r := l.turns(t, "unknown", time.Now(), 2*engineInterval)
	require.Equal(t, "nothing listens, and this exporter has never seen it up; servers open their ports when their models are loaded", r.Reason)
	l.server.waitServes(t)
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
}

// questionsOfKind is how long it may take to find out who a server is.
const questionsOfKind = 3 * time.Second

func (l vllmLife) serves(t *testing.T) {
	t.Helper()
	r := l.report(t)
	require.Equal(t, "vllm", r.Engine)
	require.Contains(t, r.Evidence, "vllm:")
	l.shows(t, 1, "llm_server_info", "engine", "vllm", "engine_version", l.server.version(), "trtllm_version", "unknown")
	for _, s := range l.page(t).named("vllm:num_requests_running") {
		require.Equal(t, "vllm", s.labels.Get("engine"))
		require.Equal(t, "0", s.labels.Get("exported_engine"), "the rank keeps its number")
	}
}

func (l vllmLife) load(t *testing.T) {
	t.Helper()
	const waiting, tokens = 8, 1000 // The first to run are seconds at it, also on a quick machine.
	c := l.server.startCrowd(t, slots+waiting, arrival{words: 20, tokens: tokens})
	l.showsAtOnce(t, map[string]float64{"llm_server_requests_running": slots, "llm_server_queue_depth": waiting})
	c.whole(t)
	l.shows(t, 0, "llm_server_requests_running")
	l.shows(t, (slots+waiting)*tokens, "llm_server_generation_tokens_total", "model_id", engineModel)
	l.shows(t, (slots+waiting)*20, "llm_server_prompt_tokens_total", "model_id", engineModel)
	l.shows(t, slots+waiting, "llm_server_requests_total", "class", "ok")
	l.absent(t, "llm_server_request_error_ratio", "class", "canceled")
}

// hung stops a process of a server that works on requests of so many tokens, and
// lets it go on.
func (l *life) hung(t *testing.T, part, called string, tokens int) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: tokens})
	// The page may still be of requests before these, and what stops before an iteration
	// of theirs is over is in none of the server's gauges.
	pause(t.Context(), 2*engineInterval)
	l.shows(t, slots, "llm_server_requests_running")
	pid := l.server.part(t, part)
	stopped := signalPart(t, pid, syscall.SIGSTOP)
	within(t, engineLongest, "it is suspected", func() bool { return l.report(t).Suspected })
	const allowed = stallAfter + firstToken + 2*engineInterval
	r := l.turns(t, "stalled", stopped, allowed)
	require.Contains(t, r.Reason, "nothing moves")
	documentStall(t, l.server.kind, called, r.Since.Sub(stopped), allowed+busyMachine)
	l.turns(t, "ready", signalPart(t, pid, syscall.SIGCONT), 2*engineInterval)
	c.whole(t)
}

func (l vllmLife) hangs(t *testing.T) {
	t.Helper()
	l.hung(t, vllmCore, "the engine", 2400)
	require.Equal(t, http.StatusOK, l.server.status(t, "/health"))
}

func (l vllmLife) workerHangs(t *testing.T) {
	t.Helper()
	l.hung(t, vllmWorker, "the worker, as in a stuck kernel", 2400)
}

func (l vllmLife) sleeps(t *testing.T) {
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

func (l vllmLife) drains(t *testing.T) {
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
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(engineInterval / 2):
				_, _ = l.server.complete(l.whole.Context(), 1, arrival{words: 5, tokens: 5})
			}
		}
	}()
	l.turns(t, "failing", refused, 3*engineInterval)
	require.Zero(t, before.only(t, "llm_server_requests_total", "class", "server"))
	c.whole(t)
	l.turns(t, "down", time.Now(), engineLongest)
}

func (l vllmLife) back(t *testing.T) {
	t.Helper()
	within(t, engineLongest, "the old server has ended", l.server.ended)
	l.server.start(l.whole)
	l.turns(t, "ready", time.Now(), 2*engineInterval+questionsOfKind)
}

func (l vllmLife) killed(t *testing.T) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: 2000})
	l.shows(t, slots, "llm_server_requests_running")
	signalPart(t, l.server.part(t, vllmCore), syscall.SIGKILL)
	// The API ends by itself when it has seen that.
	within(t, engineLongest, "nothing answers any more", func() bool { return l.server.status(t, "/health") == 0 })
	l.turns(t, "down", time.Now(), 3*engineInterval)
	for _, a := range c.wait() {
		require.False(t, a.done && !a.failed, "a stream of a dead engine came to a good end")
	}
	l.absent(t, "llm_server_requests_running")
}
