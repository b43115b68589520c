package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// TestOneRunFindsMistakesInKeysAndBetweenThem has documents in which a key is
// wrong on its own, so that it is left out while the rest is checked.
func TestOneRunFindsMistakesInKeysAndBetweenThem(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"both are reported": {
			"pools:\n- pool_id: a/b\n  silent: 7\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{`line 2: pools[0].pool_id: "a/b" has a slash, which separates pool and replica; use - instead`, `line 3: pools[0].silent: "7" is not true or false`},
		},
		"a key that was left out is not missed": {
			"pools:\n- pool_id: [ a ]\n  scheme: ftp\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{`line 2: pools[0].pool_id must be text, not a list`, `line 3: pools[0].scheme: "ftp" is unknown; use http or https`},
		},
		"an entry that was left out is not missed": {
			"pools:\n- pool_id: a\n  static_configs: [ { targets: [ { a: b } ] } ]\n- pool_id: a/b\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{`line 3: pools[0].static_configs[0].targets[0] must be text, not a mapping`, `line 4: pools[1].pool_id: "a/b" has a slash, which separates pool and replica; use - instead`},
		},
		"what is left of a list within a pool has the places that it had": {
			"pools:\n- pool_id: a\n  static_configs: [ { targets: [ { a: b }, 'a:1', 'a:1' ] } ]\n",
			[]string{
				`line 3: pools[0].static_configs[0].targets[0] must be text, not a mapping`,
				`line 3: pools[0].static_configs[0].targets[2]: pool_id "a" and replica_id "a:1" are already used by pools[0].static_configs[0].targets[1]; give each target its own replica_id`,
			},
		},
		"what a merge that was left out may have given is not missed": {
			"pools:\n- pool_id: a\n  <<: [ x ]\n  api_scheme: https\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{`line 3: pools[0]: a merge key (<<) takes a mapping, not text`},
		},
		"what speaks of a key that was left out is not reported": {
			"pools:\n- pool_id: a\n  silent: true\n  canary: { enabled: true, max_tokens: x }\n  scrape_interval: 1s\n  scrape_timeout: much\n  api_scheme: https\n  api_port: x\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{
				`line 4: pools[0].canary.max_tokens: "x" is not a whole number`,
				`line 4: pools[0].canary.enabled: silent replicas have no API to ask; remove one of the two`,
				`line 6: pools[0].scrape_timeout: "much" is not a duration like 5s or 1m`, `line 8: pools[0].api_port: "x" is not a whole number`,
			},
		},
		"a value behind an alias is left out everywhere": {
			"global: { stall_after: &x much }\npools:\n- pool_id: a/b\n  scrape_interval: *x\n  static_configs: [ { targets: ['a:1'] } ]\n",
			[]string{`line 1: global.stall_after: "much" is not a duration like 5s or 1m`, `line 3: pools[0].pool_id: "a/b" has a slash, which separates pool and replica; use - instead`},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, mistakesOf(t, tc.text)) })
	}
}

// TestWhatIsLeftOfADocumentCanBeLookedAt has documents with mistakes in keys,
// between keys, and nothing but mistakes.
func TestWhatIsLeftOfADocumentCanBeLookedAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yml")
	for text, pools := range map[string]int{
		"pools: [ { pool_id: a, silent: 7, file_sd_configs: [ { files: [ a.yml ] } ] } ]":   1,
		"pools: [ { pool_id: a/b, silent: 7, file_sd_configs: [ { files: [ a.yml ] } ] } ]": 1,
		"pools: [ { pool_id: a/b, file_sd_configs: [ { files: [ a.yml ] } ] } ]":            1,
		"pools: [": 0,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := config.Inspect(path)
		require.Error(t, err)
		if pools == 0 {
			require.Nil(t, f)
			continue
		}
		require.NotNil(t, f, text)
		require.Len(t, f.Pools, pools)
		require.Equal(t, f.Global.ScrapeInterval, f.Pools[0].ScrapeInterval, "the pool has what the global block gives")
		require.Equal(t, []string{filepath.Join(filepath.Dir(path), "a.yml")}, f.Pools[0].Discovery.FileSDConfigs[0].Files)

		none, err := config.Load(path)
		require.Error(t, err)
		require.Nil(t, none)
	}
}

func TestAFolderIsNoDocument(t *testing.T) {
	_, err := config.Load(t.TempDir())
	require.ErrorContains(t, err, "is a directory")
}

func TestADocumentIsClosedWhenItWasRead(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list the open files of a process")
		}
		return len(files)
	}
	before := open()
	for range 20 {
		_, err := config.Load("testdata/good/minimal.yml")
		require.NoError(t, err)
	}
	require.Less(t, open(), before+10)
}

// TestAMistakeIsNotedWhereItsKeyStands has values on the line after their keys.
func TestAMistakeIsNotedWhereItsKeyStands(t *testing.T) {
	require.Equal(t, []string{`line 2: pools[0].scheme: "ftp" is unknown; use http or https`},
		mistakesOf(t, "pools:\n- scheme:\n    ftp\n  pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n"))
	require.Equal(t, []string{`line 4: pools[0].model_ids.b: "x" already belongs to "a"; a server's name has one id`},
		mistakesOf(t, "pools:\n- model_ids:\n    a: [ x ]\n    b:\n      [ x ]\n  pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n"))
}

// TestWhatIsMergedAsAListIsDecodedToo has a mistake that only the type of the
// block finds.
func TestWhatIsMergedAsAListIsDecodedToo(t *testing.T) {
	require.Equal(t, []string{"line 4: pools[0].relabel_configs[0].modulus: relabel configuration for hashmod requires non-zero modulus"},
		mistakes(t, "relabel_configs: [ { <<: [ { action: hashmod }, { target_label: x } ], source_labels: [ a ] } ]"))
}

func TestTheShortestTimesAreGood(t *testing.T) {
	f := onePool()
	f.Global.StallAfter = 1
	f.Pools[0].StartBudget, f.Pools[0].IdentityInterval = 1, 1
	f.Resolve()
	require.NoError(t, f.Validate())
	f.Global.ScrapeInterval, f.Global.ScrapeTimeout = 1, 1
	require.NoError(t, f.Global.Validate())
}
