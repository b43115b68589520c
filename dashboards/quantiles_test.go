package dashboards_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// panelOf returns a panel by its title.
func panelOf(t *testing.T, title string) dashboards.Panel {
	t.Helper()
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Title == title && p.Type != "row" {
				return p
			}
		}
	}
	require.Fail(t, "no such panel", title)
	return dashboards.Panel{}
}

// sent returns a query as Grafana sends it, with everything selected.
func sent(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "1m", "$__range", "2m").Replace(expr)
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(expr, ".*")
}

// percentilesOf returns the expressions of a panel by the end of their legends.
func percentilesOf(t *testing.T, title string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, q := range panelOf(t, title).Targets {
		if _, name, measured := strings.Cut(q.LegendFormat, "{{model_id}} "); measured {
			found[name] = sent(q.Expr)
		}
	}
	require.Len(t, found, 10, title)
	return found
}

// page holds the increase per page of a replica's buckets, by upper bound, and of the sum.
type page struct {
	replica, model string
	bounds         []string
	upTo           []float64
	seconds        float64
}

// series returns the series of pages over five minutes, in promtool's format.
func (p *page) series() string {
	var b strings.Builder
	one := func(suffix, le string, perPage float64) {
		fmt.Fprintf(
			&b,
			"      - { series: 'llm_server_request_duration_seconds_%s{%spool_id=\"a\",replica_id=%q,model_id=%q}', values: '0+%gx20' }\n",
			suffix,
			le,
			p.replica,
			p.model,
			perPage,
		)
	}
	for i, le := range p.bounds {
		one("bucket", fmt.Sprintf("le=%q,", le), p.upTo[i])
	}
	one("count", "", p.upTo[len(p.upTo)-1])
	one("sum", "", p.seconds)
	return b.String()
}

// wanted is the expected result of a query after four minutes: values by labels.
type wanted struct {
	expr   string
	values map[string]float64
}

// requireResults plays cases with the shipped rules: pages and the results of queries.
func requireResults(t *testing.T, cases map[string][]page, want func(name string) []wanted) {
	t.Helper()
	var tests strings.Builder
	for name, pages := range cases {
		fmt.Fprintf(&tests, "  - name: '%s'\n    interval: 15s\n    input_series:\n", name)
		for _, p := range pages {
			tests.WriteString(p.series())
		}
		tests.WriteString("    promql_expr_test:\n")
		for _, w := range want(name) {
			fmt.Fprintf(&tests, "      - expr: 'round(%s, 0.001)'\n        eval_time: 4m\n        "+
				"exp_samples: [", w.expr)
			for labels, v := range w.values {
				fmt.Fprintf(&tests, "{ labels: '%s', value: %.3f }, ", labels, v)
			}
			tests.WriteString("]\n")
		}
	}
	testRules(t, tests.String())
}

// testRules plays tests with the shipped rules.
func testRules(t *testing.T, tests string) {
	t.Helper()
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	rules, err := alerts.Render(values)
	require.NoError(t, err)
	fixture.PlayRules(t, rules, "15s", tests)
}

// Results of a percentile panel for requests in the buckets up to 1 s, up to 5 s and
// without an upper bound.
func TestUnknownPercentilesAreNotDrawn(t *testing.T) {
	t.Parallel()
	queries := percentilesOf(t, "Whole request, percentiles")
	cases, shown := make(map[string][]page), make(map[string]map[string]float64)
	for _, c := range []struct {
		name             string
		one, five, total float64
		seconds          float64
		want             map[string]float64
	}{
		{
			"every percentile is between two bounds", 40, 100, 100, 250,
			map[string]float64{"p50": 1 + 4*10.0/60, "p95": 1 + 4*55.0/60, "p99": 1 + 4*59.0/60, "mean": 2.5},
		},
		{
			"p50 is in the first bucket", 90, 100, 100, 100,
			map[string]float64{"p50 ≤": 1, "p95": 3, "p99": 4.6, "mean": 1},
		},
		{
			"all percentiles are in the first bucket", 100, 100, 100, 20,
			map[string]float64{"p50 ≤": 1, "p95 ≤": 1, "p99 ≤": 1, "mean": 0.2},
		},
		{
			"p99 is above the last bound", 40, 98, 100, 300,
			map[string]float64{"p50": 1 + 4*10.0/58, "p95": 1 + 4*55.0/58, "mean": 3, "p99 >": 5},
		},
		{
			"all percentiles are above the last bound", 10, 20, 100, 900,
			map[string]float64{"mean": 9, "p50 >": 5, "p95 >": 5, "p99 >": 5},
		},
		{
			"a mean above the 99th percentile", 995, 995, 1000, 3000,
			map[string]float64{"p50 ≤": 1, "p95 ≤": 1, "mean": 3},
		},
		{"no requests", 0, 0, 0, 0, nil},
	} {
		cases[c.name] = []page{{"r", "m", []string{"1", "5", "+Inf"}, []float64{c.one, c.five, c.total}, c.seconds}}
		shown[c.name] = c.want
	}
	requireResults(t, cases, func(name string) []wanted {
		var all []wanted
		for percentile, expr := range queries {
			w := wanted{expr: expr}
			if v, found := shown[name][percentile]; found {
				w.values = map[string]float64{`{model_id="m",pool_id="a"}`: v}
			}
			all = append(all, w)
		}
		return all
	})
}

// Replicas of one pool may have different buckets, because kinds and versions of servers
// differ. Only common bounds are summed, and sums never decrease with larger bounds.
func TestUnequalBucketsAreNotSummed(t *testing.T) {
	t.Parallel()
	coarse := func(replica, model string) page {
		return page{replica, model, []string{"0.5", "2", "10", "+Inf"}, []float64{15, 60, 150, 150}, 600}
	}
	fine := func(replica, model string) page {
		return page{replica, model, []string{"1", "2", "5", "10", "+Inf"}, []float64{3, 12, 27, 30, 30}, 90}
	}
	strange := page{"c", "m", []string{"0.3", "0.7", "+Inf"}, []float64{3, 6, 15}, 15}
	cases := map[string][]page{
		"one layout":                     {fine("a", "m"), fine("b", "m")},
		"two layouts in a pool":          {coarse("a", "m"), fine("b", "m")},
		"two layouts for two models":     {coarse("a", "m"), fine("b", "n")},
		"layouts without a common bound": {fine("a", "m"), strange},
	}
	// Requests per second up to the common bounds.
	cells := map[string]map[string]float64{
		"one layout":                     {"1": 0.4, "2": 1.6, "5": 3.6, "10": 4, "+Inf": 4},
		"two layouts in a pool":          {"2": 4.8, "10": 12, "+Inf": 12},
		"two layouts for two models":     {"2": 4.8, "10": 12, "+Inf": 12},
		"layouts without a common bound": {"+Inf": 3},
	}
	// The 95th percentile of a model, interpolated between the common bounds.
	percentiles := map[string]map[string]float64{
		"one layout":            {`{model_id="m",pool_id="a"}`: 5 + 5*0.2/0.4},
		"two layouts in a pool": {`{model_id="m",pool_id="a"}`: 2 + 8*6.6/7.2},
		"two layouts for two models": {
			`{model_id="m",pool_id="a"}`: 2 + 8*82.5/90,
			`{model_id="n",pool_id="a"}`: 5 + 5*1.5/3,
		},
		"layouts without a common bound": nil,
	}
	heat, p95 := sent(
		panelOf(t, "Whole request, distribution").Targets[0].Expr,
	), percentilesOf(t, "Whole request, percentiles")["p95"]
	requireResults(t, cases, func(name string) []wanted {
		// promtool evaluates at a single moment, the end of the panel's range.
		common := make(map[string]float64)
		for le, v := range cells[name] {
			common[fmt.Sprintf("{le=%q}", le)] = v
		}
		return []wanted{{heat, common}, {p95, percentiles[name]}}
	})
}

// Every panel with a percentile also shows the bound above or below it, and the mean,
// unless another panel does.
func TestPercentilePanelsHaveBoundsAndMean(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"Time to first token, p95 by replica":   "Time to first token, percentiles",
		"Time between tokens, p95 by replica":   "Time between tokens, percentiles",
		"Time per output token, p95 by replica": "Time per output token, percentiles",
		"Whole request, p95 by replica":         "Whole request, percentiles",
	}
	shown := regexp.MustCompile(`histogram_quantile|_percentile_seconds`)
	named := regexp.MustCompile(`\bp(50|95|99)$`)
	complete := make(map[string]bool)
	var found []string
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			var all []string
			percentile := false
			for _, q := range p.Targets {
				percentile = percentile || shown.MatchString(q.Expr)
				all = append(all, q.LegendFormat)
			}
			if p.Type == "table" {
				for _, r := range p.FieldConfig.Overrides {
					all = append(all, r.Matcher.Options)
				}
			}
			names := strings.Join(all, "\n") + "\n"
			if !percentile {
				continue
			}
			if elsewhere[p.Title] != "" {
				require.True(t, complete[elsewhere[p.Title]], "%s is next to %s", p.Title, elsewhere[p.Title])
				continue
			}
			found = append(found, p.Title)
			for _, line := range all {
				if ends := named.FindString(line); ends != "" {
					require.Contains(t, names, ends+" ≤", p.Title)
					require.Contains(t, names, ends+" >", p.Title)
				}
			}
			require.Contains(t, names, "mean", p.Title)
			complete[p.Title] = true
		}
	}
	require.Len(
		t,
		slices.Compact(slices.Sorted(slices.Values(found))),
		13,
		"panels of percentiles: %s",
		strings.Join(found, ", "),
	)
}

// Means over replicas are weighted by their requests. The plain mean of several exporters'
// values for one replica is right.
func TestMeansAreWeightedByRequests(t *testing.T) {
	t.Parallel()
	unweighted := regexp.MustCompile(`\bavg\b[^/]*_(average|percentile|seconds|tokens|ratio_estimate)\b`)
	exporters := regexp.MustCompile(`avg by \([^)]*replica_id[^)]*\)`)
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				require.NotRegexp(t, unweighted, exporters.ReplaceAllString(q.Expr, ""), "%s / %s", d.Title, p.Title)
			}
		}
	}
}
