//go:build nokubernetes

package main

import "log/slog"

// redirectKubernetesLog does nothing in a build without kubernetes_sd_configs.
func redirectKubernetesLog(*slog.Logger) {}
