package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

func TestReferenceIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	require.Equal(t, string(reference()), string(committed), "run make generate")
}

func TestReferenceHasEveryFamilyAndAlias(t *testing.T) {
	text := string(reference())
	for _, f := range derive.Catalogue() {
		require.Contains(t, text, "| `"+f.Name+"` |")
	}
	for _, a := range derive.Aliases() {
		require.Contains(t, text, "| `"+a.Name+"` |")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `llm_server_") {
			require.Equal(t, 10, strings.Count(line, "|")-strings.Count(line, `\|`), line)
		}
	}
}
