package exposition_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// TestOpenMetricsPagesOfSuite reads every accepted case of the suite and writes it alone, with
// itself and with other targets.
func TestOpenMetricsPagesOfSuite(t *testing.T) {
	t.Parallel()
	root := shared(t, "corpora/openmetrics/tests/testdata/parsers")
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	bystander := parse(t, exposition.Options{}, everyType+"# TYPE a gauge\na 1\n# TYPE a_total counter\n"+
		"a_total 2\n", replicaLabel("x"))
	other := parse(t, exposition.Options{}, "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\n"+
		"a_count 2\na_sum 3\n", replicaLabel("y"))
	for _, c := range cases {
		text, err := os.ReadFile(filepath.Join(root, c.Name(), "metrics"))
		require.NoError(t, err)
		body := string(text)
		b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics, replicaLabel("z"))
		if err != nil {
			continue
		}
		again, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics, replicaLabel("w"))
		require.NoError(t, err)
		for _, blocks := range [][]*exposition.Block{{b}, {b, again}, {bystander, other, b}} {
			for _, scheme := range escapings() {
				requireEveryLine(t, blocks, scheme, pageIn(t, scheme, blocks...))
			}
		}
	}
}
