package top

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// testRules returns a test that scrapes a page of /metrics twice and evaluates recording
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
	return object{"name": name, "interval": "1m", "input_series": series, "promql_expr_test": queries}
}

// allDashboards are made once, for each panel of each test.
var allDashboards = sync.OnceValue(dashboards.All)

// panel returns the query of a panel that begins with a prefix, for all pools.
func panel(t *testing.T, title, prefix string) string {
	t.Helper()
	for _, d := range allDashboards() {
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

// requireRules plays tests with the shipped rules.
func requireRules(t *testing.T, tests []object) {
	t.Helper()
	rules, err := os.ReadFile("../../../alerts/rules.yml")
	require.NoError(t, err)
	text, err := yaml.Marshal(tests)
	require.NoError(t, err)
	fixture.PlayRules(t, rules, "1m", string(text))
}
