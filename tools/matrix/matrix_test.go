package matrix_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

var update = flag.Bool("update", false, "rewrite testdata/matrix.txt")

func TestTable(t *testing.T) {
	const file = "testdata/matrix.txt"
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	// Whether its alerts are right is tested with the rules, by Prometheus.
	got, err := matrix.Table(seenOf, matrix.ParseAlerts(string(want)))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		want = []byte(got)
	}
	server := ""
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		require.Less(t, i, min(len(lines), len(wanted)), "the table has more or fewer lines")
		if i > 0 && wanted[i-1] == "" {
			server = wanted[i]
		}
		require.Equal(t, wanted[i], lines[i], "%s, line %d", server, i+1)
	}
}
