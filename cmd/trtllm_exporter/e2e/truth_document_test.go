//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comparison is a cell of the document: means over the readings, and the largest error.
type comparison struct {
	level, metric, grade      string
	client, exporter          float64
	unit                      string
	error, allowed, errorUnit string
}

// documentedTable returns docs/dev/accuracy.md before, in and after the table of a server.
func documentedTable(t *testing.T, server string) (file, head, table, tail string) {
	t.Helper()
	file = filepath.Join(repositoryRoot(t), "docs/dev/accuracy.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- "+server+": begin -->\n", "<!-- "+server+": end -->\n"
	head, tail, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %s", file, begin)
	table, tail, ok = strings.Cut(tail, end)
	require.True(t, ok, "%s has no %s", file, end)
	return file, head + begin, table, end + tail
}

// String formats a comparison for the log.
func (r comparison) String() string {
	return fmt.Sprintf("%s, %s: client %.4g, exporter %.4g %s; worst error %s, "+
		"allowed %s %s", r.level, r.metric, r.client, r.exporter, r.unit, r.error, r.allowed, r.errorUnit)
}

// head returns the constant beginning of a line of the table.
func (r comparison) head() string {
	return strings.Join([]string{"|", r.metric, "|", r.grade, "|", r.errorUnit, "|"}, " ")
}

// tableOf returns a table with a line per quantity and a column per level.
func tableOf(rows []comparison) string {
	var levels, heads []string
	cells := map[string]map[string]string{}
	for _, r := range rows {
		if !slices.Contains(levels, r.level) {
			levels = append(levels, r.level)
		}
		if cells[r.head()] == nil {
			heads, cells[r.head()] = append(heads, r.head()), map[string]string{}
		}
		cells[r.head()][r.level] = r.error + " (" + r.allowed + ")"
	}
	lines := []string{
		"| quantity | grade | error in | " + strings.Join(levels, " | ") + " |",
		strings.Repeat("|---", 3+len(levels)) + "|",
	}
	for _, head := range heads {
		line := []string{head}
		for _, level := range levels {
			line = append(line, cells[head][level], "|")
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// requireDocumented requires that the document has a line for every comparison; -update writes
// them.
func requireDocumented(t *testing.T, server string, rows []comparison, update bool) {
	t.Helper()
	file, head, table, tail := documentedTable(t, server)
	if update {
		table = tableOf(rows)
		require.NoError(t, os.WriteFile(file, []byte(head+table+tail), 0o600))
	}
	for _, r := range rows {
		require.Contains(t, table, r.head(), "%s: run this test with -update", file)
		require.Contains(t, table, "| "+r.level+" |", "%s: run this test with -update", file)
	}
}
