package main

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

func TestKubernetesClientLogsLikeExporter(t *testing.T) {
	t.Cleanup(klog.ClearLogger)
	var lines bytes.Buffer
	redirectKubernetesLog(slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelWarn})))
	klog.InfoS("Caches populated")
	require.Empty(t, lines.String())
	klog.ErrorS(errors.New("pods is forbidden"), "Failed to watch")
	require.Contains(t, lines.String(), `"level":"ERROR"`)
	require.Contains(t, lines.String(), `"msg":"Failed to watch","component":"kubernetes","err":"pods is forbidden"`)
}
