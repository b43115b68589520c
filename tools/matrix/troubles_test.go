package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

func TestWitnessTable(t *testing.T) {
	table, err := matrix.WitnessTable()
	require.NoError(t, err)
	fixture.RequireFile(t, "testdata/witnesses.txt", table)
}
