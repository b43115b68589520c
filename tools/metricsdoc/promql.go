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

// withoutWindowGauges writes what exposition.window_gauges: false omits, and which panels
// need it.
func withoutWindowGauges(b *bytes.Buffer) {
	b.WriteString("\n" + windowGauges)
	var names []string
	for _, f := range assess.Catalogue() {
		if f.InPromQL.Query != "" {
			names = append(names, f.Name)
			fmt.Fprintf(b, "| `%s` | `%s` |\n", f.Name, cell(f.InPromQL.Query))
		}
	}
	b.WriteString("\n" + lostPanels)
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
