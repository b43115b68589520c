//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comparison is one row of the document: means over the readings compared,
// and the worst error.
type comparison struct {
	level, metric    string
	unit             string
	client, exporter float64
	error            string
	allowed          string
	grade, note      string
}

// truthMarks are the lines of docs/dev/accuracy.md between which the errors measured
// against a server are.
func truthMarks(server string) (begin, end string) {
	return "<!-- " + server + ": begin -->\n", "<!-- " + server + ": end -->\n"
}

// head is the beginning of a row, which has the same words every time.
func (r comparison) head() string { return "| " + r.level + " | " + r.metric + " |" }

// row is a line of the table.
func (r comparison) row() string {
	number := func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, r.unit)) }
	return r.head() + " " + strings.Join([]string{number(r.client), number(r.exporter), strings.TrimSpace(r.error), r.allowed, r.grade, r.note}, " | ") + " |"
}

// requireDocumented wants a row in the document for all that was compared, and
// with update writes them.
func requireDocumented(t *testing.T, server string, rows []comparison, update bool) {
	t.Helper()
	truthBegin, truthEnd := truthMarks(server)
	file := filepath.Join(repositoryRoot(t), "docs/dev/accuracy.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), truthBegin)
	require.True(t, ok, "%s has no %s", file, truthBegin)
	table, tail, ok := strings.Cut(rest, truthEnd)
	require.True(t, ok, "%s has no %s", file, truthEnd)
	if update {
		lines := []string{"| load | quantity | client | exporter | worst error | allowed | grade | note |", "| --- | --- | --- | --- | --- | --- | --- | --- |"}
		for _, r := range rows {
			lines = append(lines, r.row())
		}
		table = strings.Join(lines, "\n") + "\n"
		require.NoError(t, os.WriteFile(file, []byte(head+truthBegin+table+truthEnd+tail), 0o600))
	}
	for _, r := range rows {
		require.Contains(t, table, r.head(), "%s: run this test with -update", file)
	}
}
