package dashboards

import (
	"regexp"
	"slices"
	"strings"
)

// Pools of two clusters may have equal names. Queries, legends and tables are
// written without clusters; every panel gets the label when its dashboard is
// completed. Where no series has the label nothing changes.

const (
	// ofCluster is the selector of the clusters that were chosen.
	ofCluster = `cluster=~"$cluster"`
	// inLegend puts the cluster before the name of a pool, replica or exporter.
	inLegend = "{{cluster}} "
)

var (
	owner    = regexp.MustCompile(`\{\{(pool_id|instance)\}\}`)
	grouping = regexp.MustCompile(`\b(by|on) \(`)
	selector = regexp.MustCompile(`([A-Za-z0-9_:])\{`)
)

// clustered keeps the clusters in an expression apart. A heatmap, which is by
// le alone, adds them up.
func clustered(expr string) string {
	expr = selector.ReplaceAllString(expr, "$1{"+strings.ReplaceAll(ofCluster, "$", "$$")+",")
	return strings.ReplaceAll(grouping.ReplaceAllString(expr, "$1 (cluster, "), "by (cluster, le)", "by (le)")
}

// inClusters does so for a panel.
func inClusters(p *Panel) {
	for i := range p.Targets {
		q := &p.Targets[i]
		q.Expr = clustered(q.Expr)
		q.LegendFormat = owner.ReplaceAllString(q.LegendFormat, inLegend+"$0")
	}
}

// chooseCluster lets the user choose clusters, of all that a metric has.
func chooseCluster(of string) Variable { return choice("cluster", "Cluster", of) }

// ofClusters narrows the choices of a variable to the clusters that were chosen.
func ofClusters(of string) string {
	if name, matchers, found := strings.Cut(of, "{"); found {
		return name + "{" + ofCluster + "," + matchers
	}
	return of + "{" + ofCluster + "}"
}

// choosing is the dashboard as it is chosen from: without a label of clusters
// there is none to choose.
func (d *Dashboard) choosing(clusterLabel string) *Dashboard {
	if clusterLabel != "" {
		return d
	}
	plain := *d
	plain.Templating.List = slices.DeleteFunc(slices.Clone(d.Templating.List), func(v Variable) bool { return v.Name == "cluster" })
	return &plain
}

// labelled gives the text of a dashboard another label of clusters. The chart and
// the mixin replace the same texts.
func labelled(text, label string) string {
	if label == "" {
		return strings.NewReplacer(
			`{cluster=~\"$cluster\",`, "{", `{cluster=~\"$cluster\"}`, "", "(cluster, ", "(", "{{cluster}} ", "", "${cluster:queryparam}&", "",
		).Replace(text)
	}
	return strings.NewReplacer(
		`{cluster=~\"$cluster\"`, "{"+label+`=~\"$cluster\"`, "(cluster, ", "("+label+", ", "{{cluster}} ", "{{"+label+"}} ",
		", cluster)", ", "+label+")", `"cluster": `, `"`+label+`": `,
	).Replace(text)
}
