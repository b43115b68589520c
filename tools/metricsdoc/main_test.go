package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

func TestReferenceIsUpToDate(t *testing.T) {
	page, err := reference()
	require.NoError(t, err)
	requireUpToDate(t, "metrics.md", page)
}

// TestNotesAreChecked has notes that would be lost without a word.
func TestNotesAreChecked(t *testing.T) {
	for _, c := range []struct{ notes, want string }{
		{"## vllm\nrequests_totl: misspelt\n", "notes.md, line 2: no family is called requests_totl"},
		{"## vllm\nonly a note\n", "notes.md, line 2 has no family: only a note"},
		{"## vllm\nmodel_unloaded: not of vLLM\n", "notes.md: vllm has no model_unloaded"},
		{"## vlm\nrequests_total: of a kind that does not exist\n", "notes.md: there is no kind of server vlm"},
	} {
		read, err := readNotes(c.notes, assess.Catalogue())
		if err == nil {
			err = sources(&bytes.Buffer{}, assess.Catalogue(), read)
		}
		require.EqualError(t, err, c.want)
	}
}

// findings plays all scenarios for every server.
var findings = sync.OnceValues(func() ([][]matrix.Finding, error) { return findingsOf(matrix.Servers()) })

func TestServersPageIsUpToDate(t *testing.T) {
	all, err := findings()
	require.NoError(t, err)
	page, err := serversPageOf(all)
	require.NoError(t, err)
	requireUpToDate(t, "servers.md", page)
}

// TestAbsentQuantitiesHaveReasons has every quantity of every server, and a reason
// for each that is absent.
func TestAbsentQuantitiesHaveReasons(t *testing.T) {
	all, err := findings()
	require.NoError(t, err)
	for i, server := range matrix.Servers() {
		require.Len(t, all[i], len(matrix.Quantities()))
		for _, g := range all[i] {
			require.Equal(t, g.Shown, g.Why == "", "%s: %s", server.Name, g.Name)
			isFamily := func(f derive.Family) bool { return f.Name == g.Family }
			require.True(t, g.Family == "" || slices.ContainsFunc(assess.Catalogue(), isFamily), g.Family)
		}
	}
}

// requireUpToDate requires that a committed document is up to date.
func requireUpToDate(t *testing.T, name string, made []byte) {
	t.Helper()
	committed, err := os.ReadFile("../../docs/" + name)
	require.NoError(t, err)
	want, got := strings.Split(string(made), "\n"), strings.Split(string(committed), "\n")
	for i := range want {
		require.Less(t, i, len(got), "run make generate")
		require.Equal(t, want[i], got[i], "line %d: run make generate", i+1)
	}
	require.LessOrEqual(t, len(got), len(want), "run make generate")
}
