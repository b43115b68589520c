//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

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

// probeEvery is the interval of probes, shorter than that of load balancers.
const probeEvery = 100 * time.Millisecond

// advice is what the probes of a replica answer: ready tells whether to send it requests, live
// whether to leave it alone.
type advice struct{ ready, live int }

var (
	keep    = advice{http.StatusOK, http.StatusOK}
	avoid   = advice{http.StatusServiceUnavailable, http.StatusOK}
	restart = advice{http.StatusServiceUnavailable, http.StatusServiceUnavailable}
)

// probed asks both probes of a replica and records answers that differ from the previous ones.
type probed struct {
	stop func()

	mu      sync.Mutex
	answers []probeAnswer
	// checked is the number of answers that were compared with what was wanted, told.
	checked int
	told    advice
}

type probeAnswer struct {
	advice

	time time.Time
	text string
}

func startProbe(t *testing.T, e *exporter, pool, replica string) *probed {
	t.Helper()
	p := &probed{told: keep}
	path := e.url("/-/replicas/" + pool + "/" + replica)
	p.stop = repeat(t, probeEvery, func(ctx context.Context) {
		ready, why, err := get(ctx, path+"/ready")
		live, _, liveErr := get(ctx, path+"/live")
		if err != nil || liveErr != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		now := probeAnswer{advice{ready, live}, time.Now(), strings.TrimSpace(string(why))}
		if n := len(p.answers); n == 0 || p.answers[n-1].advice != now.advice {
			p.answers = append(p.answers, now)
		}
	})
	return p
}

// last returns the last answer that differed from the one before.
func (p *probed) last() (a probeAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.answers); n > 0 {
		a = p.answers[n-1]
	}
	return a
}

// requireLive requires that liveness never failed but where it was told to, before or now.
func (p *probed) requireLive(t *testing.T, now advice) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.answers[p.checked:] {
		require.Contains(t, []int{p.told.live, now.live}, a.live, "liveness: %s", a.text)
	}
	p.checked, p.told = len(p.answers), now
}

// requireAlways requires that the probes answered nothing else.
func (p *probed) requireAlways(t *testing.T, wanted advice) {
	t.Helper()
	p.stop()
	require.NotEmpty(t, p.answers)
	for _, a := range p.answers {
		require.Equal(t, wanted, a.advice, a.text)
	}
}
