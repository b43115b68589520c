package relabel_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

func TestDroppingRuleIsNamed(t *testing.T) {
	in := labels.FromStrings("__address__", "10.0.0.1:8002", "__meta_app", "web", "zone", "eu")
	for text, want := range map[string]string{
		"[]": "",
		`[{source_labels: [__meta_app], regex: triton, action: keep}]`:                              `relabel_configs[0] keeps targets whose __meta_app matches triton, and it is "web"`,
		`[{source_labels: [__meta_app, zone], regex: web;eu, action: drop}]`:                        `relabel_configs[0] drops targets whose __meta_app;zone matches web;eu, and it is "web;eu"`,
		`[{target_label: zone, replacement: us}, {source_labels: [zone], regex: eu, action: keep}]`: `relabel_configs[1] keeps targets whose zone matches eu, and it is "us"`,
		`[{action: drop}]`: `relabel_configs[0] drops every target`,
		`[{source_labels: [zone], target_label: __meta_app, action: keepequal}]`: `relabel_configs[0] keeps targets whose zone is equal to __meta_app, and these are "eu" and "web"`,
		`[{source_labels: [zone], target_label: zone, action: dropequal}]`:       `relabel_configs[0] drops targets whose zone is equal to zone, and both are "eu"`,
	} {
		var rules relabel.Rules
		require.NoError(t, yaml.Unmarshal([]byte(text), &rules), text)
		require.Equal(t, want, rules.DroppedBy(in), text)
		_, keep := rules.Target(in)
		require.Equal(t, want == "", keep, text)
	}
}
