package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// sources writes what families are made from, by kind. It returns an error for a note that nothing
// shows.
func sources(w *bytes.Buffer, all []derive.Family, notes notes) error {
	kinds := allSources()
	for _, k := range kinds {
		fmt.Fprintf(w, "\n### From %s\n\n", strings.Join(k.kinds, " and "))
		for _, r := range k.respelt {
			w.WriteString(r.sentence())
		}
		if len(k.inside) > 0 {
			fmt.Fprintf(w, "It also passes on the series of the engine inside: %s.\n\n", strings.Join(k.inside, ", "))
		}
		w.WriteString("| server | families | from | note |\n| --- | --- | --- | --- |\n")
		k.rows(w, all, notes[k.kinds[0]])
	}
	return checkNotes(notes, kinds, all)
}

// checkNotes returns an error for a note about a kind that does not exist or lacks the family.
func checkNotes(notes notes, kinds []*kindSources, all []derive.Family) error {
	for section, byFamily := range notes {
		if section == everyServer {
			continue
		}
		i := slices.IndexFunc(kinds, func(k *kindSources) bool { return k.kinds[0] == section })
		if i < 0 {
			return fmt.Errorf("notes.md: there is no kind of server %s", section)
		}
		for family := range byFamily {
			if !kinds[i].hasFamily(all, family) {
				return fmt.Errorf("notes.md: %s has no %s", section, family)
			}
		}
	}
	return nil
}

// row is the families with the same sources and the same note.
type row struct{ from, note string }

// rows writes a line for the families that have the same sources.
func (k *kindSources) rows(w *bytes.Buffer, all []derive.Family, notes map[string]string) {
	var order []row
	names := make(map[row][]string)
	for i := range all {
		f := &all[i]
		from := k.of(f)
		if len(from) == 0 {
			continue
		}
		r := row{strings.Join(from, ", "), notes[strings.TrimPrefix(f.Name, derive.Prefix)]}
		if names[r] == nil {
			order = append(order, r)
		}
		names[r] = append(names[r], f.Name)
	}
	for _, r := range order {
		fmt.Fprintf(
			w,
			"| %s | %s | %s | %s |\n",
			strings.Join(k.kinds, ", "),
			words(names[r]),
			cell(r.from),
			cell(r.note),
		)
	}
}

// answers writes the families that the API of a server answers, by what it has to answer.
func answers(w *bytes.Buffer, all []derive.Family) {
	w.WriteString("\n### From the API\n\n| families | servers whose API answers |\n| --- | --- |\n")
	names := make(map[string][]string)
	var order []string
	for i := range all {
		kinds := answering(&all[i])
		if kinds == "" {
			continue
		}
		if names[kinds] == nil {
			order = append(order, kinds)
		}
		names[kinds] = append(names[kinds], all[i].Name)
	}
	for _, kinds := range order {
		fmt.Fprintf(w, "| %s | %s |\n", words(names[kinds]), kinds)
	}
}

// answering lists the kinds whose API alone is enough for a family.
func answering(f *derive.Family) string {
	var kinds []string
	for _, e := range engine.All() {
		enough := func(set []engine.Signal) bool {
			return !slices.ContainsFunc(set, func(s engine.Signal) bool { return !slices.Contains(e.Answers, s) })
		}
		if slices.ContainsFunc(f.Inputs, enough) {
			kinds = append(kinds, string(e.Name))
		}
	}
	return strings.Join(kinds, ", ")
}
