package dashboards

import (
	"regexp"
	"slices"
	"strings"
)

// Pools of different clusters may have the same name. Queries, legends and tables are written
// without the cluster label; complete adds it to every panel. That changes nothing if series lack
// the label.

const clusterMatcher = `cluster=~"$cluster"`

var (
	legendOwner = regexp.MustCompile(`\{\{(pool_id|instance)\}\}`)
	grouping    = regexp.MustCompile(`\b(by|on) \(`)
	selector    = regexp.MustCompile(`([A-Za-z0-9_:])\{`)
)

// byCluster adds the cluster to the selectors and groupings of an expression, except for heatmaps,
// which group only by le.
func byCluster(expr string) string {
	expr = selector.ReplaceAllString(expr, "$1{"+strings.ReplaceAll(clusterMatcher, "$", "$$")+",")
	return strings.ReplaceAll(grouping.ReplaceAllString(expr, "$1 (cluster, "), "by (cluster, le)", "by (le)")
}

func splitByCluster(p *Panel) {
	for i := range p.Targets {
		q := &p.Targets[i]
		q.Expr = byCluster(q.Expr)
		q.LegendFormat = legendOwner.ReplaceAllString(q.LegendFormat, "{{cluster}} $0")
	}
}

// inSelectedClusters restricts the selector of a variable to the chosen clusters.
func inSelectedClusters(selector string) string {
	if name, matchers, found := strings.Cut(selector, "{"); found {
		return name + "{" + clusterMatcher + "," + matchers
	}
	return selector + "{" + clusterMatcher + "}"
}

func (d *Dashboard) withoutClusterVariable(clusterLabel string) *Dashboard {
	if clusterLabel != "" {
		return d
	}
	plain := *d
	plain.Templating.List = slices.DeleteFunc(
		slices.Clone(d.Templating.List),
		func(v Variable) bool { return v.Name == "cluster" },
	)
	return &plain
}

// withClusterLabel replaces the cluster label in the JSON of a dashboard. The chart and
// the mixin replace the same texts.
func withClusterLabel(text, label string) string {
	if label == "" {
		return strings.NewReplacer(
			`{cluster=~\"$cluster\",`,
			"{",
			`{cluster=~\"$cluster\"}`,
			"",
			"(cluster, ",
			"(",
			"{{cluster}} ",
			"",
			"${cluster:queryparam}&",
			"",
		).Replace(text)
	}
	return strings.NewReplacer(
		`{cluster=~\"$cluster\"`,
		"{"+label+`=~\"$cluster\"`,
		"(cluster, ",
		"("+label+", ",
		"{{cluster}} ",
		"{{"+label+"}} ",
		", cluster)",
		", "+label+")",
		`"cluster": `,
		`"`+label+`": `,
	).Replace(text)
}
