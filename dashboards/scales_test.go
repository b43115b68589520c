package dashboards_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

var family = regexp.MustCompile(`llm_server_\w+`)

// quantity returns the family that a query shows as it is, empty if it shows a share, a count or several.
func quantity(query string) string {
	names := make(map[string]bool)
	for _, name := range family.FindAllString(query, -1) {
		names[name] = true
	}
	if len(names) != 1 || strings.Contains(query, " / ") || strings.Contains(query, "count") {
		return ""
	}
	return family.FindString(query)
}

// scale is the values from which on a panel or column has another color.
func scale(thresholds any) string {
	var values []any
	steps, _ := thresholds.(map[string]any)["steps"].([]any)
	for _, s := range steps {
		step, _ := s.(map[string]any)
		if v := step["value"]; v != nil && v != 0.0 {
			values = append(values, step["color"], v)
		}
	}
	if values == nil {
		return ""
	}
	return fmt.Sprint(values)
}

// scales returns what each quantity of a panel is colored by.
func scales(panel map[string]any) map[string]string {
	all := make(map[string]string)
	config, _ := panel["fieldConfig"].(map[string]any)
	targets, _ := panel["targets"].([]any)
	columns := columnScales(panel, config)
	defaults, _ := config["defaults"].(map[string]any)
	for _, t := range targets {
		query, _ := t.(map[string]any)
		expr, _ := query["expr"].(string)
		ref, _ := query["refId"].(string)
		by := columns["Value #"+ref]
		if thresholds, ok := defaults["thresholds"]; ok && panel["type"] != "table" {
			by = scale(thresholds)
		}
		if name := quantity(expr); name != "" && by != "" {
			all[name] = by
		}
	}
	return all
}

// columnScales returns the scales of a table by the name of the query's value.
func columnScales(panel, config map[string]any) map[string]string {
	byTitle, all := make(map[string]string), make(map[string]string)
	overrides, _ := config["overrides"].([]any)
	for _, o := range overrides {
		override, _ := o.(map[string]any)
		matcher, _ := override["matcher"].(map[string]any)
		properties, _ := override["properties"].([]any)
		for _, p := range properties {
			if property, _ := p.(map[string]any); property["id"] == "thresholds" {
				byTitle[fmt.Sprint(matcher["options"])] = scale(property["value"])
			}
		}
	}
	transformations, _ := panel["transformations"].([]any)
	for _, t := range transformations {
		transformation, _ := t.(map[string]any)
		options, _ := transformation["options"].(map[string]any)
		titles, _ := options["renameByName"].(map[string]any)
		for value, title := range titles {
			all[value] = byTitle[fmt.Sprint(title)]
		}
	}
	return all
}

// TestQuantityHasOneScale compares the colors of what several panels show: where one calls a replica full, no other
// may call it fine.
func TestQuantityHasOneScale(t *testing.T) {
	t.Parallel()
	type shown struct{ where, by string }
	first, compared := make(map[string]shown), 0
	for _, d := range dashboards.All() {
		for i := range d.Panels {
			text, err := json.Marshal(d.Panels[i])
			require.NoError(t, err)
			var panel map[string]any
			require.NoError(t, json.Unmarshal(text, &panel))
			for name, by := range scales(panel) {
				where := d.Title + " / " + d.Panels[i].Title
				if before, ok := first[name]; ok {
					require.Equal(t, before.by, by, "%s of %s, and of %s", name, before.where, where)
					compared++
					continue
				}
				first[name] = shown{where, by}
			}
		}
	}
	require.Positive(t, compared)
}
