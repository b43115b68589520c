package dashboards

const (
	width  = 24
	schema = 39 // Grafana 11.
	tag    = "trtllm-exporter"
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
	y, id := 0, 0
	next := func(p Panel, g Grid) {
		id++
		p.ID, p.GridPos = id, g
		inClusters(&p)
		d.Panels = append(d.Panels, p)
	}
	for _, r := range d.rows {
		open := false
		next(Panel{Type: "row", Title: r.title, Collapsed: &open}, Grid{H: 1, W: width, Y: y})
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
