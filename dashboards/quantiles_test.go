package dashboards_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// percentilesOf are the expressions of a panel by the end of their legends.
func percentilesOf(t *testing.T, title string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Title != title {
				continue
			}
			for _, q := range p.Targets[:len(p.Targets)-1] { // The last is the objective.
				_, name, _ := strings.Cut(q.LegendFormat, "{{model_id}} ")
				found[name] = strings.NewReplacer("$cluster", ".*", "$pool_id", ".*", "$model_id", ".*").Replace(q.Expr)
			}
		}
	}
	require.Len(t, found, 5, title)
	return found
}

// What a panel of percentiles shows of requests a second in the buckets up to
// 1 s, up to 5 s and without an end, and of their seconds in all.
func TestPercentilesShowNothingThatIsNotKnown(t *testing.T) {
	t.Parallel()
	promtool := cmp.Or(os.Getenv("PROMTOOL"), filepath.Join("..", ".cache", "bin", "promtool"))
	if _, err := os.Stat(promtool); err != nil && os.Getenv("CI") != "true" {
		t.Skip("promtool is not built: `make e2e` builds it")
	}
	promtool, err := filepath.Abs(promtool)
	require.NoError(t, err)
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	queries := percentilesOf(t, "Whole request, percentiles")

	var tests strings.Builder
	tests.WriteString("rule_files: [rules.yml]\nevaluation_interval: 15s\nfuzzy_compare: true\ntests:\n")
	for _, c := range []struct {
		name             string
		one, five, total int
		seconds          float64
		want             map[string]float64
	}{
		{
			"every percentile is in a bucket with an end", 90, 100, 100, 100,
			map[string]float64{"p50": 0.5 / 0.9, "p95": 3, "p99": 4.6, "mean": 1},
		},
		{
			"one request in fifty has no end: no p99 but the bound, the others are as they are", 90, 98, 100, 300,
			map[string]float64{"p50": 0.5 / 0.9, "p95": 3.5, "mean": 3, "p99 >": 5},
		},
		{
			"most requests have no end: only mean and bound are left", 10, 20, 100, 900,
			map[string]float64{"mean": 9, "p99 >": 5},
		},
		{
			"a few endless requests make a mean above the 99th percentile, which then says nothing", 995, 995, 1000, 3000,
			map[string]float64{"p50": 500.0 / 995, "p95": 950.0 / 995, "mean": 3},
		},
	} {
		fmt.Fprintf(&tests, "  - name: '%s'\n    interval: 15s\n    input_series:\n", c.name)
		series := func(suffix, le string, perPage float64) {
			fmt.Fprintf(&tests, "      - { series: 'llm_server_request_duration_seconds_%s{%spool_id=\"a\",replica_id=\"r\",model_id=\"m\"}', values: '0+%gx20' }\n", suffix, le, perPage)
		}
		series("bucket", `le="1",`, float64(c.one))
		series("bucket", `le="5",`, float64(c.five))
		series("bucket", `le="+Inf",`, float64(c.total))
		series("count", "", float64(c.total))
		series("sum", "", c.seconds)
		tests.WriteString("    promql_expr_test:\n")
		for name, expr := range queries {
			fmt.Fprintf(&tests, "      - expr: 'round(%s, 0.001)'\n        eval_time: 4m\n        exp_samples: [", expr)
			if v, there := c.want[name]; there {
				fmt.Fprintf(&tests, "{ labels: '{model_id=\"m\",pool_id=\"a\"}', value: %.3f }", v)
			}
			tests.WriteString("]\n")
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), rules, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tests.yml"), []byte(tests.String()), 0o600))
	cmd := exec.CommandContext(t.Context(), promtool, "test", "rules", "tests.yml")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
