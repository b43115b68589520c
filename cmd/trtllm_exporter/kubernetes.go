//go:build !nokubernetes

package main

import (
	"log/slog"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // Registers kubernetes_sd_configs.
	"k8s.io/klog/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// redirectKubernetesLog sends the global log of the Kubernetes client to the sources of targets
// that it is about, and the rest of it to the exporter's log.
func redirectKubernetesLog(logger *slog.Logger) {
	klog.SetSlogLogger(slog.New(discovery.KubernetesLog(logger.With("component", "kubernetes").Handler())))
}
