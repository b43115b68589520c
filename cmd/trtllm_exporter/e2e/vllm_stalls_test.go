//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// documentStall requires a row of docs/dev/accuracy.md for how long it took until a
// server was judged stalled, and with -update writes it.
func documentStall(t *testing.T, server, stopped string, after, allowed time.Duration) {
	t.Helper()
	file, head, table, tail := documented(t, "stalls")
	key := fmt.Sprintf("| %s | %s |", server, stopped)
	if *updateTruth {
		row := fmt.Sprintf("%s %.1f s | %.1f s |\n", key, after.Seconds(), allowed.Seconds())
		var lines []string
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, key) {
				line, row = row, ""
			}
			lines = append(lines, line)
		}
		table = strings.Join(lines, "") + row
		require.NoError(t, os.WriteFile(file, []byte(head+table+tail), 0o600))
	}
	require.Contains(t, table, key, "%s: run this test with -update", file)
}
