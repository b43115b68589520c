package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // As in the program.
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// clientSection documents the keys that pools and http_sd_configs share.
const clientSection = "HTTP client"

// documented returns the keys of every table in the document by section. In a table of blocks, a
// cell has the keys of a block.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	keys := map[string][]string{}
	heading := regexp.MustCompile("^#+ (.*)$")
	row := regexp.MustCompile("^\\| ([a-z]+|`[a-z0-9_]+`) \\|([^|]*)\\|[^|]*\\|$")
	section, column := "", ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			section = strings.ReplaceAll(m[1], "`", "")
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch name := strings.Trim(m[1], "`"); {
		case name == m[1]:
			column = name
		case column == "key":
			keys[section] = append(keys[section], name)
		case column == "block":
			keys[sectionOf(name)] = strings.Split(strings.Trim(m[2], "` "), "`, `")
		}
	}
	return keys
}

// sectionOf returns the section that documents the block of a key.
func sectionOf(block string) string {
	switch block {
	case "relabel_configs", "metric_relabel_configs":
		return "relabel_configs"
	case "ttft", "tpot", "itl", "e2e":
		return "ttft"
	}
	return block
}

// blocks lists the keys of every block of the document by its last key.
func blocks(t reflect.Type, name string, found map[string][]string) {
	t = writtenType(t)
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = writtenType(t.Elem())
	}
	if t.Kind() != reflect.Struct || !hasKeys(t) {
		return
	}
	keys := keysOf(t)
	if keys.otherType != nil {
		blocks(keys.otherType, name, found)
		return
	}
	if name != "" { // A block of the document is a section of the page.
		found[sectionOf(name)] = keys.order
	}
	for _, key := range keys.order {
		blocks(keys.fields[key], key, found)
	}
}

func TestDocumentedKeysMatchCode(t *testing.T) {
	found := map[string][]string{}
	blocks(reflect.TypeFor[File](), "", found)
	require.Greater(t, len(found), 15)
	page := documented(t)
	client := page[clientSection]
	require.NotEmpty(t, client)
	for section, keys := range found {
		want := slices.DeleteFunc(slices.Clone(keys), unsupported)
		if section == "pools" || section == "http_sd_configs" || section == "kubernetes_sd_configs" {
			want = slices.DeleteFunc(want, func(key string) bool { return slices.Contains(client, key) })
		}
		require.ElementsMatch(t, want, page[section], "section %s", section)
	}
	require.Subset(t, found["pools"], client, "section %s", clientSection)
	for section := range page {
		require.True(t, found[section] != nil || section == clientSection, "section %s documents no block", section)
	}
}

// unsupported reports whether a key of Prometheus' blocks is refused or has no effect. The
// document mentions these keys in a sentence.
func unsupported(key string) bool {
	otherGrants := []string{
		"client_certificate_key_id",
		"client_certificate_key", "client_certificate_key_file", "signature_algorithm", "iss", "audience", "claims",
	}
	return strings.HasSuffix(key, "_ref") || slices.Contains(otherGrants, key)
}

func TestDocumentedExamplesLoad(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(examples), 2)
	for _, example := range examples {
		requireOnlyFilesMissing(t, example[1])
	}
}

func TestShippedExamplesLoad(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 5)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			requireOnlyFilesMissing(t, string(text))
		})
	}
}

// setKeys adds the keys that a node of the document has to those of its block.
func setKeys(n *yaml.Node, block string, found map[string]map[string]bool) {
	if n.Kind != yaml.MappingNode {
		for _, entry := range n.Content {
			setKeys(entry, block, found)
		}
		return
	}
	section := sectionOf(block)
	if found[section] == nil {
		found[section] = map[string]bool{}
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		found[section][key] = true
		setKeys(n.Content[i+1], key, found)
	}
	// The names of headers are chosen, the keys of each are not.
	if block == "http_headers" {
		for i := 1; i < len(n.Content); i += 2 {
			setKeys(n.Content[i], block, found)
		}
	}
}

func TestExampleSetsEveryKey(t *testing.T) {
	text, err := os.ReadFile("testdata/every_key.yml")
	require.NoError(t, err)
	_, err = Parse("testdata/every_key.yml", text)
	require.NoError(t, err)
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal(text, &document))
	set := map[string]map[string]bool{}
	setKeys(document.Content[0], "", set)

	known := map[string][]string{}
	blocks(reflect.TypeFor[File](), "", known)
	client := documented(t)[clientSection]
	for section, keys := range known {
		for _, key := range keys {
			inherited := strings.HasSuffix(section, "_sd_configs") && slices.Contains(client, key)
			if !inherited && !unsupported(key) {
				require.Contains(t, set[section], key, "testdata/every_key.yml does not set %s in %s", key, section)
			}
		}
	}
}

// requireOnlyFilesMissing requires that a document is valid except for missing files with
// secrets.
func requireOnlyFilesMissing(t *testing.T, text string) {
	t.Helper()
	_, err := Parse("config.yml", []byte(text))
	if err == nil {
		return
	}
	for _, one := range flatten(err) {
		require.ErrorIs(t, one, fs.ErrNotExist, text)
	}
}

// TestDocumentedKeysOfKindsMatchCode compares the tables of docs/kinds.md with what a file of kinds takes.
func TestDocumentedKeysOfKindsMatchCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/kinds.md")
	require.NoError(t, err)
	page := map[string][]string{}
	row, section := regexp.MustCompile("(?m)^\\| `([a-z_0-9]+)` \\| ([a-z]*)"), ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "##"); ok {
			section = strings.Trim(heading, "# `\n")
		}
		if m := row.FindStringSubmatch(line); m != nil {
			page[section] = append(page[section], m[1])
		}
	}
	found := map[string][]string{}
	blocks(reflect.TypeFor[kindsDocument](), "", found)
	for section, keys := range found {
		require.ElementsMatch(t, keys, page[section], "section %s", section)
	}
	var signals []string
	for _, s := range engine.DeclarableSignals() {
		signals = append(signals, s.String())
	}
	require.Equal(t, signals, page["Signals"])
}

// TestDocumentedKindsLoad reads the examples in docs/kinds.md, each of at most thirty lines.
func TestDocumentedKindsLoad(t *testing.T) {
	text, err := os.ReadFile("../../docs/kinds.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s) *```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, examples, 2)
	for i, example := range examples {
		name := filepath.Join(t.TempDir(), "kinds.yml")
		require.NoError(t, os.WriteFile(name, []byte(example[1]), 0o600))
		_, err := LoadKinds(name)
		require.NoError(t, err, "example %d", i)
	}
}
