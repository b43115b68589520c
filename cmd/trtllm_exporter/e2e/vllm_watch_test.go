//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// engineInterval is how often a server is scraped, stallAfter when its silence
	// with requests in flight is a stall.
	engineInterval = time.Second
	stallAfter     = 5 * time.Second
	// busyMachine is what a machine that does other things too may add.
	busyMachine = time.Second
	// confirms has one request tell a server that hangs from a stale gauge, in firstToken.
	firstToken = 2 * time.Second
	confirms   = "canary: { confirm: true, first_token_timeout: 2s, endpoint: completions, prompt: w1 w2 w3 }"
	// engineLongest is how long a state may be waited for.
	engineLongest = 45 * time.Second
)

// life is a server, and an exporter that was there before it.
type life struct {
	*exporter

	server *engineServer
	// whole is the test that the server lives as long as.
	whole *testing.T
}

// watchLife starts an exporter for a server of which nothing is said but where
// it is.
func watchLife(t *testing.T, s *engineServer, more string) *life {
	t.Helper()
	return &life{server: s, whole: t, exporter: startConfigured(t, exporterBinary(t), fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s, stall_after: %[2]s }
pools:
  - pool_id: p
    identity_interval: 2s
    %[4]s
    static_configs: [{ targets: [%[3]q], labels: { replica_id: r0 } }]
`, engineInterval, stallAfter, s.address(), more))}
}

// turns waits until page and /targets show a state, and requires that it was judged
// within a time from the moment it began. The exporter says itself when it
// judged, so that a late look does not count.
func (l *life) turns(t *testing.T, state string, began time.Time, limit time.Duration) replicaReport {
	t.Helper()
	var r replicaReport
	within(t, limit+engineLongest, "state "+state, func() bool {
		r = l.report(t)
		shown := l.page(t).named("llm_server_state", "state", state)
		return r.State == state && len(shown) == 1 && shown[0].value == 1
	})
	require.LessOrEqual(t, r.Since.Sub(began), limit+busyMachine, "from the moment it was so to the state %s", state)
	t.Logf("%s after %s: %s", state, r.Since.Sub(began).Round(time.Millisecond), r.Reason)
	return r
}

// shows waits until a series has a value.
func (l *life) shows(t *testing.T, want float64, name string, pairs ...string) {
	t.Helper()
	last := fmt.Sprint(name, pairs, " is absent")
	limit := time.Now().Add(engineLongest)
	for {
		found := l.page(t).named(name, pairs...)
		if len(found) == 1 {
			if found[0].value == want {
				return
			}
			last = fmt.Sprint(name, pairs, " is ", found[0].value)
		}
		require.True(t, time.Now().Before(limit), "%s, and not %g", last, want)
		pause(t.Context(), engineInterval/4)
	}
}

// showsAtOnce waits for a page on which series have their values.
func (l *life) showsAtOnce(t *testing.T, want map[string]float64) {
	t.Helper()
	within(t, engineLongest, fmt.Sprint("one page has ", want), func() bool {
		p := l.page(t)
		for name, value := range want {
			if found := p.named(name); len(found) != 1 || found[0].value != value {
				return false
			}
		}
		return true
	})
}

// absent requires nothing of a name on the page.
func (l *life) absent(t *testing.T, name string, pairs ...string) {
	t.Helper()
	require.Empty(t, l.page(t).named(name, pairs...), "%s %v", name, pairs)
}
