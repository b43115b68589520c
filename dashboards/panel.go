package dashboards

import (
	"regexp"
	"strconv"
)

// query is an expression with the legend of its series, or its column.
type query struct{ expr, legend string }

// look changes how a panel shows its values.
type look func(*Panel)

// panel makes a panel of a type.
func panel(kind, title, description, unit string, queries []query) Panel {
	p := Panel{
		Type: kind, Title: title, Description: description, Datasource: source(),
		FieldConfig: &FieldConfig{Defaults: Field{Unit: unit}, Overrides: []Override{}},
	}
	for i, q := range queries {
		p.Targets = append(p.Targets, Target{
			RefID: string(rune('A' + i)), Datasource: source(), Expr: q.expr, LegendFormat: q.legend,
			Format: "time_series", Range: true, EditorMode: "code",
		})
	}
	levels("text")(&p)
	return p
}

// dress gives a panel its looks.
func (p *Panel) dress(looks ...look) {
	for _, l := range looks {
		l(p)
	}
}

// graph draws lines over time.
func graph(title, description, unit string, queries []query, looks ...look) Panel {
	p := panel("timeseries", title, description, unit, queries)
	p.Options = Options{"legend": legend("table", "lastNotNull", "max"), "tooltip": Options{"mode": "multi", "sort": "desc"}}
	p.FieldConfig.Defaults.Color = &Color{Mode: "palette-classic"}
	p.FieldConfig.Defaults.Min = new(0.0)
	p.FieldConfig.Defaults.Custom = &FieldLook{
		DrawStyle: "line", LineInterpolation: "linear", LineWidth: new(1), FillOpacity: new(8), ShowPoints: "never", SpanNulls: new(false),
	}
	p.dress(looks...)
	boundsAsLines(&p)
	return p
}

// stat shows one number.
func stat(title, description, unit string, q query, looks ...look) Panel {
	p := panel("stat", title, description, unit, []query{q})
	p.Options = Options{
		"reduceOptions": last(), "colorMode": "value", "graphMode": "none", "justifyMode": "auto",
		"orientation": "auto", "textMode": "auto", "wideLayout": true,
	}
	p.FieldConfig.Defaults.Color = &Color{Mode: "thresholds"}
	p.Targets[0].Instant, p.Targets[0].Range = true, false
	p.dress(looks...)
	return p
}

// bars shows one bar for each series.
func bars(title, description, unit string, q query, looks ...look) Panel {
	p := panel("bargauge", title, description, unit, []query{q})
	p.Options = Options{
		"reduceOptions": last(), "displayMode": "basic", "orientation": "horizontal", "valueMode": "color",
		"showUnfilled": true, "minVizHeight": 16, "maxVizHeight": 48, "minVizWidth": 8, "namePlacement": "auto", "sizing": "manual",
		"text": Options{"titleSize": 13, "valueSize": 16},
	}
	p.FieldConfig.Defaults.Color = &Color{Mode: "thresholds"}
	p.FieldConfig.Defaults.Min = new(0.0)
	p.Targets[0].Instant, p.Targets[0].Range = true, false
	p.dress(looks...)
	return p
}

// heatmap shows a histogram over time; the query is by le.
func heatmap(title, description, unit, expr string) Panel {
	p := panel("heatmap", title, description, unit, []query{{expr, "{{le}}"}})
	p.Targets[0].Format = "heatmap"
	p.Options = Options{
		"calculate": false, "cellGap": 1, "color": Options{"mode": "scheme", "scheme": "Oranges", "steps": 64}, "filterValues": Options{"le": 1e-9},
		"yAxis": Options{"unit": unit}, "rowsFrame": Options{"layout": "auto"}, "legend": Options{"show": true},
		"tooltip": Options{"mode": "single", "yHistogram": true}, "cellValues": Options{"unit": "reqps"},
	}
	p.Interval = "15s"
	return p
}

// timeline shows states over time; values are the indices of the states.
func timeline(title, description string, q query, states []Outcome) Panel {
	p := panel("state-timeline", title, description, "none", []query{q})
	p.Options = Options{
		"mergeValues": true, "showValue": "auto", "alignValue": "left", "rowHeight": 0.85,
		"legend": legend("list"), "tooltip": Options{"mode": "single", "sort": "none"},
	}
	p.FieldConfig.Defaults.Color = &Color{Mode: "thresholds"}
	p.FieldConfig.Defaults.Custom = &FieldLook{FillOpacity: new(85), LineWidth: new(0), SpanNulls: new(false)}
	levels(unknown)(&p)
	mapped(states)(&p)
	return p
}

// legend is one below a panel, with what is computed of each series.
func legend(mode string, calcs ...string) Options {
	return Options{"calcs": append([]string{}, calcs...), "displayMode": mode, "placement": "bottom", "showLegend": true}
}

// last shows the last value of each series.
func last() Options { return Options{"calcs": []string{"lastNotNull"}, "fields": "", "values": false} }

// mapped gives the values 0, 1, 2... texts and colors.
func mapped(states []Outcome) look {
	return func(p *Panel) {
		options := make(map[string]Outcome)
		for i, s := range states {
			s.Index = i
			if s.Text != "" {
				options[strconv.Itoa(i)] = s
			}
		}
		p.FieldConfig.Defaults.Mappings = []Mapping{{Type: "value", Options: options}}
	}
}

// unknown is the color of what is not known. Grafana gives a value that is not
// there the first color of a panel, which for this reason is never green.
const unknown = "gray"

// levels colors values: a color from 0 on, then pairs of a value and the color
// from it on. In graphs they are lines, where the first color is not drawn.
func levels(base string, pairs ...any) look {
	return func(p *Panel) {
		steps := []Level{{Color: base}}
		if base != "text" && base != unknown {
			steps[0].Color = unknown
			if p.Type != "timeseries" {
				steps = append(steps, Level{Color: base, Value: new(0.0)})
			}
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			from, _ := pairs[i].(float64)
			color, _ := pairs[i+1].(string)
			steps = append(steps, Level{Color: color, Value: &from})
		}
		p.FieldConfig.Defaults.Thresholds = &Levels{Mode: "absolute", Steps: steps}
	}
}

// lines draws the levels of a graph as lines.
func lines(p *Panel) { p.FieldConfig.Defaults.Custom.ThresholdsStyle = Options{"mode": "dashed"} }

// stacked puts series on top of each other.
func stacked(p *Panel) {
	p.FieldConfig.Defaults.Custom.Stacking = Options{"mode": "normal", "group": "A"}
	p.FieldConfig.Defaults.Custom.FillOpacity = new(40)
}

// steps draws values that hold until the next as they are.
func steps(p *Panel) { p.FieldConfig.Defaults.Custom.LineInterpolation = "stepAfter" }

// atMost sets the upper end of the scale.
func atMost(v float64) look { return func(p *Panel) { p.FieldConfig.Defaults.Max = &v } }

// fromOnePercent makes the scale of a small share at least one percent high: of
// nothing but zeros Grafana makes one up to ten thousand percent.
func fromOnePercent(p *Panel) { p.FieldConfig.Defaults.Custom.AxisSoftMax = new(0.01) }

// namesOnTop writes names above bars, where there is room for all of them.
func namesOnTop(p *Panel) {
	p.Options["namePlacement"], p.Options["text"] = "top", Options{"titleSize": 11, "valueSize": 14}
}

// bound finds the legends of what is no measurement, but a bound, limit or
// objective of one.
var bound = regexp.MustCompile(`[≤>]|objective|allowed|limit`)

// boundsAsLines draws bounds, limits and objectives as dashed lines with nothing
// under them.
func boundsAsLines(p *Panel) {
	for _, q := range p.Targets {
		if !bound.MatchString(q.legend()) {
			continue
		}
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, Override{
			Matcher: Matcher{ID: "byFrameRefID", Options: q.RefID},
			Properties: []Property{
				{ID: "custom.fillOpacity", Value: 0},
				{ID: "custom.lineStyle", Value: Options{"fill": "dash", "dash": []int{6, 6}}},
			},
		})
	}
}

// legend is that of a target without the names of labels.
func (t *Target) legend() string { return label.ReplaceAllString(t.LegendFormat, "") }

var label = regexp.MustCompile(`\{\{\w+\}\}`)

// decimals sets the digits behind the point.
func decimals(n int) look { return func(p *Panel) { p.FieldConfig.Defaults.Decimals = &n } }

// trend draws the recent course behind a stat.
func trend(p *Panel) {
	p.Options["graphMode"] = "area"
	p.Targets[0].Instant, p.Targets[0].Range = false, true
}

// filled colors the whole of a stat.
func filled(p *Panel) { p.Options["colorMode"] = "background" }
