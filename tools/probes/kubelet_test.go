package probes

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
)

// asked is a probe of a container that a kubelet asks: the request, the judgement
// of the answer and the timeout are its own code; the period and the thresholds
// are kept here as its worker does.
type asked struct {
	probe     *corev1.Probe
	container *corev1.Container
	host      string

	mu       sync.Mutex
	passes   bool
	missed   int       // Failures in a row.
	first    time.Time // The first of them.
	mostEver int
	answers  int
	detail   string
}

func ask(t *testing.T, p *corev1.Probe, container *corev1.Container, host string) *asked {
	t.Helper()
	a := &asked{probe: p, container: container, host: host, passes: true}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		// Defaults of the API server.
		tick := time.NewTicker(time.Duration(cmp.Or(p.PeriodSeconds, 10)) * time.Second)
		defer tick.Stop()
		for {
			a.note(a.once())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return a
}

// once returns the result of the kubelet's prober for one answer.
func (a *asked) once() (probe.Result, string, error) {
	timeout := time.Duration(cmp.Or(a.probe.TimeoutSeconds, 1)) * time.Second
	if a.probe.GRPC != nil {
		service := ""
		if a.probe.GRPC.Service != nil {
			service = *a.probe.GRPC.Service
		}
		return grpcprobe.New().Probe(a.host, service, int(a.probe.GRPC.Port), timeout)
	}
	request, err := httpprobe.NewRequestForHTTPGetAction(a.probe.HTTPGet, a.container, a.host, "probe")
	if err != nil {
		return probe.Unknown, "", err
	}
	return httpprobe.New(false).Probe(request, timeout)
}

func (a *asked) note(result probe.Result, detail string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers++
	if a.detail = detail; err != nil {
		a.detail = err.Error()
	}
	if err == nil && (result == probe.Success || result == probe.Warning) {
		a.missed, a.passes = 0, true
		return
	}
	if a.missed++; a.missed == 1 {
		a.first = time.Now()
	}
	a.mostEver = max(a.mostEver, a.missed)
	a.passes = a.passes && a.missed < int(cmp.Or(a.probe.FailureThreshold, 3))
}

func (a *asked) state() (passes bool, missed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.passes, a.missed
}

// fails waits until the threshold is reached, and returns how long after a moment
// the first answer was that it fails by, and how long the last.
func (a *asked) fails(t *testing.T, began time.Time, limit time.Duration) (first, last time.Duration) {
	t.Helper()
	within(t, limit, "the probe fails", func() bool {
		passes, _ := a.state()
		return !passes
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first.Sub(began), time.Since(began)
}

func (a *asked) recovers(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	return within(t, limit, "the probe passes", func() bool {
		passes, _ := a.state()
		return passes
	})
}

// neverFailed requires that no answer at all was one that it fails by.
func (a *asked) neverFailed(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Positive(t, a.answers)
	require.Zero(t, a.mostEver, "failures in a row: %s", a.detail)
}
