package manifests_test

import (
	"encoding/json"
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
		{"as it is", "rules.enabled=true", ""},
		{"a scrape in five seconds", "monitor.interval=5s", "scrape_interval: 5s"},
		{"half a minute", "monitor.interval=30s", "scrape_interval: 30s"},
		{"a minute", "monitor.interval=1m", "scrape_interval: 1m"},
		{"an odd time", "monitor.interval=17s", "scrape_interval: 17s"},
		{"seldom evaluations", "rules.values.evaluation_interval=1m30s", "evaluation_interval: 1m30s"},
		{"another label of clusters", "clusterLabel=k8s_cluster", "cluster_label: k8s_cluster"},
		{"no label of clusters", "clusterLabel=", "cluster_label: ''"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := decoded(t, rendered(t, "--set=rules.enabled=true", "--set="+c.set))
			requireRules(t, one[*monitoringv1.PrometheusRule](t, o), asMonitored(t, c.values))
		})
	}
}

func TestChartRejectsSlowMonitor(t *testing.T) {
	out, err := helm(t, "template", "llm", ".", "--kube-version=1.33.0", "--set=rules.enabled=true,monitor.interval=2m")
	require.Error(t, err)
	require.Contains(t, string(out), "monitor.interval: 2m is longer than 1m")
}

func TestChartDashboardsMatchGeneratorOptions(t *testing.T) {
	const chosen = `{"tags": ["ours", "llm"], "links": [{"title": "Wiki", "type": "link", "url": "https://wiki"}], "refresh": "1m", "timeFrom": "now-6h"}`
	for _, c := range []struct{ name, label, choices string }{
		{"as it is", "cluster", "{}"},
		{"another label", "k8s_cluster", "{}"},
		{"no label", "", "{}"},
		{"other tags, a link, another time", "cluster", chosen},
		{"other tags and no label", "", chosen},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "go", "run", "./tools/dashboards", dir, c.label, c.choices)
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
			require.Equal(t, 7, count)
		})
	}
}
