package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"
)

const autoscalingRules = chart + "/files/autoscaling-rules.yaml"

func TestAutoscalingRules(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "autoscaling-rules.yaml"), read(t, autoscalingRules), 0o644))
	require.NoError(
		t,
		os.WriteFile(filepath.Join(dir, "tests.yaml"), read(t, "tools/manifests/testdata/autoscaling.yaml"), 0o644),
	)
	out, err := promtool(t, "check", "rules", "--lint=all", filepath.Join(dir, "autoscaling-rules.yaml"))
	require.NoError(t, err, "%s", out)
	out, err = promtool(t, "test", "rules", filepath.Join(dir, "tests.yaml"))
	require.NoError(t, err, "%s", out)
}

// adapterConfig is the part of prometheus-adapter's configuration that defines external
// metrics (its pkg/config, DiscoveryRule).
type adapterConfig struct {
	ExternalRules []struct {
		SeriesQuery string `json:"seriesQuery"`
		Resources   struct {
			Namespaced *bool `json:"namespaced,omitempty"`
		} `json:"resources"`
		Name struct {
			Matches string `json:"matches"`
			As      string `json:"as"`
		} `json:"name"`
		MetricsQuery string `json:"metricsQuery"`
	} `json:"externalRules"`
}

func TestAdapterServesMetricsOfHPA(t *testing.T) {
	var adapter adapterConfig
	require.NoError(t, yaml.UnmarshalStrict(read(t, "deploy/autoscaling/prometheus-adapter.yaml"), &adapter))
	served := map[string]bool{}
	recorded := string(read(t, autoscalingRules))
	for _, rule := range adapter.ExternalRules {
		series, _, _ := strings.Cut(rule.SeriesQuery, "{")
		require.Contains(t, recorded, "record: "+series+"\n")
		require.False(t, *rule.Resources.Namespaced, "the series belongs to no namespace")
		served[rule.Name.As] = true
		query := strings.NewReplacer("<<.Series>>", series, "<<.LabelMatchers>>", `pool_id="a"`, "<<.GroupBy>>", "pool_id").
			Replace(rule.MetricsQuery)
		file := filepath.Join(t.TempDir(), "rule.yaml")
		text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{
			"name":  "a",
			"rules": []any{map[string]any{"record": "b", "expr": query}},
		}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o644))
		out, err := promtool(t, "check", "rules", file)
		require.NoError(t, err, "%s", out)
	}
	for _, manifest := range [][]byte{
		read(t, "deploy/autoscaling/hpa.yaml"), rendered(t, "--values=ci/hpa-values.yaml"),
	} {
		o := decoded(t, manifest)
		for _, m := range one[*autoscalingv2.HorizontalPodAutoscaler](t, o).Spec.Metrics {
			require.True(t, served[m.External.Metric.Name], m.External.Metric.Name)
		}
	}
}

func TestScaledObjectIsValid(t *testing.T) {
	require.Len(t, decoded(t, read(t, "deploy/autoscaling/keda.yaml")), 1)
}
