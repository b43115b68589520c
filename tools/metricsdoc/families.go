package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// sections writes the families of each section: a table to find one in, and a
// block for each.
func sections(w *bytes.Buffer, all []derive.Family) {
	for len(all) > 0 {
		end := 1
		for end < len(all) && all[end].Section == all[0].Section {
			end++
		}
		part := all[:end]
		all = all[end:]
		fmt.Fprintf(w, "\n## %s\n\n| family | type | grade | what it is |\n| --- | --- | --- | --- |\n", part[0].Section)
		for i := range part {
			f := &part[i]
			fmt.Fprintf(w, "| [`%s`](#%s) | %s | %s | %s |\n", f.Name, f.Name, f.Type, f.Grade, cell(short(f.Help)))
		}
		for i := range part {
			block(w, &part[i])
		}
	}
}

// block is all that is known of a family.
func block(w *bytes.Buffer, f *derive.Family) {
	fmt.Fprintf(w, "\n### `%s`\n\n%s\n\n", f.Name, f.Help)
	about := []string{string(f.Type), "grade " + string(f.Grade)}
	if f.Unit != "" {
		about = append(about, "in "+unitWord(f.Unit))
	}
	about = append(about, "of each "+string(f.Scope))
	if len(f.Labels) > 0 {
		about = append(about, "labels "+words(f.Labels))
	}
	fmt.Fprintf(w, "* %s\n* servers: %s\n* formula: %s\n* query: `%s`\n", strings.Join(about, ", "), kinds(f.Engines), f.Formula, query(f))
	if f.InPromQL.Query != "" {
		fmt.Fprintf(w, "* same in PromQL: `%s`\n", f.InPromQL.Query)
	} else {
		fmt.Fprintf(w, "* not the same in PromQL: %s\n", f.InPromQL.Why)
	}
}

// unitWord is a unit in a sentence.
func unitWord(unit string) string {
	if unit == "ratio" {
		return "shares of 1"
	}
	return unit
}

// short is the front of a text: what something is, without where it comes from.
func short(help string) string {
	const most = 110
	for _, end := range []string{" (source", ". ", "; ", ": ", ", by "} {
		if i := strings.Index(help, end); i > 0 && (end != ", by " || len(help) > most) {
			help = help[:i]
		}
	}
	return strings.TrimSuffix(help, ".")
}

// query is a first query of a family, of every pool.
func query(f *derive.Family) string {
	by := []string{"pool_id"}
	if f.Scope != derive.OfPool {
		for _, label := range f.Labels {
			if slices.Contains([]string{"model_id", "class", "slo", "bound"}, label) {
				by = append(by, label)
			}
		}
	}
	grouped := strings.Join(by, ", ")
	switch {
	case f.Type == model.MetricTypeCounter:
		return fmt.Sprintf("sum by (%s) (rate(%s[5m]))", grouped, f.Name)
	case f.Type == model.MetricTypeHistogram:
		return fmt.Sprintf("histogram_quantile(0.95, sum by (%s, le) (rate(%s_bucket[5m])))", grouped, f.Name)
	case f.Type == model.MetricTypeSummary, strings.HasSuffix(f.Name, "_info"), f.Scope == derive.OfPool:
		return f.Name
	case strings.HasSuffix(f.Name, "_ratio"), strings.HasSuffix(f.Name, "_seconds"), strings.Contains(f.Name, "average"):
		return fmt.Sprintf("max by (%s) (%s)", grouped, f.Name)
	}
	return fmt.Sprintf("sum by (%s) (%s)", grouped, f.Name)
}
