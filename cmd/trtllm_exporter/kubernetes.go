//go:build !nokubernetes

package main

import (
	"log/slog"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // Registers kubernetes_sd_configs.
	"k8s.io/klog/v2"
)

// redirectKubernetesLog sends the global log of the Kubernetes client to the exporter's log.
func redirectKubernetesLog(logger *slog.Logger) {
	klog.SetSlogLogger(logger.With("component", "kubernetes"))
}
