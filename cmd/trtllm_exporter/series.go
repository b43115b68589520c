package main

import (
	_ "embed" // For the numbers of simulated servers.
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// lean is the setting with which a replica has no more series than its own page.
const lean = "exposition: { raw: false, normalised: [core] }"

// seriesCount counts the series of a replica: on its own page, on /metrics, and there with the setting lean, 0 if
// that is not known.
type seriesCount struct {
	Own     int `json:"own"`
	Exposed int `json:"exposed"`
	Lean    int `json:"lean,omitempty"`
}

// countSeries counts the series of a snapshot, also those that get values later. Lean is counted only if all
// groups are exposed.
func countSeries(s *snapshot.Snapshot, c *exposition.Config) seriesCount {
	n := seriesCount{Own: s.Status.Samples}
	core := 0
	for _, b := range []*exposition.Block{s.Raw, s.Derived, s.About, s.Health} {
		if b == nil {
			continue
		}
		n.Exposed += b.Shape().Lines()
		for i := range b.Shape().Lines() {
			group, grouped := assess.GroupOfSeries(b.Shape().Labels(i))
			if b != s.Raw && grouped && group == exposition.GroupCore {
				core++
			}
		}
	}
	if c.Normalised == exposition.EveryGroup() && c.WindowGauges {
		n.Lean = core
	}
	return n
}

// String says what the replica costs a Prometheus.
func (n seriesCount) String() string {
	text := fmt.Sprintf("%d on /metrics of the exporter, %d on its own page", n.Exposed, n.Own)
	if n.Lean > 0 {
		text += fmt.Sprintf("; %d with %s", n.Lean, lean)
	}
	return text
}

// seriesOfKinds has a row for each kind of simulated server with how many series it has: on its own page, there and
// repeated by nothing, in each group beside all of its own series, and in each group otherwise. TestReplicasCostLittle
// of package collector writes it.
//
//go:embed series.tsv
var seriesOfKinds string

// Columns of a row of seriesOfKinds. Those of the groups follow in their order, twice.
const (
	ownColumn = iota
	unmappedColumn
	groupColumns
)

// estimate returns how many series a replica of a kind has, the fewest and the most if the kind is unknown.
func estimate(kind string, c *exposition.Config) (fewest, most int) {
	for line := range strings.Lines(seriesOfKinds) {
		fields := strings.Fields(line)
		if kind != "auto" && kind != fields[0] {
			continue
		}
		n := estimateOf(fields[1:], c)
		if fewest == 0 || n < fewest {
			fewest = n
		}
		most = max(most, n)
	}
	return fewest, most
}

func estimateOf(columns []string, c *exposition.Config) int {
	number := func(column int) int {
		n, _ := strconv.Atoi(columns[column]) // A test reads the whole table.
		return n
	}
	n, column := 0, groupColumns+len(exposition.AllGroups())
	switch c.Raw {
	case exposition.RawAll:
		n, column = number(ownColumn), groupColumns
	case exposition.RawUnmapped:
		n = number(unmappedColumn)
	case exposition.RawNone:
	}
	for i, g := range exposition.AllGroups() {
		if c.Normalised.Has(g) {
			n += number(column + i)
		}
	}
	return n
}

// seriesText says how many series a replica of a kind has; empty if that is not known.
func seriesText(kind string, c *exposition.Config) string {
	fewest, most := estimate(kind, c)
	switch {
	case most == 0 || c.Normalised == 0:
		return ""
	case fewest == most:
		return fmt.Sprintf(", about %d series a replica", most)
	}
	return fmt.Sprintf(", about %d to %d series a replica by kind of server", fewest, most)
}

// groupsText says which groups are exposed and what has no data without the others; empty if all are.
func groupsText(c *exposition.Config) (string, error) {
	switch {
	case c.Normalised == 0:
		return "no groups; what the exporter itself knows of replicas is there, and rules, alerts and panels that read " +
			"what is derived from pages lack data: docs/metrics.md#groups", nil
	case c.Off() == 0:
		return "", nil
	}
	reads, err := alerts.DefaultReads()
	if err != nil {
		return "", err
	}
	names, texts := reads.Alerts()
	records, rules := reads.Records()
	panels := 0
	for _, d := range dashboards.All() {
		for i := range d.Panels {
			groups, err := d.Panels[i].Groups()
			if err != nil {
				return "", err
			}
			if groups&c.Off() != 0 {
				panels++
			}
		}
	}
	text := fmt.Sprintf("groups %s; without %s %s and %s lack data, and %s", c.Normalised, c.Off(),
		count(len(missing(records, rules, c)), "recording rule"), count(panels, "panel"),
		missedAlerts(missing(names, texts, c)))
	return text + ": docs/metrics.md#groups", nil
}

// missing returns the rules that read a series of a group that is not exposed.
func missing(names []string, texts map[string]string, c *exposition.Config) []string {
	return slices.DeleteFunc(names, func(name string) bool { return assess.GroupsRead(texts[name])&c.Off() == 0 })
}

// missedAlerts lists alerts that may not fire.
func missedAlerts(names []string) string {
	const most = 3
	switch {
	case len(names) == 0:
		return "no alert does"
	case len(names) > most:
		return fmt.Sprintf("%s and %d other alerts do, so they may never fire", strings.Join(names[:most], ", "),
			len(names)-most)
	}
	return strings.Join(names, ", ") + " do, so they may never fire"
}
