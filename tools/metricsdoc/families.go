package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// sections writes a table of families for each section of the catalogue.
func sections(w *bytes.Buffer, all []derive.Family, notes notes) {
	reasons := reasonCodes(all)
	section := ""
	for i := range all {
		f := &all[i]
		if f.Section != section {
			section = f.Section
			fmt.Fprintf(w, "\n## %s\n\n", section)
			w.WriteString("| family | group | type | labels | grade | what it is | computed from | PromQL |\n")
			w.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n",
			f.Name,
			f.Group,
			typeAndUnit(f),
			labelsOf(f),
			f.Grade,
			cell(sentences(f.Help, notes.of(everyServer, f.Name))),
			cell(f.Formula),
			reasons.code(f.InPromQL),
		)
	}
}

// typeAndUnit names the type of a family, with its unit if it has one.
func typeAndUnit(f *derive.Family) string {
	if f.Unit == "" {
		return string(f.Type)
	}
	return string(f.Type) + ", " + f.Unit
}

// labelsOf lists the labels of a family; those of pools lack what all others have.
func labelsOf(f *derive.Family) string {
	labels := slices.Clone(f.Labels)
	if f.Scope == derive.OfPool {
		labels = append([]string{"pool_id"}, labels...)
	}
	if len(labels) == 0 {
		return ""
	}
	text := words(labels)
	if f.Scope == derive.OfPool {
		text += " only"
	}
	return text
}

// sentences joins a HELP text and a note.
func sentences(help, note string) string {
	return strings.TrimSpace(help + " " + note)
}

// reasons are the reasons why PromQL cannot compute a family, each under a letter.
type reasons []string

// reasonCodes lists the reasons in the order of the families.
func reasonCodes(all []derive.Family) (r reasons) {
	for i := range all {
		if why := all[i].InPromQL.Why; why != "" && !slices.Contains(r, why) {
			r = append(r, why)
		}
	}
	return r
}

// code returns the letter of a reason, or a sign for a family that PromQL can compute.
func (r reasons) code(q derive.InPromQL) string {
	if q.Query != "" {
		return "yes"
	}
	return string(rune('a' + slices.Index(r, q.Why)))
}

// legend explains the codes.
func (r reasons) legend(w *bytes.Buffer) {
	w.WriteString("\n| PromQL | meaning |\n| --- | --- |\n")
	w.WriteString("| yes | a query over other families has the same result: " +
		"[Without window gauges](#without-window-gauges) lists it |\n")
	for i, why := range r {
		fmt.Fprintf(w, "| %c | no: %s |\n", 'a'+i, cell(why))
	}
}
