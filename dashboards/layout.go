package dashboards

import (
	"slices"
	"strings"
)

const (
	width  = 24
	schema = 39 // Grafana 11.
	tag    = "trtllm-exporter"
	// fold is the height that a screen shows: rows that begin below it are
	// collapsed, and ask nothing until they are opened.
	fold = 22
)

// row is a heading with lines of panels under it.
type row struct {
	title string
	lines []line
}

// line are panels next to each other that fill the width.
type line struct {
	height int
	panels []Panel
}

// section makes a row.
func section(title string, lines ...line) row { return row{title, lines} }

// sideBySide makes a line of panels of the same height. Panels without a width
// of their own share what is left.
func sideBySide(height int, panels ...Panel) line { return line{height, panels} }

// wide gives a panel a width of its own.
func wide(w int, p Panel) Panel {
	p.GridPos.W = w
	return p
}

// complete gives panels ids and places and the dashboard what all have.
func (d *Dashboard) complete() {
	d.Tags, d.Editable, d.GraphTooltip = []string{tag, "llm", "tensorrt-llm", "triton"}, true, 1
	d.Schema, d.Version, d.Refresh, d.Timezone = schema, 1, "30s", ""
	d.Time = TimeRange{From: "now-1h", To: "now"}
	d.Links = []Link{{
		Title: "LLM servers", Type: "dashboards", Tags: []string{tag}, Icon: "external link", IncludeVars: true, KeepTime: true,
	}}
	d.Annotations = marks(d)
	y, id, why := 0, 0, absences()
	next := func(p Panel, g Grid) {
		id++
		p.ID, p.GridPos = id, g
		sayWhy(&p, why)
		inClusters(&p)
		if d.UID != replicaUID {
			d.sayWhatIsIgnored(&p)
			drillDown(&p)
		}
		d.Panels = append(d.Panels, p)
	}
	for _, r := range d.rows {
		collapsed := y >= fold
		next(Panel{Type: "row", Title: r.title, Collapsed: &collapsed}, Grid{H: 1, W: width, Y: y})
		y++
		for _, l := range r.lines {
			x := 0
			for i, w := range shares(l.panels) {
				next(l.panels[i], Grid{H: l.height, W: w, X: x, Y: y})
				x += w
			}
			y += l.height
		}
	}
}

// sayWhatIsIgnored adds to the description of a panel which of the variables engine and
// replica do not change it: what is recorded for whole pools has neither label.
func (d *Dashboard) sayWhatIsIgnored(p *Panel) {
	var ignored []string
	for _, v := range d.Templating.List {
		if v.Name != "engine" && v.Name != "replica_id" {
			continue
		}
		if len(p.Targets) > 0 && !slices.ContainsFunc(p.Targets, func(t Target) bool { return strings.Contains(t.Expr, "$"+v.Name) }) {
			ignored = append(ignored, v.Label)
		}
	}
	if len(ignored) > 0 {
		p.Description += " Not narrowed by " + strings.Join(ignored, " or ") + "."
	}
}

// drillDown leads from a line of a replica to its dashboard, at the same time.
func drillDown(p *Panel) {
	for _, q := range p.Targets {
		if p.FieldConfig != nil && strings.Contains(q.LegendFormat, "{{replica_id}}") {
			p.FieldConfig.Defaults.Links = []Link{{
				Title: "Replica ${__field.labels.replica_id}",
				URL: "/d/" + replicaUID + "?${datasource:queryparam}&${cluster:queryparam}" +
					"&var-pool_id=${__field.labels.pool_id}&var-replica_id=${__field.labels.replica_id}&${__url_time_range}",
			}}
		}
	}
}

// folded is the dashboard with the panels of collapsed rows in their rows, as
// Grafana keeps them; what comes below moves up.
func (d *Dashboard) folded() *Dashboard {
	out := *d
	out.Panels = nil
	row, up, before := -1, 0, 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			row, before = -1, up
			if *p.Collapsed {
				row = len(out.Panels)
			}
		} else if row >= 0 {
			if p.GridPos.X == 0 {
				up += p.GridPos.H
			}
			p.GridPos.Y -= before
			out.Panels[row].Panels = append(out.Panels[row].Panels, p)
			continue
		}
		p.GridPos.Y -= up
		out.Panels = append(out.Panels, p)
	}
	return &out
}

// shares are the widths of panels next to each other.
func shares(panels []Panel) []int {
	left, open := width, 0
	for i := range panels {
		left -= panels[i].GridPos.W
		if panels[i].GridPos.W == 0 {
			open++
		}
	}
	widths := make([]int, len(panels))
	for i := range panels {
		widths[i] = panels[i].GridPos.W
		if widths[i] == 0 {
			widths[i] = left / open
			left -= widths[i]
			open--
		}
	}
	return widths
}
