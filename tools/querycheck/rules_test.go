package querycheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// rules returns all rules in the order of evaluation.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	var all []rulefmt.Rule
	for _, g := range groups(t) {
		all = append(all, g.Rules...)
	}
	return all
}

// groups returns the rules of each group.
func groups(t *testing.T) []rulefmt.RuleGroup {
	t.Helper()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	v["grafana"], v["exporter"] = "https://grafana.example", "http://exporter.example:9802"
	text, err := alerts.Render(v)
	require.NoError(t, err)
	all, errs := rulefmt.Parse(
		text,
		false,
		model.UTF8Validation,
		parser.NewParser(parser.Options{}),
		promslog.NewNopLogger(),
	)
	require.Empty(t, errs)
	return all.Groups
}

func TestRulesUseServedMetrics(t *testing.T) {
	t.Parallel()
	v := withRules(t)
	recorded := make(map[string][]string)
	for _, r := range rules(t) {
		name := r.Record + r.Alert
		result, problems := querycheck.Check(v, r.Expr)
		require.Empty(t, problems, name)
		for l := range r.Labels {
			result = append(result, l)
		}
		slices.Sort(result)
		result = slices.Compact(result)
		if r.Record != "" {
			if before, again := recorded[r.Record]; again {
				require.Equal(t, before, result, "%s is recorded with other labels the second time", r.Record)
			}
			recorded[r.Record] = result
			continue
		}
		for _, field := range []string{"summary", "description", "runbook_url", "dashboard_url", "status_url"} {
			require.NotEmpty(t, r.Annotations[field], "%s has no %s", r.Alert, field)
			for _, used := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations[field], -1) {
				require.Contains(
					t,
					result,
					used[1],
					"%s of %s names a label that its expression does not keep",
					field,
					r.Alert,
				)
			}
		}
		require.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)
		require.Contains(t, []string{"pool", "replica", "exporter"}, r.Labels["scope"], r.Alert)
		switch r.Labels["scope"] {
		case "replica":
			require.Subset(
				t,
				result,
				[]string{"pool_id", "replica_id"},
				"%s cannot be inhibited by its replica",
				r.Alert,
			)
		case "pool":
			require.Contains(t, result, "pool_id", "%s cannot be inhibited by its pool", r.Alert)
		}
		require.NotContains(t, result, "trtllm_version", "an upgrade would restart %s", r.Alert)
	}
}

// TestRulesAndAutoscalersNeedNoWindowGauge checks them without the series that
// exposition.window_gauges: false omits.
func TestRulesAndAutoscalersNeedNoWindowGauge(t *testing.T) {
	t.Parallel()
	texts := make(map[string]string)
	for _, r := range rules(t) {
		texts[r.Record+r.Alert] = r.Expr
	}
	files, err := filepath.Glob("../../deploy/autoscaling/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	for _, f := range assess.Catalogue() {
		if f.InPromQL.Query == "" {
			continue
		}
		named := regexp.MustCompile(`\b` + f.Name + `\b`)
		for name, text := range texts {
			require.False(
				t,
				named.MatchString(text),
				"%s reads %s, of which a query gives the same: %s",
				name,
				f.Name,
				f.InPromQL.Query,
			)
		}
	}
}

// TestRatesOfPairArePerSeries requires that two exporters with the same series count it
// once, and two series twice: the labels that the largest rate keeps are all that
// distinguish the series of a replica.
func TestRatesOfPairArePerSeries(t *testing.T) {
	t.Parallel()
	names := vocabulary.New()
	common := []string{model.MetricNameLabel, "engine", "engine_version", "trtllm_version", "instance", "job", "tier"}
	seen := 0
	for _, r := range rules(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		require.NoError(t, err)
		parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
			s, isSelector := node.(*parser.VectorSelector)
			if !isSelector {
				return nil
			}
			for i := len(path) - 1; i > 0; i-- {
				call, isCall := path[i].(*parser.Call)
				if !isCall || call.Func.Name != "rate" {
					continue
				}
				for i--; i >= 0; i-- {
					by, isTaken := path[i].(*parser.AggregateExpr)
					if !isTaken || by.Op != parser.MAX && by.Op != parser.AVG {
						continue
					}
					if compared, isCompared := path[max(i-1, 0)].(*parser.BinaryExpr); isCompared &&
						compared.Op.IsComparisonOperator() {
						return nil // Whether any rate is above a limit.
					}
					seen++
					for _, l := range names[s.Name].Labels {
						if l == "replica_id" && slices.Contains(by.Grouping, "gpu_uuid") {
							continue // Two servers on a host show the same GPU.
						}
						if !slices.Contains(common, l) && !slices.Contains(by.Grouping, l) &&
							!slices.ContainsFunc(
								s.LabelMatchers,
								func(m *labels.Matcher) bool { return m.Name == l && m.Type == labels.MatchEqual },
							) {
							t.Errorf("%s: of %s that differ in %s the largest or the mean is "+
								"taken, not all", r.Record+r.Alert, s.Name, l)
						}
					}
					return nil
				}
			}
			return nil
		})
	}
	require.Greater(t, seen, 40)
}
