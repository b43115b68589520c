package top

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// ruleTests is a file of unit tests for promtool.
type ruleTests struct {
	Rules []string   `yaml:"rule_files"`
	Order []string   `yaml:"group_eval_order"`
	Fuzzy bool       `yaml:"fuzzy_compare"`
	Tests []ruleTest `yaml:"tests"`
}

// ruleTest is a page that Prometheus scrapes twice, and what queries return then.
type ruleTest struct {
	Name    string         `yaml:"name"`
	Series  []inputSeries  `yaml:"input_series"`
	Queries []queryAndWant `yaml:"promql_expr_test"`
}

type inputSeries struct{ Series, Values string }

type queryAndWant struct {
	Expr    string   `yaml:"expr"`
	Time    string   `yaml:"eval_time"`
	Samples []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string
	Value  float64
}

// counts are the replicas of a pool as its status page counts them.
type counts struct{ all, serving, suspected, saturated float64 }

// testRules returns a test of the recording rules, an alert and panels for a page of /metrics.
func testRules(t *testing.T, name, page string, n counts) ruleTest {
	t.Helper()
	block, err := exposition.NewCache(exposition.Options{}).Parse([]byte(page), "")
	require.NoError(t, err)
	test := ruleTest{Name: name}
	for line := range block.Shape().Lines() {
		if v, ok := block.Value(line); ok {
			text := strconv.FormatFloat(v, 'f', -1, 64)
			test.Series = append(test.Series, inputSeries{block.Shape().Labels(line).String(), text + " " + text})
		}
	}
	want := func(expr string, v float64) {
		test.Queries = append(test.Queries, queryAndWant{"sum(" + expr + ") or vector(0)", "1m", []sample{{"{}", v}}})
	}
	want("pool:llm_server_replicas:count", n.all)
	want("pool:llm_server_replicas_serving:sum", n.serving)
	want("pool:llm_server_down:max", oneIf(n.serving == 0))
	want("max by (pool_id, replica_id) (llm_server_suspected) == 1", n.suspected)
	want("max(pool_model:llm_server_saturated:avg) > bool 0", oneIf(n.saturated > 0))
	want(panel(t, "Pools", "count by "), n.all)
	want(panel(t, "Pools", "sum by (cluster, pool_id) (max by "), n.serving/n.all)
	want(panel(t, "Replicas serving", ""), n.serving/n.all)
	want(panel(t, "Serving and needed replicas", ""), n.serving)
	return test
}

func oneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// panel returns a query of a panel of the dashboards that begins with a prefix, for all pools.
func panel(t *testing.T, title, prefix string) string {
	t.Helper()
	for _, d := range dashboards.All() {
		for i := range d.Panels {
			for _, query := range d.Panels[i].Targets {
				if d.Panels[i].Title == title && strings.HasPrefix(query.Expr, prefix) {
					return regexp.MustCompile(`\$\w+`).ReplaceAllString(query.Expr, ".*")
				}
			}
		}
	}
	require.Fail(t, "no such panel", title)
	return ""
}

// requireRules runs the tests with the shipped rules in promtool. Without promtool it is skipped,
// but never so in CI.
func requireRules(t *testing.T, tests []ruleTest) {
	t.Helper()
	program, err := filepath.Abs(cmp.Or(os.Getenv("PROMTOOL"), "../../../.cache/bin/promtool"))
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "`make .cache/bin/promtool` builds it")
		t.Skip("promtool is not built")
	}
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	groups, err := alerts.Groups(values)
	require.NoError(t, err)
	file := ruleTests{Rules: []string{"rules.yml"}, Fuzzy: true, Tests: tests}
	for _, m := range regexp.MustCompile(`(?m)^ *- name: (\S+)$`).FindAllStringSubmatch(groups[0].Text, -1) {
		file.Order = append(file.Order, m[1])
	}
	text, err := yaml.Marshal(file)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(groups[0].Text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tests.yml"), text, 0o600))
	cmd := exec.CommandContext(t.Context(), program, "test", "rules", "tests.yml")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
