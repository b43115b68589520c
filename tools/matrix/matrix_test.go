package matrix_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

func TestTable(t *testing.T) {
	const file = "testdata/matrix.txt"
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	// Whether its alerts are right is tested with the rules, by Prometheus.
	got, err := matrix.Table(seenOf, matrix.ParseAlerts(string(want)))
	require.NoError(t, err)
	fixture.RequireFile(t, file, got)
}
