package top

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// counts holds the numbers of replicas on the status page of a pool; those that load or drain are excused.
type counts struct{ all, serving, excused, suspected, saturated float64 }

// object is a YAML object.
type object map[string]any

// testRules returns a promtool test that scrapes a page of /metrics twice and evaluates recording
// rules and panels.
func testRules(t *testing.T, name, page string, n counts) object {
	t.Helper()
	block, err := exposition.NewCache(exposition.Options{}).Parse([]byte(page), "", nil)
	require.NoError(t, err)
	var series, queries []object
	oneIf := map[bool]float64{true: 1}
	for line := range block.Shape().Lines() {
		if v, ok := block.Value(line); ok {
			text := strconv.FormatFloat(v, 'f', -1, 64)
			series = append(series, object{"series": block.Shape().Labels(line).String(), "values": text + " " + text})
		}
	}
	want := func(expr string, v float64) {
		queries = append(queries, object{
			"expr":        "sum(" + expr + ") or vector(0)",
			"eval_time":   "1m",
			"exp_samples": []object{{"labels": "{}", "value": v}},
		})
	}
	want("pool:llm_server_replicas:count", n.all)
	want("pool:llm_server_replicas_serving:sum", n.serving)
	want("pool:llm_server_down:max", oneIf[n.serving == 0 && n.excused < n.all])
	want("max by (pool_id, replica_id) (llm_server_suspected) == 1", n.suspected)
	want("max(pool_model:llm_server_saturated:avg) > bool 0", oneIf[n.saturated > 0])
	want(panel(t, "Pools", "count by "), n.all)
	want(panel(t, "Pools", "sum by (cluster, pool_id) (max by "), n.serving/n.all)
	want(panel(t, "Replicas serving", ""), n.serving/n.all)
	want(panel(t, "Saturated replicas", ""), n.saturated)
	want(panel(t, "Serving and needed replicas", ""), n.serving)
	return object{"name": name, "input_series": series, "promql_expr_test": queries}
}

// panel returns the query of a panel that begins with a prefix, for all pools.
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

// requireRules runs promtool tests with the shipped rules. Without promtool the test is skipped,
// except in CI.
func requireRules(t *testing.T, tests []object) {
	t.Helper()
	rules, err := filepath.Abs("../../../alerts/rules.yml")
	require.NoError(t, err)
	text, err := yaml.Marshal(object{"rule_files": []string{rules}, "fuzzy_compare": true, "tests": tests})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "tests.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	fixture.Run(t, ".", fixture.Program(t, "promtool"), "test", "rules", file)
}
