//go:build !nokubernetes

package main

import (
	"log/slog"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // Registers kubernetes_sd_configs.
	"k8s.io/klog/v2"
)

// redirectKubernetesLog sends the log of the Kubernetes client, one for the process, to the exporter's.
func redirectKubernetesLog(logger *slog.Logger) {
	klog.SetSlogLogger(logger.With("component", "kubernetes"))
}
