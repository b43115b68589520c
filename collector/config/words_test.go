package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// mistakes returns the lines of the error for a pool with further keys, without the name of the
// document.
func mistakes(t *testing.T, keys string) []string {
	t.Helper()
	return mistakesOf(t, "pools:\n- pool_id: a\n  static_configs: [ { targets: "+
		"['a:1'] } ]\n  "+strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n  ")+"\n")
}

func mistakesOf(t *testing.T, text string) []string {
	t.Helper()
	_, err := config.Parse("c.yml", []byte(text))
	require.Error(t, err, text)
	return strings.Split(strings.ReplaceAll(err.Error(), "c.yml: ", ""), "\n")
}

func TestUndecodableSecretIsNotQuoted(t *testing.T) {
	require.Equal(
		t,
		[]string{"line 4: pools[0].basic_auth.password: must be text"},
		mistakes(t, "basic_auth: { username: me, password: !!binary '%%hush' }"),
	)
}

func TestInvalidNumberIsQuoted(t *testing.T) {
	require.Equal(
		t,
		[]string{`line 4: pools[0].slo.availability.objective: "x" is not a number`},
		mistakes(t, "slo: { availability: { objective: x } }"),
	)
}

// TestUnknownKeySuggestion uses words of every length: a third of the letters may be wrong, or
// one.
func TestUnknownKeySuggestion(t *testing.T) {
	for key, want := range map[string]string{
		"honor_label":   "honor_labels", // One letter is missing.
		"honor_labelss": "honor_labels", // One too many.
		"honor_lebels":  "honor_labels", // One differs.
		"honor_lbaels":  "honor_labels", // Two are swapped.
		"HONOR_LABELS":  "honor_labels", // All have the other case.
		"hhnxr_lxbxls":  "honor_labels", // Four of twelve.
		"oauth":         "oauth2",       // The beginning of one.
		"hxnxr_lxbxlx":  "",             // Five of twelve.
		"api_prt":       "api_port",     // More similar than api_protocol.
		"lso":           "slo",          // A swap at the beginning.
	} {
		got := mistakes(t, key+": x")[0]
		if want == "" {
			require.NotContains(t, got, "did you mean", key)
			continue
		}
		require.Equal(t, fmt.Sprintf("line 4: unknown key %q in pools[0]; did you mean %q?", key, want), got)
	}
}

func TestMisplacedKeySuggestsBlock(t *testing.T) {
	for text, want := range map[string]string{
		"samples: 5":                          `unknown key "samples" in pools[0]; it belongs in pools[].limits`,
		"limits: { pool_id: a }":              `unknown key "pool_id" in pools[0].limits; it belongs in pools[]`,
		"expect: { prompt: a }":               `unknown key "prompt" in pools[0].expect; it belongs in pools[].canary`,
		"expect: { own_namespace: a }":        `unknown key "own_namespace" in pools[0].expect; it belongs in pools[].kubernetes_sd_configs[].namespaces`,
		"expect: { global: a }":               `unknown key "global" in pools[0].expect; it belongs in the document`,
		"expect: { scrape_interval: 5s }":     `unknown key "scrape_interval" in pools[0].expect; it belongs in global or pools[]`,
		"slo: { zzzzzzzzz: 1 }":               `unknown key "zzzzzzzzz" in pools[0].slo; known keys: ttft, tpot, itl, e2e, availability`,
		"zzzzzzzzz: 1":                        `unknown key "zzzzzzzzz" in pools[0]; docs/configuration.md lists the keys`,
		"limits: [ 1 ]":                       `pools[0].limits must be a mapping of keys, not a list; known keys: body, compressed_body, headers, samples, labels, label_name, label_value, name, help, output_series, ...`,
		"canary: [ 1 ]":                       `pools[0].canary must be a mapping of keys, not a list; known keys: enabled, confirm, interval, timeout, first_token_timeout, gap_timeout, end_timeout, model, prompt, max_tokens, ...`,
		"canary: { <<: { zzzzzzzzz: 1 } }":    `unknown key "zzzzzzzzz" in pools[0].canary; docs/configuration.md lists the keys`,
		"limits: { 'odd key': 1 }":            `unknown key "odd key" in pools[0].limits; docs/configuration.md lists the keys`,
		"model_ids: { 'a b': { c: d } }":      `pools[0].model_ids["a b"] must be a list, not a mapping; start each entry with "- "`,
		"model_ids: { '': { c: d } }":         `pools[0].model_ids[""] must be a list, not a mapping; start each entry with "- "`,
		"model_ids: { a: [ b, ] , b: [ ~ ] }": `pools[0].model_ids.b[0] is empty; fill it or remove the "-"`,
		"model_ids: { [ a ]: [ b ] }":         `pools[0].model_ids[""] must be text, not a list`,
	} {
		require.Equal(t, "line 4: "+want, mistakes(t, text)[0], text)
	}
}

// TestNestedMerges has mistakes in merges within merges.
func TestNestedMerges(t *testing.T) {
	merged := func(n int, inner string) string {
		return "limits: " + strings.Repeat("{ <<: ", n) + inner + strings.Repeat(" }", n)
	}
	require.Equal(
		t,
		[]string{`line 4: unknown key "zzzzzz" in pools[0].limits; docs/configuration.md lists the keys`},
		mistakes(t, merged(200, "{ zzzzzz: 1 }")),
	)
	require.Equal(t, []string{
		`line 4: pools[0].limits.samples: "x" is not a whole number`,
		`line 4: pools[0].limits.labels: "y" is not a whole number`,
	},
		mistakes(t, "limits: { <<: [ { samples: x }, { labels: y } ] }"))
	require.Equal(t, []string{
		`line 4: pools[0].limits.samples: "x" is not a whole number`,
		`line 4: pools[0].limits.labels: "y" is not a whole number`,
	},
		mistakes(t, "limits: { <<: { <<: { samples: x } }, labels: y }"))
	require.Equal(t, []string{`line 4: unknown key "zzzzzz" in pools[0].limits; docs/configuration.md lists the keys`},
		mistakes(t, "limits: { <<: [ &twice { zzzzzz: 1 }, *twice, *twice ] }"))

	f, err := config.Parse("c.yml", []byte(`
pools:
- pool_id: a
  limits: { <<: [ { samples: 3 }, { labels: 4 } ], name: 5 }
  model_ids: { <<: [ { a: [ x ] }, { b: [ "y" ] } ], c: [ z ] }
  static_configs: [ { targets: ['a:1'] } ]
`))
	require.NoError(t, err)
	limits := f.Pools[0].Limits.Series
	require.Equal(t, [3]int{3, 4, 5}, [3]int{limits.Samples, limits.Labels, limits.Name})
	require.Equal(t, map[string][]string{"a": {"x"}, "b": {"y"}, "c": {"z"}}, f.Pools[0].ModelIDs)
}

func TestRepeatedAliasesAreRefused(t *testing.T) {
	const many = 1100
	target := strings.Repeat("a:1, ", many)
	text := "pools:\n- &pool\n  pool_id: a\n  static_configs: [ { targets: [" + target + "] } ]\n" +
		strings.Repeat("- *pool\n", many)
	require.Equal(t, []string{
		"document contains excessive aliasing; write values out instead of repeating aliases of aliases",
	}, mistakesOf(t, text))
}

func TestSyntaxErrorHasLine(t *testing.T) {
	const check = "; check the indentation, quotes and brackets from this line on"
	for text, want := range map[string]string{
		"\n\t\npools:\n\t- b":       "line 4: the line is indented with a tab; use spaces",
		"pools: &a1\n- *a1\n- *a\n": "line 3: an alias (*) has no anchor (&) above it; put a text that begins with * in quotes",
		"pools: []\n---\npools: [\n": "line 4: not valid YAML: did not find expected node content in the " +
			"list or mapping that starts here" + check,
		"pools: []\n---\n\tpools:\n":       "line 3: the line is indented with a tab; use spaces",
		"# one\n# two\npools: 'a\xff'\n":   "line 3: not valid UTF-8; save the file as UTF-8",
		"a: &a { b: *a }\npools: [ *a ]\n": `line 1: unknown key "a" in the document; known keys: global, identity, sharding, pools, exposition, kinds_file`,
	} {
		require.Equal(t, want, mistakesOf(t, text)[0], text)
	}
}

// TestMistakeHasLineOfKey has values on the line after their keys.
func TestMistakeHasLineOfKey(t *testing.T) {
	require.Equal(t, []string{`line 2: pools[0].scheme: "ftp" is unknown; use http or https`},
		mistakesOf(t, "pools:\n- scheme:\n    ftp\n  pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n"))
	require.Equal(t, []string{`line 4: pools[0].model_ids.b: "x" already belongs to "a"; a server's name has one id`},
		mistakesOf(t, "pools:\n- model_ids:\n    a: [ x ]\n    b:\n      [ x ]\n  pool_id: a\n  static_configs: [ "+
			"{ targets: ['a:1'] } ]\n"))
}

// TestMergedListsAreDecoded has a mistake that only the decoder of the block finds.
func TestMergedListsAreDecoded(t *testing.T) {
	require.Equal(t, []string{"line 4: pools[0].relabel_configs[0].modulus: relabel configuration for hashmod " +
		"requires non-zero modulus; set modulus to the number of parts"},
		mistakes(t, "relabel_configs: [ { <<: [ { action: hashmod }, { target_label: x } ], source_labels: [ a ] } ]"))
}

func TestShortestDurationsAreValid(t *testing.T) {
	f := onePool()
	f.Global.StallAfter = 1
	f.Pools[0].StartBudget, f.Pools[0].IdentityInterval = 1, 1
	f.Resolve()
	require.NoError(t, f.Validate())
	f.Global.ScrapeInterval, f.Global.ScrapeTimeout = 1, 1
	require.NoError(t, f.Global.Validate())
}
