package manifests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// requireFolder requires that the files of a folder equal those of another one, or copies
// them with -update.
func requireFolder(t *testing.T, to, from, pattern string) []string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root, from, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	wanted := map[string]bool{}
	for _, source := range sources {
		name := filepath.Base(source)
		wanted[name] = true
		requireFile(t, to+"/"+name, read(t, from+"/"+name))
	}
	present, err := filepath.Glob(filepath.Join(root, to, pattern))
	require.NoError(t, err)
	for _, path := range present {
		if name := filepath.Base(path); !wanted[name] && *update {
			require.NoError(t, os.Remove(path))
		} else {
			require.True(t, wanted[name], "%s has no source in %s", path, from)
		}
	}
	return slices.Sorted(maps.Keys(wanted))
}

func TestGeneratedChartRules(t *testing.T) {
	names := requireFolder(t, chart+"/files/rules", "alerts/rules", "*.yaml")
	requireFile(t, chart+"/files/rules-values.yaml", read(t, "alerts/values.yaml"))

	var values struct {
		Rules struct {
			Files map[string]bool `yaml:"files"`
		} `yaml:"prometheusRule"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, chart+"/values.yaml"), &values))
	var switches []string
	for name, on := range values.Rules.Files {
		require.True(t, on, name)
		switches = append(switches, name+".yaml")
	}
	require.ElementsMatch(t, names, switches, "every file of rules has a switch")
	for _, name := range names {
		require.Contains(
			t,
			string(read(t, chart+"/tests/rules_test.yaml")),
			"prometheusRule.files."+strings.TrimSuffix(name, ".yaml")+": false",
		)
	}
}

func TestGeneratedChartDashboards(t *testing.T) {
	names := requireFolder(t, chart+"/files/dashboards", "dashboards/json", "*.json")
	var b strings.Builder
	b.WriteString("# Written by `make deploy-files`. ConfigMaps for the sidecar of Grafana.\n" +
		"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigMapGenerator:\n")
	for _, name := range names {
		require.True(t, json.Valid(read(t, chart+"/files/dashboards/"+name)), name)
		require.Contains(
			t,
			string(read(t, chart+"/tests/dashboards_test.yaml")),
			"dashboards.disabled: ["+strings.TrimSuffix(name, ".json")+"]",
		)
		fmt.Fprintf(
			&b,
			"  - name: trtllm-exporter-dashboard-%s\n    files: [%s]\n",
			strings.TrimSuffix(name, ".json"),
			name,
		)
		b.WriteString("    options: { disableNameSuffixHash: true, labels: { grafana_dashboard: \"1\" } }\n")
	}
	requireFile(t, chart+"/files/dashboards/kustomization.yaml", []byte(b.String()))
}

func TestGeneratedChartReadme(t *testing.T) {
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal(read(t, chart+"/values.yaml"), &doc))
	var b strings.Builder
	fmt.Fprintf(&b, readmeHead, description(t))
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, row := range valueRows(t, doc.Content[0], "") {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.key, row.value, row.meaning)
	}
	requireFile(t, chart+"/README.md", []byte(b.String()))
}

// description returns that of the chart.
func description(t *testing.T) string {
	t.Helper()
	var doc struct{ Description string }
	require.NoError(t, yaml.Unmarshal(read(t, chart+"/Chart.yaml"), &doc))
	return doc.Description
}

// valueRow is a value of the chart.
type valueRow struct{ key, value, meaning string }

// valueRows returns keys, defaults and comments; blocks whose keys have comments become
// several rows.
func valueRows(t *testing.T, node *yaml.Node, path string) []valueRow {
	t.Helper()
	var rows []valueRow
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		key := path + name.Value
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Content[0].HeadComment != "" {
			rows = append(rows, valueRows(t, value, key+".")...)
			continue
		}
		meaning := strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(name.HeadComment, "# -- "), "\n# ", " "))
		require.NotEmpty(t, meaning, "%s has no comment", key)
		rows = append(rows, valueRow{key, cell(t, value), strings.ReplaceAll(meaning, "|", "\\|")})
	}
	return rows
}

// cell formats a default for a table.
func cell(t *testing.T, value *yaml.Node) string {
	t.Helper()
	var v any
	require.NoError(t, value.Decode(&v))
	text, err := json.Marshal(v)
	require.NoError(t, err)
	if len(text) > 100 {
		return "see values.yaml"
	}
	return "`" + strings.ReplaceAll(string(text), "|", "\\|") + "`"
}

const readmeHead = "# trtllm-exporter\n\n" +
	"<!-- Written by `make deploy-files` from values.yaml. -->\n\n" +
	"%s.\n\n" +
	"```sh\nhelm install exporter deploy/helm/trtllm-exporter --namespace llm --values my-values.yaml\n```\n\n" +
	"`config` is the exporter's configuration, as in docs/configuration.md; the folder `ci` has an example for " +
	"every mode. See\n" +
	"docs/install.md for the installation.\n\n"

func TestSchemaMatchesValues(t *testing.T) {
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(read(t, chart+"/values.yaml"), &values))
	var schema map[string]any
	require.NoError(t, json.Unmarshal(read(t, chart+"/values.schema.json"), &schema))
	// Charts that have this one as a dependency may share more.
	delete(values, "global")
	delete(schema["properties"].(map[string]any), "global")
	requireSameKeys(t, values, schema, "values")
}

// requireSameKeys compares the keys of a block of values with its schema, where that lists
// them.
func requireSameKeys(t *testing.T, values, schema map[string]any, path string) {
	t.Helper()
	properties, closed := schema["properties"].(map[string]any)
	if !closed {
		return
	}
	require.Equal(t, false, schema["additionalProperties"], path)
	require.ElementsMatch(t, slices.Collect(maps.Keys(values)), slices.Collect(maps.Keys(properties)), path)
	for key, property := range properties {
		if inner, ok := values[key].(map[string]any); ok {
			requireSameKeys(t, inner, property.(map[string]any), path+"."+key)
		}
	}
}
