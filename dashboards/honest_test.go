package dashboards_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

func TestEmptyPanelsExplainWhy(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			where, text := d.Title+" / "+p.Title, p.FieldConfig.Defaults.NoValue
			require.NotEmpty(t, text, where)
			switch p.Type {
			case "stat", "bargauge":
				require.LessOrEqual(t, len(text), 24, "%s: %q is too small to read", where, text)
			case "table":
				require.Equal(
					t,
					"noValue",
					p.FieldConfig.Overrides[0].Properties[0].ID,
					"%s: a sentence in each empty cell",
					where,
				)
			}
		}
	}
}

// TestEmptyPanelsBlameWhatTheyRead has no panel about states say that there is no canary, because one of the states is
// named after it.
func TestEmptyPanelsBlameWhatTheyRead(t *testing.T) {
	t.Parallel()
	blamed := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.FieldConfig == nil || !strings.HasPrefix(strings.ToLower(p.FieldConfig.Defaults.NoValue), "no canary") {
				continue
			}
			blamed++
			for _, q := range p.Targets {
				require.Regexp(t, `llm_server_(pool_)?canary_`, q.Expr, "%s / %s", d.Title, p.Title)
			}
		}
	}
	require.Positive(t, blamed)
}

// Unknown values are gray or have no color. Grafana gives them the first color of a panel's
// thresholds, or without thresholds its default, which is green.
func TestUnknownIsNeverGreen(t *testing.T) {
	t.Parallel()
	first := func(thresholds *dashboards.Thresholds, where string) {
		require.NotNil(t, thresholds, where)
		require.Nil(t, thresholds.Steps[0].Value, where)
		require.Contains(t, []string{"gray", "text"}, thresholds.Steps[0].Color, where)
	}
	colors := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			where := d.Title + " / " + p.Title
			first(p.FieldConfig.Defaults.Thresholds, where)
			for _, m := range p.FieldConfig.Defaults.Mappings {
				for _, o := range m.Options {
					require.False(t, strings.Contains(o.Color, "green") && strings.Contains(o.Text, "unknown"), where)
				}
			}
			for _, o := range p.FieldConfig.Overrides {
				colored := false
				for _, property := range o.Properties {
					switch value := property.Value.(type) {
					case *dashboards.Thresholds:
						first(value, where)
						colored = true
					case []dashboards.Mapping:
						colors++
					}
				}
				text, err := json.Marshal(o.Properties)
				require.NoError(t, err)
				require.Equal(
					t,
					strings.Contains(string(text), "color-background"),
					colored,
					"%s / %s",
					where,
					o.Matcher.Options,
				)
			}
			for _, q := range p.Targets {
				require.NotContains(t, q.Expr, "vector(", "%s: 0 for an unknown value", where)
			}
		}
	}
	require.Positive(t, colors)
}

// The legend of a panel with several pools names them, and objectives come from the
// exporter.
func TestLegendsNamePoolsAndObjectives(t *testing.T) {
	t.Parallel()
	promised := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			objective := false
			for _, q := range p.Targets {
				where := d.Title + " / " + p.Title + " / " + q.LegendFormat
				switch {
				case p.Type == "heatmap":
					require.Equal(t, "{{le}}", q.LegendFormat, where)
				case p.Type == "stat" && q.LegendFormat == "", p.Type == "table":
				case d.UID == "trtllm-exporter" && strings.Contains(q.LegendFormat, "{{instance}}"):
				case d.UID == "trtllm-exporter" && strings.Contains(q.LegendFormat, "{{path}}"):
				default:
					require.Contains(t, q.LegendFormat, "{{cluster}} {{pool_id}}", where)
				}
				objective = objective || strings.Contains(q.Expr, "llm_server_slo_")
			}
			if p.Type == "timeseries" && d.UID == "trtllm-latency" &&
				(strings.HasSuffix(p.Title, ", percentiles") || strings.HasSuffix(p.Title, ", p95 by replica") || p.Title == "Failed request ratio") {
				require.True(t, objective, "%s has no objective", p.Title)
				promised++
			}
		}
	}
	require.Positive(t, promised)
}

// Fleet lists firing alerts, with links to the pool and the replica.
func TestFleetListsFiringAlerts(t *testing.T) {
	t.Parallel()
	p := panelOf(t, "Alerts")
	require.Contains(t, p.Targets[0].Expr, `ALERTS{cluster=~"$cluster",alertname=~"LLM.+",alertstate="firing"}`)
	leads := make(map[string]string)
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if links, are := property.Value.([]dashboards.Link); are {
				leads[o.Matcher.Options] = links[0].URL
			}
		}
	}
	require.Contains(t, leads["Alert"], "/d/trtllm-fleet?")
	require.Contains(t, leads["Replica"], "/d/trtllm-replica?")
	require.Contains(t, leads["Replica"], "${__url_time_range}")
}
