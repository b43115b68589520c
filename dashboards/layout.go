package dashboards

import (
	"slices"
	"strings"
)

const (
	width  = 24
	schema = 39 // Grafana 11.
	tag    = "trtllm-exporter"
	// screenHeight is the height of a screen. Rows that start below it are collapsed and
	// run no queries until they are opened.
	screenHeight = 22
)

type row struct {
	title string
	lines []line
}

// line holds panels of the same height that together fill the width.
type line struct {
	height int
	panels []Panel
}

func section(title string, lines ...line) row { return row{title, lines} }

// sideBySide returns a line of panels. Panels without a width share the remaining one.
func sideBySide(height int, panels ...Panel) line {
	remaining, open := width, len(panels)
	for i := range panels {
		if w := panels[i].GridPos.W; w > 0 {
			remaining, open = remaining-w, open-1
		}
	}
	for i := range panels {
		if g := &panels[i].GridPos; g.W == 0 {
			g.W = remaining / open
			remaining, open = remaining-g.W, open-1
		}
	}
	return line{height, panels}
}

func withWidth(w int, p Panel) Panel {
	p.GridPos.W = w
	return p
}

// complete lays out the panels and sets what all dashboards have in common.
func (d *Dashboard) complete() {
	d.Tags, d.Editable, d.GraphTooltip = []string{tag, "llm", "tensorrt-llm", "triton"}, true, 1
	d.Schema, d.Version, d.Refresh, d.Timezone = schema, 1, "30s", ""
	d.Time = TimeRange{From: "now-1h", To: "now"}
	d.Links = []Link{{
		Title:       "LLM servers",
		Type:        "dashboards",
		Tags:        []string{tag},
		Icon:        "external link",
		IncludeVars: true,
		KeepTime:    true,
	}}
	d.Annotations = annotations(d)
	y, id := 0, 0
	next := func(p Panel, g Grid) {
		id++
		p.ID, p.GridPos = id, g
		setNoValue(&p)
		noteGroups(&p)
		splitByCluster(&p)
		if d.UID != replicaUID {
			d.noteIgnoredVariables(&p)
			linkReplicas(&p)
		}
		d.Panels = append(d.Panels, p)
	}
	for i, r := range d.rows {
		collapsed := y >= screenHeight
		if i == 0 { // The first line that anybody reads says what the dashboard is for.
			purpose, _, _ := strings.Cut(d.Description, ". ")
			r.title += ": " + strings.ToLower(purpose[:1]) + strings.TrimSuffix(purpose[1:], ".")
		}
		next(Panel{Type: "row", Title: r.title, Collapsed: &collapsed}, Grid{H: 1, W: width, Y: y})
		y++
		for _, l := range r.lines {
			x := 0
			for _, p := range l.panels {
				next(p, Grid{H: l.height, W: p.GridPos.W, X: x, Y: y})
				x += p.GridPos.W
			}
			y += l.height
		}
	}
}

// noteIgnoredVariables adds to the description of a panel which of the variables engine and
// replica it ignores, since series recorded per pool have neither label.
func (d *Dashboard) noteIgnoredVariables(p *Panel) {
	var ignored []string
	for _, v := range d.Templating.List {
		if v.Name != "engine" && v.Name != "replica_id" {
			continue
		}
		if len(p.Targets) > 0 &&
			!slices.ContainsFunc(p.Targets, func(t Target) bool { return strings.Contains(t.Expr, "$"+v.Name) }) {
			ignored = append(ignored, v.Label)
		}
	}
	if len(ignored) > 0 {
		p.Description += " Not filtered by " + strings.Join(ignored, " or ") + "."
	}
}

// linkReplicas links the series of replicas to their dashboard, with the same time range.
func linkReplicas(p *Panel) {
	for _, q := range p.Targets {
		if p.FieldConfig != nil && strings.Contains(q.LegendFormat, "{{replica_id}}") {
			p.FieldConfig.Defaults.Links = []Link{{
				Title: ofSeries,
				URL: "/d/" + replicaUID + "?${datasource:queryparam}&${cluster:queryparam}" +
					"&var-pool_id=${__field.labels.pool_id}&var-replica_id=${__field.labels.replica_id}&${__url_time_range}",
			}}
		}
	}
}

// collapse returns the dashboard with the panels of collapsed rows inside these rows, as Grafana
// stores them, and the rows below moved up.
func (d *Dashboard) collapse() *Dashboard {
	out := *d
	out.Panels = nil
	row, offset, previousOffset := -1, 0, 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			row, previousOffset = -1, offset
			if *p.Collapsed {
				row = len(out.Panels)
			}
		} else if row >= 0 {
			if p.GridPos.X == 0 {
				offset += p.GridPos.H
			}
			p.GridPos.Y -= previousOffset
			out.Panels[row].Panels = append(out.Panels[row].Panels, p)
			continue
		}
		p.GridPos.Y -= offset
		out.Panels = append(out.Panels, p)
	}
	return &out
}
