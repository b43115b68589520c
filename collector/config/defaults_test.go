package config

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// TestDocumentedDefaultsMatchCode reads the column of defaults for the
// blocks that a document prints when it sets no key. A switch that is off is not
// printed.
func TestDocumentedDefaultsMatchCode(t *testing.T) {
	f, err := Parse("c.yml", []byte("pools: [ { pool_id: a, static_configs: [ { targets: ['a:1'] } ], canary: { "+
		"enabled: true }, dial: {} } ]"))
	require.NoError(t, err)
	var doc struct {
		Global, Identity, Sharding, Exposition map[string]any
		Pools                                  []map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(f.String()), &doc))
	pool := doc.Pools[0]
	blocks := map[string]map[string]any{
		"global":      doc.Global,
		"identity":    doc.Identity,
		"sharding":    doc.Sharding,
		"exposition":  doc.Exposition,
		"pools":       pool,
		"HTTP client": pool,
		"canary":      pool["canary"].(map[string]any),
		"limits":      pool["limits"].(map[string]any),
	}

	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	row := regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| `([^`]+)`(, [^|`]*)? \\|")
	section, compared := "", map[string]int{}
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.Trim(heading, "#` \n")
		}
		m := row.FindStringSubmatch(line)
		block, printed := blocks[section]
		if m == nil || !printed || section == "canary" && m[1] == "enabled" || m[1] == "api_scheme" {
			continue
		}
		compared[section]++
		got, ok := block[m[1]]
		if !ok {
			got = false
		}
		text, err := yaml.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, m[2], strings.TrimSpace(string(text)), "%s: %s", section, m[1])
	}
	for section := range blocks {
		require.Positive(t, compared[section], "%s: no default was compared", section)
	}
}
