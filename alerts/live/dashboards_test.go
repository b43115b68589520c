//go:build e2e_live

package live

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// variable matches a variable in the query of a dashboard.
var variable = regexp.MustCompile(`\$\w+`)

// panelQuery is a query of a panel, with its variables replaced.
type panelQuery struct {
	dashboard string
	panel     *dashboards.Panel
	// title is the dashboard and the title of the panel, name also the reference of the query.
	title, name  string
	legend, expr string
}

// panelQueries returns the queries of all dashboards for a pool, or all pools if it is empty, with rates
// and ranges over these times.
func panelQueries(rates, ranges, pool string) (all []panelQuery) {
	replace := strings.NewReplacer(
		"$__rate_interval", rates, "$__range", ranges, "$pool_id", cmp.Or(pool, ".*"))
	for _, d := range dashboards.All() {
		for i := range d.Panels {
			p := &d.Panels[i]
			title := d.UID + " / " + p.Title
			for _, q := range p.Targets {
				expr := variable.ReplaceAllString(replace.Replace(q.Expr), ".*")
				all = append(all, panelQuery{d.UID, p, title, title + " / " + q.RefID, q.LegendFormat, expr})
			}
		}
	}
	return all
}
