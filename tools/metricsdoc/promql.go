package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

const windowGauges = `
## Without window gauges

` + "`exposition.window_gauges: false`" + ` keeps from the page the families above that are the *same in PromQL*: what a query gives from the counters and histograms that stay on it. A test evaluates each
query on the pages of simulated servers: it has what the family has, with a millionth as tolerance, over the same samples. A range of
` + "`[1m]`" + ` has those of one scrape less than ` + "`global.window`" + ` of one minute has; add a scrape interval for the same. What differs: in the first minute of
a counter and over a restart, where the family is absent, ` + "`rate`" + ` guesses; where a percentile is beyond the last bound, where the family is absent,
` + "`histogram_quantile`" + ` has that bound; and a Prometheus that scrapes the exporter less often than the exporter its servers has fewer samples.
`

const lost = `
Status pages, ` + "`top`" + `, aliases, autoscaling, recording rules and alerts need none of them. These panels of the dashboards do, and show less
or nothing:

| dashboard | panel | reads |
| --- | --- | --- |
`

// withoutWindowGauges is what exposition.window_gauges leaves out, and which panels
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
	boards := dashboards.All()
	for i := range boards {
		for _, p := range boards[i].Panels {
			var read []string
			for _, q := range p.Targets {
				read = append(read, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !reads(q.Expr, name) })...)
			}
			if len(read) > 0 {
				slices.Sort(read)
				fmt.Fprintf(b, "| %s | %s | %s |\n", boards[i].Title, cell(p.Title), words(slices.Compact(read)))
			}
		}
	}
}

// reads says whether a query reads a family of gauges.
func reads(query, name string) bool {
	for rest := query; ; {
		_, after, found := strings.Cut(rest, name)
		if !found {
			return false
		}
		if after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyz_:") {
			return true
		}
		rest = after
	}
}
