package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

const windowGauges = `
## Without window gauges

` + "`exposition.window_gauges: false`" + ` omits the families above that are the *same in PromQL*, computed from counters and histograms that stay. A test compares each query with its family on the pages
of simulated servers, over the same samples. A range of
` + "`[1m]`" + ` has one scrape less than a ` + "`global.window`" + ` of one minute; add a scrape interval for the same result. Differences: in the first minute of a counter and across a
restart, where the family is absent, ` + "`rate`" + ` extrapolates; if a percentile is beyond the last bound, where the family is absent, ` + "`histogram_quantile`" + ` returns that
bound; and a Prometheus that scrapes the exporter less often has fewer samples.
`

const lost = `
Status pages, ` + "`top`" + `, aliases, autoscaling, recording rules and alerts do not need them. These panels of the dashboards do, and show less or nothing:

| dashboard | panel | reads |
| --- | --- | --- |
`

// withoutWindowGauges writes what exposition.window_gauges: false omits, and which panels
// need it.
func withoutWindowGauges(b *bytes.Buffer) {
	b.WriteString(windowGauges)
	var names []string
	for _, f := range assess.Catalogue() {
		if f.InPromQL.Query != "" {
			names = append(names, f.Name)
		}
	}
	b.WriteString(lost)
	named := regexp.MustCompile(`(` + strings.Join(names, "|") + `)\b`)
	boards := dashboards.All()
	for i := range boards {
		for _, p := range boards[i].Panels {
			var read []string
			for _, q := range p.Targets {
				read = append(read, named.FindAllString(q.Expr, -1)...)
			}
			if len(read) > 0 {
				slices.Sort(read)
				fmt.Fprintf(b, "| %s | %s | %s |\n", boards[i].Title, cell(p.Title), words(slices.Compact(read)))
			}
		}
	}
}
