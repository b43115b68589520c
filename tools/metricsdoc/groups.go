package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// groups writes what each group of families is for, what group core has less of, and which rules and panels need
// more than it.
func groups(b *bytes.Buffer) error {
	b.WriteString("\n" + groupsHead)
	partsOfCore(b)
	b.WriteString("\n| group | families | what it is about |\n| --- | --- | --- |\n")
	for _, g := range exposition.AllGroups() {
		n := 0
		for _, f := range assess.Catalogue() {
			if f.Group == g {
				n++
			}
		}
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", g, n, cell(g.About()))
	}
	records, err := recordsBeyondCore()
	if err != nil {
		return err
	}
	panels, err := panelsBeyondCore()
	if err != nil {
		return err
	}
	b.WriteString("\nNo alert needs more than group core. These panels and recording rules do. Without the groups a " +
		"panel shows\nless, or says which it needs:\n\n" +
		"| dashboard | groups | panels |\n| --- | --- | --- |\n" + panels + records)
	return nil
}

// partsOfCore lists of which families group core has not every series.
func partsOfCore(b *bytes.Buffer) {
	b.WriteString("| family | in group core | the rest |\n| --- | --- | --- |\n")
	for _, f := range assess.Catalogue() {
		part, rest := f.InCore()
		if part != "" {
			fmt.Fprintf(b, "| `%s` | %s | `%s` |\n", f.Name, part, rest)
		}
	}
	for _, m := range assess.ExporterMetrics() {
		if m.Group != exposition.GroupCore {
			fmt.Fprintf(b, "| `%s` | | `%s` |\n", m.Name, m.Group)
		}
	}
}

// recordsBeyondCore returns rows with the recording rules that read more than group core.
func recordsBeyondCore() (string, error) {
	reads, err := alerts.DefaultReads()
	if err != nil {
		return "", err
	}
	var names []string
	var all exposition.Groups
	records, texts := reads.Records()
	for _, record := range records {
		if more := assess.GroupsRead(texts[record]).BeyondCore(); more != 0 {
			all |= more
			names = append(names, "`"+record+"`")
		}
	}
	return fmt.Sprintf("| recording rules | %s | %s |\n", groupWords(all), strings.Join(names, ", ")), nil
}

// panelsBeyondCore returns rows with the panels that read more than group core, by dashboard and groups.
func panelsBeyondCore() (string, error) {
	var b strings.Builder
	boards := dashboards.All()
	for i := range boards {
		panels := make(map[exposition.Groups][]string)
		for j := range boards[i].Panels {
			p := &boards[i].Panels[j]
			all, err := p.Groups()
			if err != nil {
				return "", err
			}
			if more := all.BeyondCore(); more != 0 {
				panels[more] = append(panels[more], cell(p.Title))
			}
		}
		var sets []exposition.Groups
		for set := range panels {
			sets = append(sets, set)
		}
		slices.SortFunc(sets, cmp.Compare)
		for _, set := range sets {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", boards[i].Title, groupWords(set), strings.Join(panels[set], ", "))
		}
	}
	return b.String(), nil
}

func groupWords(set exposition.Groups) string { return words(set.Names()) }
