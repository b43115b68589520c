package dashboards

import (
	"regexp"
	"strconv"
)

type query struct{ expr, legend string }

// style changes how a panel shows its values.
type style func(*Panel)

func panel(kind, title, description, unit string, queries []query) Panel {
	p := Panel{
		Type: kind, Title: title, Description: description, Datasource: datasource(),
		FieldConfig: &FieldConfig{Defaults: Field{Unit: unit}, Overrides: []Override{}},
	}
	for i, q := range queries {
		p.Targets = append(p.Targets, Target{
			RefID: string(rune('A' + i)), Datasource: datasource(), Expr: q.expr, LegendFormat: q.legend,
			Format: "time_series", Range: true, EditorMode: "code",
		})
	}
	thresholds("text")(&p)
	return p
}

func (p *Panel) apply(styles ...style) {
	for _, l := range styles {
		l(p)
	}
}

func graph(title, description, unit string, queries []query, styles ...style) Panel {
	p := panel("timeseries", title, description, unit, queries)
	p.Options = Options{
		"legend":  legend("table", "lastNotNull", "max"),
		"tooltip": Options{"mode": "multi", "sort": "desc"},
	}
	p.FieldConfig.Defaults.Color = Options{"mode": "palette-classic"}
	p.FieldConfig.Defaults.Min = new(0.0)
	p.FieldConfig.Defaults.Custom = Options{
		"drawStyle":         "line",
		"lineInterpolation": "linear",
		"lineWidth":         1,
		"showPoints":        "never",
		"spanNulls":         false,
	}
	p.apply(styles...)
	dashBounds(&p)
	return p
}

func stat(title, description, unit string, q query, styles ...style) Panel {
	p := panel("stat", title, description, unit, []query{q})
	p.Options = Options{
		"reduceOptions": last(), "colorMode": "value", "graphMode": "none", "justifyMode": "auto",
		"orientation": "auto", "textMode": "auto", "wideLayout": true,
	}
	p.FieldConfig.Defaults.Color = Options{"mode": "thresholds"}
	p.Targets[0].Instant, p.Targets[0].Range = true, false
	p.apply(styles...)
	return p
}

func bars(title, description, unit string, q query, styles ...style) Panel {
	p := panel("bargauge", title, description, unit, []query{q})
	p.Options = Options{
		"reduceOptions": last(),
		"displayMode":   "basic",
		"orientation":   "horizontal",
		"valueMode":     "color",
		"showUnfilled":  true,
		"minVizHeight":  16,
		"maxVizHeight":  48,
		"minVizWidth":   8,
		"namePlacement": "auto",
		"sizing":        "manual",
		"text":          Options{"titleSize": 13, "valueSize": 16},
	}
	p.FieldConfig.Defaults.Color = Options{"mode": "thresholds"}
	p.FieldConfig.Defaults.Min = new(0.0)
	p.Targets[0].Instant, p.Targets[0].Range = true, false
	p.apply(styles...)
	return p
}

// heatmap returns a panel with a histogram over time; the query groups by le.
func heatmap(title, description, unit, expr string) Panel {
	p := panel("heatmap", title, description, unit, []query{{expr, "{{le}}"}})
	p.Targets[0].Format = "heatmap"
	p.Options = Options{
		"calculate": false, "cellGap": 1, "color": Options{
			"mode":   "scheme",
			"scheme": "Oranges",
			"steps":  64,
		}, "filterValues": Options{"le": 1e-9},
		"yAxis": Options{"unit": unit}, "rowsFrame": Options{"layout": "auto"}, "legend": Options{"show": true},
		"tooltip": Options{"mode": "single", "yHistogram": true}, "cellValues": Options{"unit": "reqps"},
	}
	p.Interval = "15s"
	return p
}

// timeline returns a panel with states over time; values are indices of the states.
func timeline(title, description string, q query, states []MappedValue) Panel {
	p := panel("state-timeline", title, description, "none", []query{q})
	p.Options = Options{
		"mergeValues": true, "showValue": "auto", "alignValue": "left", "rowHeight": 0.85,
		"legend": legend("list"), "tooltip": Options{"mode": "single", "sort": "none"},
	}
	p.FieldConfig.Defaults.Color = Options{"mode": "thresholds"}
	p.FieldConfig.Defaults.Custom = Options{"fillOpacity": 85, "lineWidth": 0, "spanNulls": false}
	thresholds(unknown)(&p)
	valueMappings(states)(&p)
	return p
}

// legend returns the options of a legend below a panel, with calculations per series.
func legend(mode string, calcs ...string) Options {
	return Options{
		"calcs":       append([]string{}, calcs...),
		"displayMode": mode,
		"placement":   "bottom",
		"showLegend":  true,
	}
}

func last() Options { return Options{"calcs": []string{"lastNotNull"}, "fields": "", "values": false} }

// valueMappings maps the values 0, 1, 2... to texts and colors.
func valueMappings(states []MappedValue) style {
	return func(p *Panel) {
		options := make(map[string]MappedValue)
		for i, s := range states {
			s.Index = i
			if s.Text != "" {
				options[strconv.Itoa(i)] = s
			}
		}
		p.FieldConfig.Defaults.Mappings = []Mapping{{Type: "value", Options: options}}
	}
}

// unknown is the color of unknown values. Grafana shows missing values in the first color of a
// panel, which is therefore never green.
const unknown = "gray"

// thresholds colors values: base from 0, then pairs of a value and the color from that value on.
// Graphs draw them as lines, without the first color.
func thresholds(base string, pairs ...any) style {
	return func(p *Panel) {
		steps := []Threshold{{Color: base}}
		if base != "text" && base != unknown {
			steps[0].Color = unknown
			if p.Type != "timeseries" {
				steps = append(steps, Threshold{Color: base, Value: new(0.0)})
			}
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			from, _ := pairs[i].(float64)
			color, _ := pairs[i+1].(string)
			steps = append(steps, Threshold{Color: color, Value: &from})
		}
		p.FieldConfig.Defaults.Thresholds = &Thresholds{Mode: "absolute", Steps: steps}
	}
}

// saturation colors how full something is: 1 is what the status page calls full.
func saturation() style { return thresholds("green", 0.8, "orange", 1.0, "red") }

func thresholdLines(p *Panel) {
	p.FieldConfig.Defaults.Custom["thresholdsStyle"] = Options{"mode": "dashed"}
}

func stacked(p *Panel) {
	p.FieldConfig.Defaults.Custom["stacking"] = Options{"mode": "normal", "group": "A"}
	p.FieldConfig.Defaults.Custom["fillOpacity"] = 40
}

// stepLines draws values as steps, for values that hold until the next one.
func stepLines(p *Panel) { p.FieldConfig.Defaults.Custom["lineInterpolation"] = "stepAfter" }

func atMost(v float64) style { return func(p *Panel) { p.FieldConfig.Defaults.Max = &v } }

// softMaxOnePercent makes the scale of a ratio at least one percent high. Otherwise Grafana scales
// all zeros up to ten thousand percent.
func softMaxOnePercent(p *Panel) { p.FieldConfig.Defaults.Custom["axisSoftMax"] = 0.01 }

// namesOnTop places names above bars, where long names fit.
func namesOnTop(p *Panel) {
	p.Options["namePlacement"], p.Options["text"] = "top", Options{"titleSize": 11, "valueSize": 14}
}

// boundLegend matches legends of bounds, limits and objectives, which are not measured.
var boundLegend = regexp.MustCompile(`[≤>]|objective|allowed|limit`)

// dashBounds draws bounds, limits and objectives as dashed lines.
func dashBounds(p *Panel) {
	for _, q := range p.Targets {
		if !boundLegend.MatchString(q.legend()) {
			continue
		}
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override("byFrameRefID", q.RefID,
			Property{"custom.lineStyle", Options{"fill": "dash", "dash": []int{6, 6}}}))
	}
}

// legend returns the legend of a target without label names.
func (t *Target) legend() string { return label.ReplaceAllString(t.LegendFormat, "") }

var label = regexp.MustCompile(`\{\{\w+\}\}`)

func decimals(n int) style { return func(p *Panel) { p.FieldConfig.Defaults.Decimals = &n } }

func sparkline(p *Panel) {
	p.Options["graphMode"] = "area"
	p.Targets[0].Instant, p.Targets[0].Range = false, true
}

func coloredBackground(p *Panel) { p.Options["colorMode"] = "background" }
