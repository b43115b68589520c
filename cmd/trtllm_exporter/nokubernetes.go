//go:build nokubernetes

package main

import "log/slog"

// takeKubernetesLog has nothing to do without a client of Kubernetes.
func takeKubernetesLog(*slog.Logger) {}
