package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// mistakes are the lines of the error of a document whose one pool has further
// keys, without the name of the document.
func mistakes(t *testing.T, keys string) []string {
	t.Helper()
	return mistakesOf(t, "pools:\n- pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n  "+strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n  ")+"\n")
}

func mistakesOf(t *testing.T, text string) []string {
	t.Helper()
	_, err := config.Parse("c.yml", []byte(text))
	require.Error(t, err, text)
	return strings.Split(strings.ReplaceAll(err.Error(), "c.yml: ", ""), "\n")
}

// TestAValueOfAnotherKindIsNamedWithTheOneThatIsWanted has every kind of value
// where every other is wanted.
func TestAValueOfAnotherKindIsNamedWithTheOneThatIsWanted(t *testing.T) {
	kinds := []struct{ kind, written string }{
		{"a mapping", "{ a: b }"}, {"a list", "[ a ]"}, {"text", "abc"}, {"a number", "1.5"}, {"a number", "7"}, {"true or false", "true"},
	}
	for _, key := range []struct{ key, want string }{
		{"scrape_interval", "a duration like 5s or 1m"},
		{"limits.body", "a size like 16MiB"},
		{"silent", "true or false"},
		{"api_port", "a whole number"},
		{"slo.availability.objective", "a number"},
		{"scheme", "text"},
		{"model_ids", "a mapping"},
		{"limits", "a mapping of keys"},
		{"relabel_configs", "a list"},
		{"dial.deny", "a list"},
		{"expect.replicas", "text"},
	} {
		for _, is := range kinds {
			path := strings.Split(key.key, ".")
			text := strings.Join(path, ": { ") + ": " + is.written + strings.Repeat(" }", len(path)-1)
			scalar := !strings.HasPrefix(is.kind, "a mapping") && is.kind != "a list"
			wantsScalar := !strings.HasPrefix(key.want, "a mapping") && key.want != "a list"
			if scalar && wantsScalar || strings.HasPrefix(key.want, is.kind) {
				continue // Such a value may be read; if not, it is quoted.
			}
			got := mistakes(t, text)[0]
			require.Contains(t, got, fmt.Sprintf("pools[0].%s must be %s, not %s", key.key, key.want, is.kind))
		}
	}
}

func TestAValueThatCannotBeReadIsQuoted(t *testing.T) {
	for _, c := range [][2]string{
		{"scrape_interval: 5", `pools[0].scrape_interval: "5" is not a duration like 5s or 1m`},
		{"limits: { body: much }", `pools[0].limits.body: "much" is not a size like 16MiB`},
		{"silent: 7", `pools[0].silent: "7" is not true or false`},
		{"api_port: 1.5", `pools[0].api_port: "1.5" is not a whole number`},
		{"api_port: abc", `pools[0].api_port: "abc" is not a whole number`},
		{"slo: { availability: { objective: x } }", `pools[0].slo.availability.objective: "x" is not a number`},
	} {
		require.Equal(t, []string{"line 4: " + c[1]}, mistakes(t, c[0]))
	}
}

func TestASecretThatCannotBeReadIsNotQuoted(t *testing.T) {
	require.Equal(t, []string{"line 4: pools[0].basic_auth.password: must be text"}, mistakes(t, "basic_auth: { username: me, password: !!binary '%%hush' }"))
}

func TestKeysOfPrometheusAreNamedAsTheyAreCalledHere(t *testing.T) {
	require.Equal(t, []string{`line 4: unknown key "sample_limit" in pools[0]; use limits.samples`}, mistakes(t, "sample_limit: x"))
	require.Contains(t, mistakesOf(t, "scrape_configs: []\n")[0], `unknown key "scrape_configs" in the document; use pools`)
}

// TestAnUnknownKeyIsTakenForTheOneItIsASlipOf has words of every length: a third
// of the letters may be wrong, or one.
func TestAnUnknownKeyIsTakenForTheOneItIsASlipOf(t *testing.T) {
	for key, want := range map[string]string{
		"honor_label":   "honor_labels",    // One is missing.
		"honor_labelss": "honor_labels",    // One is too many.
		"honor_lebels":  "honor_labels",    // One is another.
		"honor_lbaels":  "honor_labels",    // Two have changed places.
		"HONOR_LABELS":  "honor_labels",    // All are of the other size.
		"hnoor_lbaesl":  "honor_labels",    // Three times two of twelve have changed places.
		"hhnxr_lxbxls":  "honor_labels",    // Four of twelve.
		"xcxeme":        "scheme",          // Two of six.
		"slx":           "slo",             // One of three.
		"o":             "",                // Two of one.
		"sxx":           "",                // Two of three.
		"xcxexe":        "",                // Three of six.
		"hxnxr_lxbxlx":  "",                // Five of twelve.
		"api_prt":       "api_port",        // Nearer than api_protocol.
		"enigne_dri":    "engine_dir",      // Two swaps.
		"metrics_paht":  "metrics_path",    // A swap at the end.
		"lso":           "slo",             // A swap at the beginning.
		"iteration_sta": "iteration_stats", // Two are missing at the end.
	} {
		got := mistakes(t, key+": x")[0]
		if want == "" {
			require.NotContains(t, got, "did you mean", key)
			continue
		}
		require.Equal(t, fmt.Sprintf("line 4: unknown key %q in pools[0]; did you mean %q?", key, want), got)
	}
}

func TestAnUnknownKeyIsSentToTheBlockItBelongsTo(t *testing.T) {
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
		"limits: { <<: [ 1 ] }":               `pools[0].limits: a merge key (<<) takes a mapping, not a number`,
		"limits: { 'odd key': 1 }":            `unknown key "odd key" in pools[0].limits; docs/configuration.md lists the keys`,
		"model_ids: { 'a b': { c: d } }":      `pools[0].model_ids["a b"] must be a list, not a mapping; start each entry with "- "`,
		"model_ids: { a-b_c1: { c: d } }":     `pools[0].model_ids.a-b_c1 must be a list, not a mapping; start each entry with "- "`,
		"model_ids: { '': { c: d } }":         `pools[0].model_ids[""] must be a list, not a mapping; start each entry with "- "`,
		"model_ids: { a: [ b ], a: [ c ] }":   `key "a" in pools[0].model_ids is already set on line 4; remove one of the two`,
		"model_ids: { a: [ b, ] , b: [ ~ ] }": `pools[0].model_ids.b[0] is empty; fill it or remove the "-"`,
		"model_ids: { [ a ]: [ b ] }":         `pools[0].model_ids[""] must be text, not a list`,
	} {
		require.Equal(t, "line 4: "+want, mistakes(t, text)[0], text)
	}
}

// TestMergesAreWalkedAsDeepAsTheyGo has mistakes behind merges of merges.
func TestMergesAreWalkedAsDeepAsTheyGo(t *testing.T) {
	merged := func(n int, inner string) string {
		return "limits: " + strings.Repeat("{ <<: ", n) + inner + strings.Repeat(" }", n)
	}
	require.Equal(t, []string{`line 4: unknown key "zzzzzz" in pools[0].limits; docs/configuration.md lists the keys`}, mistakes(t, merged(200, "{ zzzzzz: 1 }")))
	require.Equal(t, []string{`line 4: pools[0].limits.samples: "x" is not a whole number`, `line 4: pools[0].limits.labels: "y" is not a whole number`},
		mistakes(t, "limits: { <<: [ { samples: x }, { labels: y } ] }"))
	require.Equal(t, []string{`line 4: pools[0].limits.samples: "x" is not a whole number`, `line 4: pools[0].limits.labels: "y" is not a whole number`},
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

func TestADocumentThatIsNoYAMLSaysWhere(t *testing.T) {
	const check = "; check the indentation, quotes and brackets from this line on"
	for text, want := range map[string]string{
		"\tpools: []":                      "line 1: the line is indented with a tab; use spaces",
		"pools:\n - a\n\t- b":              "line 3: the line is indented with a tab; use spaces",
		"\n\t\npools:\n\t- b":              "line 4: the line is indented with a tab; use spaces",
		"pools:\n- @x":                     "line 2: not valid YAML: found character that cannot start any token" + check,
		"pools:\n- pool_id: *nowhere\n":    "line 2: the alias *nowhere has no anchor; define &nowhere above it",
		"pools: &a1\n- *a1\n- *a\n":        "line 3: the alias *a has no anchor; define &a above it",
		"pools:\n  - a: b\n   c: d":        "line 2: not valid YAML: did not find expected '-' indicator in the list or mapping that starts here" + check,
		"pools: [\n":                       "line 2: not valid YAML: did not find expected node content in the list or mapping that starts here" + check,
		"pools: []\n---\npools: []\n":      "line 2: a second document starts here; put everything into one and remove the line ---",
		"pools: []\n---\npools: [\n":       "line 4: not valid YAML: did not find expected node content in the list or mapping that starts here" + check,
		"pools: []\n---\n\tpools:\n":       "line 3: the line is indented with a tab; use spaces",
		"pools: 'a\xff'\n":                 "line 1: not valid UTF-8; save the file as UTF-8",
		"# one\n# two\npools: 'a\xff'\n":   "line 3: not valid UTF-8; save the file as UTF-8",
		"# empty\n":                        "the file is empty; it needs at least pools",
		"~\n":                              "the file is empty; it needs at least pools",
		"a: &a { b: *a }\npools: [ *a ]\n": `line 1: unknown key "a" in the document; known keys: global, identity, sharding, pools, exposition`,
	} {
		require.Equal(t, want, mistakesOf(t, text)[0], text)
	}
}
