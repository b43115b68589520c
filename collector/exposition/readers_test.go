package exposition_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// strictReader parses every file of a folder with the strict parser of prometheus_client
// and prints the rejected ones.
const strictReader = `
import os, sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), newline="\n") as f:
        try:
            for family in text_fd_to_metric_families(f):
                pass
        except Exception as e:
            print(name + ": " + repr(e))
`

// requireStrict requires that prometheus_client accepts all pages. PYTHON is an
// interpreter with that module, as installed by `make test-python`; without it the check
// is skipped.
func requireStrict(t *testing.T, pages map[string]string) {
	t.Helper()
	python, err := exec.LookPath(cmp.Or(os.Getenv("PYTHON"), "python3"))
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import prometheus_client.openmetrics.parser").Run()
	}
	if os.Getenv("PYTHON") != "" {
		require.NoError(t, err)
	}
	if err != nil {
		t.Log("python3 with prometheus_client is not here: its strict reader is left out")
		return
	}
	folder := t.TempDir()
	for name, page := range pages {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(page), 0o600))
	}
	refused, err := exec.CommandContext(t.Context(), python, "-c", strictReader, folder).CombinedOutput()
	require.NoError(t, err, string(refused))
	if line, _, _ := strings.Cut(string(refused), "\n"); line != "" {
		name, _, _ := strings.Cut(line, ": ")
		require.Fail(t, fmt.Sprintf("%d of %d pages are refused, first %s", strings.Count(string(refused), "\n"), len(pages), line), pages[name])
	}
}

// TestOpenMetricsPagesOfSuite writes every accepted case of the suite on a page
// of its own and on one with other targets, and parses both with Prometheus' and the
// strict parser.
func TestOpenMetricsPagesOfSuite(t *testing.T) {
	t.Parallel()
	root := shared(t, "corpora/openmetrics/tests/testdata/parsers")
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	pages := make(map[string]string)
	bystander := parse(t, exposition.Options{}, everyType+"# TYPE a gauge\na 1\n# TYPE a_total counter\na_total 2\n", replicaLabel("x"))
	other := parse(t, exposition.Options{}, "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_count 2\na_sum 3\n", replicaLabel("y"))
	for _, c := range cases {
		name := c.Name()
		text, err := os.ReadFile(filepath.Join(root, name, "metrics"))
		require.NoError(t, err)
		body := string(text)
		b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics, replicaLabel("z"))
		if err != nil {
			continue
		}
		for scheme, format := range textFormats() {
			for with, blocks := range map[string][]*exposition.Block{"alone": {b}, "with bystanders": {bystander, other, b}, "with itself": {b, b}} {
				if with == "with itself" {
					again, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, openMetrics, replicaLabel("w"))
					require.NoError(t, err)
					blocks[1] = again
				}
				page := pageIn(t, format, blocks...)
				requireReaders(t, page, format)
				if format.FormatType() == expfmt.TypeOpenMetrics {
					pages[name+" "+with+" "+scheme] = page
				}
			}
		}
	}
	requireStrict(t, pages)
}

// mutatePage returns a page with some values and names changed.
func mutatePage(g generator, page string) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		i := strings.LastIndexByte(line, ' ')
		if line[0] != '#' && g.IntN(8) == 0 {
			line = line[:i+1] + []string{"NaN", "-1", "+Inf", "-Inf", "0.5", "1e3", "-0", "1e300"}[g.IntN(8)] + "\n"
		}
		if strings.HasPrefix(line, "d") && g.IntN(2) == 0 {
			line = strings.Replace(line, "{", "_created{", 1)
		}
		out.WriteString(line)
	}
	return out.String()
}
