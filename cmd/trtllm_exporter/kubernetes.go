//go:build !nokubernetes

package main

import (
	"log/slog"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // Registers kubernetes_sd_configs, which is refused without it.
	"k8s.io/klog/v2"
)

// takeKubernetesLog gives the client of kubernetes_sd_configs, which has one
// log for the process, the exporter's: an API server that forbids or is away is
// logged in the form and at the level that were asked for.
func takeKubernetesLog(logger *slog.Logger) {
	klog.SetSlogLogger(logger.With("component", "kubernetes"))
}
