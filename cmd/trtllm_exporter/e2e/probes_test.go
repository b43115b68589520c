//go:build (e2e_triton || e2e_dynamo) && linux

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// probeEvery is the interval of probes, shorter than that of load balancers.
const probeEvery = 100 * time.Millisecond

type probed struct {
	path string
	stop func()

	mu      sync.Mutex
	answers []probeAnswer
}

// probeAnswer is an answer that differs from the previous one.
type probeAnswer struct {
	time   time.Time
	status int
	text   string
}

func startProbe(t *testing.T, e *exporter, path string) *probed {
	t.Helper()
	p := &probed{path: path}
	p.stop = repeat(t, probeEvery, func(ctx context.Context) {
		status, text, err := get(ctx, e.url(path))
		if err != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		a := probeAnswer{time.Now(), status, strings.TrimSpace(string(text))}
		if n := len(p.answers); n == 0 || p.answers[n-1].status != a.status || p.answers[n-1].text != a.text {
			p.answers = append(p.answers, a)
		}
	})
	return p
}

func (p *probed) all() []probeAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.answers)
}

// waitFor waits until the probe returns a status, and logs how long that took.
func (p *probed) waitFor(t *testing.T, status int, what string, began time.Time) {
	t.Helper()
	within(t, time.Minute, p.path+" answers "+http.StatusText(status)+" when "+what, func() bool {
		all := p.all()
		return len(all) > 0 && all[len(all)-1].status == status
	})
	for _, a := range p.all() {
		if a.status == status && !a.time.Before(began) {
			t.Logf(
				"probe %s: %d %s after: %s (%s)",
				p.path,
				status,
				a.time.Sub(began).Round(10*time.Millisecond),
				what,
				a.text,
			)
			return
		}
	}
}

func (p *probed) never(t *testing.T, status int) {
	t.Helper()
	p.stop()
	require.NotEmpty(t, p.all())
	for _, a := range p.all() {
		require.NotEqual(t, status, a.status, "%s: %s", p.path, a.text)
	}
}

// probeOf returns the readiness status for a state.
func probeOf(state string) int {
	if state == "ready" {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}
