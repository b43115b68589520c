package dashboards_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// jsonnet evaluates an expression in the mixin's folder; without the program the
// test is skipped, but never so in CI.
func jsonnet(t *testing.T, expression string, into any) {
	t.Helper()
	path := cmp.Or(os.Getenv("JSONNET"), filepath.Join("..", ".cache", "bin", "jsonnet"))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err)
		}
		t.Skip("jsonnet is not built: `make .cache/bin/jsonnet` builds it")
	}
	out, err := exec.CommandContext(t.Context(), path, "-e", expression).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, into))
}

func TestMixinHasAllDashboardsAndRules(t *testing.T) {
	t.Parallel()
	var found map[string]json.RawMessage
	jsonnet(t, "(import 'mixin.libsonnet').grafanaDashboards", &found)
	all := dashboards.All()
	require.Len(t, found, len(all))
	for i := range all {
		want, err := dashboards.Encode(&all[i], dashboards.ClusterLabel)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(found[all[i].UID+".json"]))
	}

	type file struct {
		Groups []struct {
			Rules []map[string]any `yaml:"rules"`
		} `yaml:"groups"`
	}
	var rules []map[string]any
	for _, kind := range []string{"prometheusRules", "prometheusAlerts"} {
		var f file
		jsonnet(t, "(import 'mixin.libsonnet')."+kind, &f)
		for _, g := range f.Groups {
			rules = append(rules, g.Rules...)
		}
	}
	values, err := alerts.DefaultValues()
	require.NoError(t, err)
	text, err := alerts.Render(values)
	require.NoError(t, err)
	var want file
	require.NoError(t, yaml.Unmarshal(text, &want))
	count := 0
	for _, g := range want.Groups {
		count += len(g.Rules)
	}
	require.Len(t, rules, count)
}

func TestProvisioningIsWhatGrafanaReads(t *testing.T) {
	t.Parallel()
	for path, key := range map[string]string{
		"provisioning/dashboards/llm-servers.yml": "providers",
		"provisioning/datasources/prometheus.yml": "datasources",
	} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var file map[string]any
		require.NoError(t, yaml.Unmarshal(text, &file))
		require.Equal(t, 1, file["apiVersion"], path)
		require.NotEmpty(t, file[key], path)
	}
}
