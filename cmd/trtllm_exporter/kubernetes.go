//go:build !nokubernetes

package main

import (
	"context"
	"log/slog"
	"sync"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // Registers kubernetes_sd_configs.
	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/klog/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// redirectKubernetesLog sends the global log of the Kubernetes client to the sources of targets
// that it is about, and the rest of it to the exporter's log.
func redirectKubernetesLog(logger *slog.Logger) {
	klog.SetSlogLogger(slog.New(discovery.KubernetesLog(logger.With("component", "kubernetes").Handler())))
	metrics.RequestResult = kubernetesPace
}

const (
	// kubernetesBurst is how many requests to an API server are not held up: the first lists and watches of
	// all sources. Later ones come at kubernetesRate a second.
	kubernetesBurst, kubernetesRate = 500, 5
)

// pace holds up the requests of the Kubernetes client after the burst. It limits lists itself, but not
// watches: to an API server that ends each of them, such as with 410, it sent thousands a second. It
// tells the result of each request, and waits until that is noted, which is the only place to stop it.
type pace struct {
	mu    sync.Mutex
	hosts map[string]*rate.Limiter
}

var kubernetesPace = &pace{hosts: make(map[string]*rate.Limiter)} //nolint:gochecknoglobals // The client's is, too.

// Increment implements metrics.ResultMetric.
func (p *pace) Increment(ctx context.Context, _, _, host string) {
	p.mu.Lock()
	limit := p.hosts[host]
	if limit == nil {
		limit = rate.NewLimiter(kubernetesRate, kubernetesBurst)
		p.hosts[host] = limit
	}
	p.mu.Unlock()
	_ = limit.Wait(ctx) // It fails when the request is canceled.
}
