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

// prober probes a container like a kubelet, with the kubelet's code for requests, results
// and timeouts. Periods and thresholds are implemented here like in its worker.
type prober struct {
	probe     *corev1.Probe
	container *corev1.Container
	host      string

	mu        sync.Mutex
	passes    bool
	missed    int       // Consecutive failures.
	first     time.Time // Time of the first one.
	maxMissed int
	answers   int
	detail    string
}

func startProber(t *testing.T, p *corev1.Probe, container *corev1.Container, host string) *prober {
	t.Helper()
	a := &prober{probe: p, container: container, host: host, passes: true}
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
			a.record(a.probeOnce())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return a
}

// probeOnce returns the result of one probe.
func (a *prober) probeOnce() (probe.Result, string, error) {
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

func (a *prober) record(result probe.Result, detail string, err error) {
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
	a.maxMissed = max(a.maxMissed, a.missed)
	a.passes = a.passes && a.missed < int(cmp.Or(a.probe.FailureThreshold, 3))
}

func (a *prober) state() (passes bool, missed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.passes, a.missed
}

// waitFailing waits until the failure threshold is reached, and returns the times of the
// first and the last failure since a moment.
func (a *prober) waitFailing(t *testing.T, start time.Time, limit time.Duration) (first, last time.Duration) {
	t.Helper()
	within(t, limit, "the probe fails", func() bool {
		passes, _ := a.state()
		return !passes
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first.Sub(start), time.Since(start)
}

func (a *prober) waitPassing(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	return within(t, limit, "the probe passes", func() bool {
		passes, _ := a.state()
		return passes
	})
}

// requireNoFailure requires that no probe has failed.
func (a *prober) requireNoFailure(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Positive(t, a.answers)
	require.Zero(t, a.maxMissed, "consecutive failures: %s", a.detail)
}
