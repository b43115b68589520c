package manifests_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The rules that the chart renders are compared with those that the exporter prints.
func TestChartRulesMatchExporterOptions(t *testing.T) {
	for _, c := range []struct{ name, set, values string }{
		{"as it is", "prometheusRule.enabled=true", ""},
		{"a scrape in five seconds", "serviceMonitor.interval=5s", "scrape_interval: 5s"},
		{"half a minute", "serviceMonitor.interval=30s", "scrape_interval: 30s"},
		{"a minute", "serviceMonitor.interval=1m", "scrape_interval: 1m"},
		{"an odd time", "serviceMonitor.interval=17s", "scrape_interval: 17s"},
		{"seldom evaluations", "prometheusRule.values.evaluation_interval=1m30s", "evaluation_interval: 1m30s"},
		{"another label of clusters", "clusterLabel=k8s_cluster", "cluster_label: k8s_cluster"},
		{"no label of clusters", "clusterLabel=", "cluster_label: ''"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := decoded(t, rendered(t, "--set=prometheusRule.enabled=true", "--set="+c.set))
			requireRules(t, one[*monitoringv1.PrometheusRule](t, o), asMonitored(t, c.values))
		})
	}
}

func TestChartRejectsSlowMonitor(t *testing.T) {
	out, err := helm(t, "template", "llm", ".", "--kube-version=1.33.0", "--set=prometheusRule.enabled=true,serviceMonitor.interval=2m")
	require.Error(t, err)
	require.Contains(t, string(out), "serviceMonitor.interval: 2m is longer than 1m")
}

func TestChartDashboardsMatchGeneratorOptions(t *testing.T) {
	const chosen = `{"tags": ["ours", "llm"], "links": [{"title": "Wiki", "type": "link", "url": "https://wiki"}], "refresh": "1m", "timeFrom": "now-6h"}`
	const address = "https://exporter.example"
	for _, c := range []struct{ name, label, choices, exporter, runbook string }{
		{name: "as it is", label: "cluster", choices: "{}"},
		{name: "another label", label: "k8s_cluster", choices: "{}"},
		{name: "no label", choices: "{}"},
		{name: "other tags, a link, another time", label: "cluster", choices: chosen},
		{name: "other tags and no label", choices: chosen},
		{name: "the address of the exporter", label: "cluster", choices: chosen, exporter: address},
		{name: "another runbook", label: "cluster", choices: "{}", runbook: "https://wiki/rb"},
		{name: "both, and no label", choices: "{}", exporter: address, runbook: "https://wiki/rb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			choices := strings.TrimSuffix(c.choices, "}")
			if choices != "{" {
				choices += ", "
			}
			choices += fmt.Sprintf(`"exporter": %q, "runbook": %q}`, c.exporter, c.runbook)
			cmd := exec.CommandContext(t.Context(), "go", "run", "./tools/dashboards", dir, c.label, choices)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			o := decoded(
				t,
				rendered(
					t,
					"--set-json=dashboards="+c.choices,
					"--set=dashboards.enabled=true",
					"--set=clusterLabel="+c.label,
					"--set=prometheusRule.values.exporter="+c.exporter,
					"--set=prometheusRule.values.runbook="+c.runbook,
				),
			)
			count := 0
			for _, m := range all[*corev1.ConfigMap](o) {
				for name, text := range m.Data {
					if !strings.HasSuffix(name, ".json") {
						continue
					}
					count++
					want, err := os.ReadFile(filepath.Join(dir, name))
					require.NoError(t, err)
					require.True(t, json.Valid([]byte(text)), name)
					require.JSONEq(t, string(want), text, name)
				}
			}
			require.Equal(t, 8, count)
		})
	}
}
