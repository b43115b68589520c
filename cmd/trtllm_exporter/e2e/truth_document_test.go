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

// documented returns docs/dev/accuracy.md, in parts: before, within and behind the table of
// the errors measured against a server.
func documented(t *testing.T, server string) (file, head, table, tail string) {
	t.Helper()
	file = filepath.Join(repositoryRoot(t), "docs/dev/accuracy.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := "<!-- "+server+": begin -->\n", "<!-- "+server+": end -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %s", file, begin)
	table, tail, ok = strings.Cut(rest, end)
	require.True(t, ok, "%s has no %s", file, end)
	return file, head + begin, table, end + tail
}

// head returns the beginning of a row, which has the same words every time.
func (r comparison) head() string { return "| " + r.level + " | " + r.metric + " |" }

// row returns a line of the table.
func (r comparison) row() string {
	number := func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, r.unit)) }
	return r.head() + " " + strings.Join([]string{number(r.client), number(r.exporter), strings.TrimSpace(r.error), r.allowed, r.grade, r.note}, " | ") + " |"
}

// requireDocumented requires a row in the document for all that was compared, and
// with update writes them.
func requireDocumented(t *testing.T, server string, rows []comparison, update bool) {
	t.Helper()
	file, head, table, tail := documented(t, server)
	if update {
		lines := []string{"| load | quantity | client | exporter | worst error | allowed | grade | note |", "| --- | --- | --- | --- | --- | --- | --- | --- |"}
		for _, r := range rows {
			lines = append(lines, r.row())
		}
		table = strings.Join(lines, "\n") + "\n"
		require.NoError(t, os.WriteFile(file, []byte(head+table+tail), 0o600))
	}
	for _, r := range rows {
		require.Contains(t, table, r.head(), "%s: run this test with -update", file)
	}
}
