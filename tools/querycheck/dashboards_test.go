package querycheck_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts/vocabulary"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
	"github.com/trtllm-exporter/trtllm_exporter/tools/querycheck"
)

// withRules is the vocabulary with what the recording rules add.
func withRules(t *testing.T) vocabulary.Vocabulary {
	t.Helper()
	v := vocabulary.New()
	for _, r := range rules(t) {
		if r.Record != "" {
			result, _ := querycheck.Check(v, r.Expr)
			for l := range r.Labels {
				result = append(result, l)
			}
			v.Record(r.Record, result)
		}
	}
	return v
}

// asGrafanaSends puts values in place of variables.
func asGrafanaSends(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$__interval", "1m").Replace(expr)
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, ".*")
}

func TestPanelsUseOnlyWhatTheExporterServes(t *testing.T) {
	t.Parallel()
	v := withRules(t)
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
				of, name, found := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(c.Definition, "label_values("), ")"), ", ")
				require.True(t, found, c.Definition)
				result, problems := querycheck.Check(v, asGrafanaSends(of))
				require.Empty(t, problems, c.Definition)
				require.Contains(t, result, name, c.Definition)
			}
		}
	}
}
