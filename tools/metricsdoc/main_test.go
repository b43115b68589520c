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
	want, got := strings.Split(string(reference()), "\n"), strings.Split(string(committed), "\n")
	for i := range want {
		require.Less(t, i, len(got), "run make generate")
		require.Equal(t, want[i], got[i], "line %d: run make generate", i+1)
	}
	require.LessOrEqual(t, len(got), len(want), "run make generate")
}

func TestReferenceHasEveryFamilyAndAlias(t *testing.T) {
	text := string(reference())
	for _, f := range derive.Catalogue() {
		require.Positive(t, strings.Count(text, "| `"+f.Name+"` |"), f.Name)
	}
	for _, a := range derive.Aliases() {
		require.Positive(t, strings.Count(text, "| `"+a.Name+"` |"), a.Name)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `llm_server_") {
			require.Equal(t, 10, strings.Count(line, "|")-strings.Count(line, `\|`), line)
		}
	}
}
