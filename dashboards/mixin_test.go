package dashboards_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// jsonnet evaluates an expression in the mixin's folder.
func jsonnet(t *testing.T, expression string, into any) {
	t.Helper()
	out, err := evaluated(t, expression)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, into))
}

// evaluated returns the result of an expression. Without jsonnet the test is skipped,
// except in CI.
func evaluated(t *testing.T, expression string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Program(t, "jsonnet"), "-e", expression)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, nil
}

// file holds rules by group, as Prometheus reads them.
type file struct {
	Groups []group `yaml:"groups" json:"groups"`
}

type group struct {
	Name     string           `yaml:"name" json:"name"`
	Interval string           `yaml:"interval" json:"interval"`
	Rules    []map[string]any `yaml:"rules" json:"rules"`
}

// only returns the rules of a kind.
func (f *file) only(kind string) file {
	var rules file
	for _, g := range f.Groups {
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(rule map[string]any) bool { return rule[kind] == nil })
		if len(g.Rules) > 0 {
			rules.Groups = append(rules.Groups, g)
		}
	}
	return rules
}

func TestMixinMatchesGenerators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config, values, label string
		chosen                      dashboards.Choices
	}{
		{name: "default", config: "{}", values: "{}", label: "cluster"},
		{
			name:   "scrape interval of a minute",
			config: "{scrapeInterval: '1m'}",
			values: "scrape_interval: 1m",
			label:  "cluster",
		},
		{
			name:   "scrape interval of 17 seconds",
			config: "{scrapeInterval: '17s'}",
			values: "scrape_interval: 17s",
			label:  "cluster",
		},
		{
			name:   "another cluster label",
			config: "{clusterLabel: 'k8s_cluster'}",
			values: "cluster_label: k8s_cluster",
			label:  "k8s_cluster",
		},
		{name: "no cluster label", config: "{clusterLabel: ''}", values: "cluster_label: ''"},
		{
			name: "another job, another runbook and another threshold", config: "{exporterJob: 'llm', runbookURL: " +
				"'https://wiki/llm', values: {slow_for: '9m'}}",
			values: "exporter_job: llm\nrunbook: https://wiki/llm\n" +
				"slow_for: 9m", label: "cluster", chosen: dashboards.Choices{Runbook: "https://wiki/llm"},
		},
		{
			name: "links to a Grafana and an exporter", config: "{grafanaURL: 'https://grafana', exporterURL: " +
				"'http://exporter:9802'}",
			values: "grafana: https://grafana\nexporter: http://exporter:9802", label: "cluster",
			chosen: dashboards.Choices{Exporter: "http://exporter:9802"},
		},
		{
			name: "other tags, a link and another time", values: "{}", label: "cluster",
			config: "{dashboardTags: ['ours', 'llm'], dashboardLinks: [{title: 'Wiki', type: 'link', url: " +
				"'https://wiki'}], dashboardRefresh: '1m', dashboardTimeFrom: 'now-6h'}",
			chosen: dashboards.Choices{
				Tags: []string{"ours", "llm"}, Links: []dashboards.Link{{
					Title: "Wiki",
					Type:  "link",
					URL:   "https://wiki",
				}}, Refresh: "1m", TimeFrom: "now-6h",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found map[string]json.RawMessage
			mixin := "((import 'mixin.libsonnet') {_config+:: " + c.config + "})."
			jsonnet(t, mixin+"grafanaDashboards", &found)
			all := dashboards.All()
			require.Len(t, found, len(all))
			for i := range all {
				want, err := dashboards.Encode(all[i].With(&c.chosen), c.label)
				require.NoError(t, err)
				require.JSONEq(t, string(want), string(found[all[i].UID+".json"]), all[i].UID)
			}
			values, err := alerts.ParseValues([]byte(c.values))
			require.NoError(t, err)
			text, err := alerts.Render(values)
			require.NoError(t, err)
			var want file
			require.NoError(t, yaml.Unmarshal(text, &want))
			for kind, field := range map[string]string{"record": "prometheusRules", "alert": "prometheusAlerts"} {
				var got file
				jsonnet(t, mixin+field, &got)
				wanted, err := json.MarshalIndent(want.only(kind), "", " ")
				require.NoError(t, err)
				have, err := json.MarshalIndent(got, "", " ")
				require.NoError(t, err)
				require.Equal(t, string(wanted), string(have), kind)
			}
		})
	}
}

func TestMixinOmitsDisabledAlerts(t *testing.T) {
	t.Parallel()
	var got file
	jsonnet(t, "((import 'mixin.libsonnet') {_config+:: {disabledAlerts: "+
		"['LLMReplicaSuspected']}}).prometheusAlerts", &got)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"LLMReplicaSuspected"`)
	require.Contains(t, string(text), `"LLMReplicaBroken"`)
}

// TestDocumentedMixinIsValid evaluates the example of docs/dashboards.md with the
// repository in jb's vendor folder.
func TestDocumentedMixinIsValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/dashboards.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(page), "```jsonnet\n")
	require.True(t, found, "the page has an example")
	example, _, _ = strings.Cut(example, "```")
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	const vendored = "github.com/trtllm-exporter/trtllm_exporter"
	require.Contains(t, example, "'"+vendored)
	var files map[string]json.RawMessage
	jsonnet(t, strings.ReplaceAll(example, "'"+vendored, "'"+repository), &files)
	require.Len(t, files, len(dashboards.All())+2)
	require.Contains(t, string(files["alerts.json"]), "https://grafana.example.com/d/")
	require.NotContains(t, string(files["alerts.json"]), "LLMPoolSlow")
	require.Contains(t, string(files["rules.json"]), "k8s_cluster")
	require.Contains(t, string(files["trtllm-fleet.json"]), `"1m"`)
}

func TestMixinRejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"{values: {nothing: '1'}}": "values.nothing: alerts/values.yaml has no such key",
		"{scrapeInterval: '2m'}":   "scrapeInterval: 2m is longer than 1m",
		"{grafanaURL: 'grafana:3000'}": `grafanaURL: "grafana:3000" has no scheme http or https; did you mean ` +
			`"http://grafana:3000"?`,
		"{exporterURL: '10.0.0.1:9802'}": `exporterURL: "10.0.0.1:9802" has no scheme`,
		"{runbookURL: 'wiki/rb'}":        `runbookURL: "wiki/rb" has no scheme`,
	} {
		_, err := evaluated(t, "((import 'mixin.libsonnet') {_config+:: "+config+"}).prometheusRules")
		require.ErrorContains(t, err, want)
	}
}

func TestProvisioningFileIsValid(t *testing.T) {
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
