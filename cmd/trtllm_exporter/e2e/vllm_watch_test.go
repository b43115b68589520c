//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

const (
	// engineInterval is the scrape interval, stallAfter the time without progress after which
	// requests in flight are a stall.
	engineInterval = time.Second
	stallAfter     = 5 * time.Second
	// busyMachine is the delay that a busy machine may add.
	busyMachine = time.Second
	// confirms enables one request, answered within firstToken, to tell a hang from a stale
	// gauge.
	firstToken = 2 * time.Second
	confirms   = "canary: { confirm: true, first_token_timeout: 2s, endpoint: completions, prompt: w1 w2 w3 }"
	// engineLongest is the longest wait for a state.
	engineLongest = 45 * time.Second
)

// life is a server, with an exporter that started before it.
type life struct {
	*exporter

	server *engineServer
	// whole is the test that ends the server.
	whole *testing.T
	// stalled is when the last stall was confirmed, by a request that is sent every canary.ConfirmEvery.
	stalled time.Time
}

// watchLife starts an exporter for a server that may not run yet.
func watchLife(t *testing.T, s *engineServer, keys ...string) *life {
	t.Helper()
	global := fmt.Sprintf("scrape_interval: %[1]s, scrape_timeout: %[1]s, "+
		"stall_after: %[2]s", engineInterval, stallAfter)
	return &life{
		server:   s,
		whole:    t,
		exporter: startPool(t, global, s.address(), append([]string{"identity_interval: 2s"}, keys...)...),
	}
}

// waitFor waits until page and /targets show a state, and requires that the verdict is from within
// a time since a moment, by the exporter's clock.
func (l *life) waitFor(t *testing.T, state string, began time.Time, limit time.Duration) replicaReport {
	t.Helper()
	r := l.inState(t, "r0", state, limit+engineLongest)
	require.LessOrEqual(t, r.Since.Sub(began), limit+busyMachine, "from the moment it was so to the state %s", state)
	t.Logf("%s after %s: %s", state, r.Since.Sub(began).Round(time.Millisecond), r.Reason)
	return r
}

// serves waits until a server that has just started is ready and its kind is detected.
func (l *life) serves(t *testing.T) {
	t.Helper()
	l.waitFor(t, "ready", time.Now(), 2*engineInterval+3*time.Second)
}

func (l *life) shows(t *testing.T, want float64, name string, pairs ...string) {
	t.Helper()
	l.showsAtOnce(t, map[string]float64{name: want}, pairs...)
}

func (l *life) showsAtOnce(t *testing.T, want map[string]float64, pairs ...string) {
	t.Helper()
	within(t, engineLongest, fmt.Sprint("one page has ", want, pairs), func() bool {
		p := l.page(t)
		for name, value := range want {
			if !p.is(value, name, pairs...) {
				return false
			}
		}
		return true
	})
}

func (l *life) absent(t *testing.T, name string, pairs ...string) {
	t.Helper()
	require.Empty(t, l.page(t).named(name, pairs...), "%s %v", name, pairs)
}

// starts starts the server, whose state is unknown while its model loads.
func (l *life) starts(t *testing.T, flags ...string) {
	t.Helper()
	l.server.launch(l.whole, flags...)
	l.waitFor(t, "unknown", time.Now(), 2*engineInterval)
	l.server.waitServes(t)
	l.serves(t)
}

// identified requires that a name on its page identifies the server.
func (l *life) identified(t *testing.T, evidence string) {
	t.Helper()
	r := l.report(t)
	require.Equal(t, l.server.kind, r.Engine)
	require.Contains(t, r.Evidence, evidence)
	l.shows(
		t,
		1,
		"llm_server_info",
		"engine",
		l.server.kind,
		"engine_version",
		l.server.version(),
		"trtllm_version",
		"unknown",
	)
}

// load starts more requests than slots, with enough tokens that the first ones run for seconds.
func (l *life) load(t *testing.T, tokens int) {
	t.Helper()
	const waiting, words = 8, 20
	before := l.page(t)
	grown := func(n int, name string, pairs ...string) {
		t.Helper()
		l.shows(t, before.sum(name, pairs...)+float64(n), name, pairs...)
	}
	c := l.server.startCrowd(t, slots+waiting, arrival{words: words, tokens: tokens})
	l.showsAtOnce(t, map[string]float64{"llm_server_requests_running": slots, "llm_server_queue_depth": waiting})
	c.requireComplete(t)
	l.shows(t, 0, "llm_server_requests_running")
	grown((slots+waiting)*tokens, "llm_server_generation_tokens_total", "model_id", engineModel)
	grown((slots+waiting)*words, "llm_server_prompt_tokens_total", "model_id", engineModel)
	grown(slots+waiting, "llm_server_requests_total", "class", "ok")
}

// hangs stops a process of a server during requests with that number of tokens, and continues it.
func (l *life) hangs(t *testing.T, part, called string, tokens int) {
	t.Helper()
	pause(t.Context(), time.Until(l.stalled.Add(canary.ConfirmEvery-stallAfter)))
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: tokens})
	// The page may still be from before these requests, and a stop within their first iteration is
	// not in the server's gauges.
	pause(t.Context(), 2*engineInterval)
	l.shows(t, slots, "llm_server_requests_running")
	pid := l.server.part(t, part)
	stopped := signalPart(t, pid, syscall.SIGSTOP)
	within(t, engineLongest, "it is suspected", func() bool { return l.report(t).Suspected })
	require.Equal(t, []int{http.StatusOK, http.StatusOK}, l.probes(t), "a healthy server may look the same")
	allowed := stallAfter + l.server.answersWithin() + 3*engineInterval
	r := l.waitFor(t, "stalled", stopped, allowed)
	require.Contains(t, r.Reason, "nothing has moved")
	require.Equal(t, []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable}, l.probes(t))
	l.stalled = r.Since
	documentStall(t, l.server.kind, called, r.Since.Sub(stopped), allowed+busyMachine)
	l.waitFor(t, "ready", signalPart(t, pid, syscall.SIGCONT), 2*engineInterval)
	require.Equal(t, []int{http.StatusOK, http.StatusOK}, l.probes(t))
	c.requireComplete(t)
}

// probes returns the statuses of readiness and liveness.
func (l *life) probes(t *testing.T) (statuses []int) {
	t.Helper()
	for _, path := range []string{"/-/replica/ready", "/-/replica/live"} {
		status, _, err := get(t.Context(), l.url(path))
		require.NoError(t, err)
		statuses = append(statuses, status)
	}
	return statuses
}

// answersWithin is how long the exporter's question waits for an answer: SGLang's own health check gives up after 20 s.
func (s *engineServer) answersWithin() time.Duration {
	if s.kind == "sglang" {
		return 20 * time.Second
	}
	return firstToken
}

func (l *life) back(t *testing.T) {
	t.Helper()
	l.server.kill(t) // Its port is closed, but vLLM may wait for a task of a request for ever.
	l.server.start(l.whole)
	l.serves(t)
}

func (l *life) killed(t *testing.T, part string, tokens int) {
	t.Helper()
	c := l.server.startCrowd(t, slots, arrival{words: 20, tokens: tokens})
	l.shows(t, slots, "llm_server_requests_running")
	l.waitFor(t, "down", signalPart(t, l.server.part(t, part), syscall.SIGKILL), engineLongest)
	for _, a := range c.wait() {
		require.False(t, a.done && !a.failed, "a stream of a dead engine completed")
	}
	l.absent(t, "llm_server_requests_running")
}

// documentStall requires a row in docs/dev/accuracy.md for the time until a server was judged
// stalled; -update writes it.
func documentStall(t *testing.T, server, stopped string, after, allowed time.Duration) {
	t.Helper()
	file, head, table, tail := documented(t, "stalls")
	key := fmt.Sprintf("| %s | %s |", server, stopped)
	if *updateTruth {
		row := fmt.Sprintf("%s %.1f s | %.1f s |\n", key, after.Seconds(), allowed.Seconds())
		var lines []string
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, key) {
				line, row = row, ""
			}
			lines = append(lines, line)
		}
		table = strings.Join(lines, "") + row
		require.NoError(t, os.WriteFile(file, []byte(head+table+tail), 0o600))
	}
	require.Contains(t, table, key, "%s: run this test with -update", file)
}
