package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// sections writes all families by section.
func sections(w *bytes.Buffer, all []derive.Family) {
	section := ""
	for i := range all {
		if f := &all[i]; f.Section != section {
			section = f.Section
			fmt.Fprintf(w, "\n## %s\n", section)
		}
		block(w, &all[i])
	}
}

// block writes a family.
func block(w *bytes.Buffer, f *derive.Family) {
	about := []string{string(f.Type), "grade " + string(f.Grade)}
	if f.Unit != "" {
		about = append(about, "in "+unitWord(f.Unit))
	}
	about = append(about, "per "+string(f.Scope))
	if len(f.Labels) > 0 {
		about = append(about, "labels "+words(f.Labels))
	}
	fmt.Fprintf(w, "\n### `%s`\n%s\n", f.Name, f.Help)
	fmt.Fprintf(w, "* %s; servers: %s; formula: %s\n", strings.Join(about, ", "), kinds(f.Engines), f.Formula)
	fmt.Fprintf(w, "* query: `%s`", query(f))
	if f.InPromQL.Query != "" {
		fmt.Fprintf(w, "; same in PromQL: `%s`\n", f.InPromQL.Query)
	} else {
		fmt.Fprintf(w, "; not the same in PromQL: %s\n", f.InPromQL.Why)
	}
}

// unitWord returns a unit as words.
func unitWord(unit string) string {
	if unit == "ratio" {
		return "ratios"
	}
	return unit
}

// query returns a simple query for a family, by pool.
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
