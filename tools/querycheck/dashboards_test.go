package querycheck_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// withRules returns the vocabulary with the recorded series. A rule may read what earlier rules recorded, and what any
// rule did at the evaluation before.
func withRules(t *testing.T) vocabulary.Vocabulary {
	t.Helper()
	v := vocabulary.New()
	for range 2 {
		for _, r := range rules(t) {
			if r.Record != "" {
				result, _ := querycheck.Check(v, r.Expr)
				v.Record(r.Record, slices.AppendSeq(result, maps.Keys(r.Labels)))
			}
		}
	}
	return v
}

// asGrafanaSends replaces variables by values.
func asGrafanaSends(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$__interval", "1m").Replace(expr)
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, ".*")
}

func TestPanelsUseServedMetrics(t *testing.T) {
	t.Parallel()
	requirePanels(t, withRules(t))
}

// requirePanels requires that queries, legends and variables use only names in v.
func requirePanels(t *testing.T, v vocabulary.Vocabulary) {
	t.Helper()
	label := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			where := d.Title + " / " + p.Title
			for _, q := range p.Targets {
				result, problems := querycheck.Check(v, asGrafanaSends(q.Expr))
				require.Empty(t, problems, "%s\n%s", where, q.Expr)
				for _, used := range label.FindAllStringSubmatch(q.LegendFormat, -1) {
					require.Contains(t, result, used[1], "the legend of %s\n%s", where, q.Expr)
				}
			}
		}
		for _, m := range d.Annotations.List {
			result, problems := querycheck.Check(v, asGrafanaSends(m.Expr))
			require.Empty(t, problems, "%s / %s\n%s", d.Title, m.Name, m.Expr)
			for _, used := range label.FindAllStringSubmatch(m.TextFormat, -1) {
				require.Contains(t, result, used[1], "the text of %s\n%s", m.Name, m.Expr)
			}
		}
		for _, c := range d.Templating.List {
			if c.Type == "query" {
				of, name, found := strings.Cut(
					strings.TrimSuffix(strings.TrimPrefix(c.Definition, "label_values("), ")"),
					", ",
				)
				require.True(t, found, c.Definition)
				result, problems := querycheck.Check(v, asGrafanaSends(of))
				require.Empty(t, problems, c.Definition)
				require.Contains(t, result, name, c.Definition)
			}
		}
	}
}

// withoutVersions returns the vocabulary of identity.versions: info, where only
// llm_server_info has versions.
func withoutVersions(t *testing.T) vocabulary.Vocabulary {
	t.Helper()
	v := withRules(t)
	removed := 0
	for name, m := range v {
		if name == "llm_server_info" {
			require.Subset(t, m.Labels, []string{"engine_version", "trtllm_version"})
			continue
		}
		names := slices.DeleteFunc(
			slices.Clone(m.Labels),
			func(l string) bool { return l == "engine_version" || l == "trtllm_version" },
		)
		removed += len(m.Labels) - len(names)
		v[name] = vocabulary.Metric{Type: m.Type, Labels: names}
	}
	require.Greater(t, removed, 200)
	return v
}

// Queries that need versions join llm_server_info by pool and replica, which also works
// with versions on all series.
func TestQueriesWorkWithVersionsOnInfo(t *testing.T) {
	t.Parallel()
	v := withoutVersions(t)
	for _, r := range rules(t) {
		_, problems := querycheck.Check(v, r.Expr)
		require.Empty(t, problems, r.Record+r.Alert)
	}
	requirePanels(t, v)
}
