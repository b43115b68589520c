//go:build (e2e_triton || e2e_dynamo) && linux

package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// probeEvery is how often a probe asks, more often than balancers do.
const probeEvery = 100 * time.Millisecond

// probed is what a probe was answered, for as long as the test lasts.
type probed struct {
	path string
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	answers []probeAnswer
}

// probeAnswer is one answer that was another than the one before.
type probeAnswer struct {
	at     time.Time
	status int
	text   string
}

// startProbe asks one of the paths of the probes until the test ends.
func startProbe(t *testing.T, e *exporter, path string) *probed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &probed{path: path, stop: cancel, done: make(chan struct{})}
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	go func() {
		defer close(p.done)
		for ; ctx.Err() == nil; pause(ctx, probeEvery) {
			status, text, err := get(ctx, e.url(path))
			if err == nil {
				p.note(probeAnswer{time.Now(), status, strings.TrimSpace(string(text))})
			}
		}
	}()
	return p
}

func (p *probed) note(a probeAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.answers); n == 0 || p.answers[n-1].status != a.status || p.answers[n-1].text != a.text {
		p.answers = append(p.answers, a)
	}
}

// said returns the answers so far.
func (p *probed) said() []probeAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]probeAnswer(nil), p.answers...)
}

// turns waits until the probe is answered a status, and logs how long after a
// moment that was.
func (p *probed) turns(t *testing.T, status int, what string, began time.Time) {
	t.Helper()
	var last probeAnswer
	within(t, time.Minute, p.path+" answers "+http.StatusText(status)+" when "+what, func() bool {
		all := p.said()
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		return last.status == status
	})
	for _, a := range p.said() {
		if a.status == status && !a.at.Before(began) {
			t.Logf("probe %s: %d %s after: %s (%s)", p.path, status, a.at.Sub(began).Round(10*time.Millisecond), what, a.text)
			return
		}
	}
}

// never requires that no answer had a status.
func (p *probed) never(t *testing.T, status int) {
	t.Helper()
	p.stop()
	<-p.done
	require.NotEmpty(t, p.said())
	for _, a := range p.said() {
		require.NotEqual(t, status, a.status, "%s: %s", p.path, a.text)
	}
}

// probeOf returns the answer of the readiness probe that belongs to a state.
func probeOf(state string) int {
	if state == "ready" {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}
