package manifests_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the generated files of deploy")

// rules returns the rules that the exporter prints.
func rules(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"rules"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}

// asMonitored returns the arguments that print rules for the interval of the monitors, with
// additional values.
func asMonitored(t *testing.T, more string) []string {
	t.Helper()
	if !strings.Contains(more, "scrape_interval") {
		more = "scrape_interval: 15s\n" + more
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(path, []byte(more), 0o600))
	return []string{"--values=" + path}
}

// requireRules compares an object with the printed rules, in any order of groups.
func requireRules(t *testing.T, rule *monitoringv1.PrometheusRule, args []string) {
	t.Helper()
	var want monitoringv1.PrometheusRuleSpec
	require.NoError(t, yaml.UnmarshalStrict(rules(t, args...), &want))
	byName := func(a, b monitoringv1.RuleGroup) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want.Groups, byName)
	slices.SortFunc(rule.Spec.Groups, byName)
	wanted, err := json.MarshalIndent(want.Groups, "", " ")
	require.NoError(t, err)
	got, err := json.MarshalIndent(rule.Spec.Groups, "", " ")
	require.NoError(t, err)
	require.Equal(t, string(wanted), string(got))
}

// requireFile compares a generated file, or writes it with -update.
func requireFile(t *testing.T, path string, want []byte) {
	t.Helper()
	full := filepath.Join(root, path)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, want, 0o644))
	}
	got, err := os.ReadFile(full)
	require.NoError(t, err, "make deploy-files writes it")
	require.Equal(t, string(want), string(got), "%s is stale: make deploy-files writes it", path)
}

func TestGeneratedPrometheusRules(t *testing.T) {
	var spec map[string]any
	require.NoError(t, yaml.Unmarshal(rules(t, asMonitored(t, "")...), &spec))
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "trtllm-exporter"}, "spec": spec,
	})
	require.NoError(t, err)
	requireFile(t, "deploy/kubernetes/components/prometheus-operator/prometheusrule.yaml",
		append([]byte("# Written by `make deploy-files` from what `trtllm_exporter rules` prints.\n"), text...))
}
