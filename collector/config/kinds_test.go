package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

const pools = "pools: [ { pool_id: p, engine: acme, static_configs: [ { targets: [ \"a:1\" ] } ] } ]\n"

// acme is a right file of kinds.
const acme = `kinds:
  - name: acme
    prefix: acme_
    series:
      - { name: running, signal: requests_running }
`

// written writes files into a folder of the test, by name.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

func TestKindsOfFilesAreKnown(t *testing.T) {
	folder := written(t, map[string]string{
		"one.yml":   "kinds_file: acme.yml\n" + pools,
		"two.yml":   "kinds_file: [ acme.yml, other.yml ]\n" + pools,
		"acme.yml":  acme,
		"other.yml": strings.ReplaceAll(acme, "acme", "other"),
	})
	for name, kinds := range map[string]int{"one.yml": 1, "two.yml": 2} {
		f, err := config.Load(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Len(t, f.Kinds.Declared(), kinds)
		require.Same(t, f.Kinds, f.Pools[0].Kinds)
		again, err := config.Parse("again.yml", []byte(f.String()))
		require.NoError(t, err, "what is printed can be read")
		require.True(t, again.Kinds.Equal(f.Kinds), "the kinds of a file that is read again are the same")
	}
}

// TestMistakesInKindsFiles has mistakes that the file with the pools, or the kinds in files, may have.
func TestMistakesInKindsFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		// kinds is the file of kinds; change replaces something in the right one.
		kinds, replace, with string
		want                 []string
	}{
		{name: "none"},
		{
			name: "a misspelled key", replace: "prefix", with: "prefx",
			want: []string{`kinds.yml: line 3: unknown key "prefx" in kinds[0]; did you mean "prefix"?`},
		},
		{
			name: "a misspelled signal", replace: "requests_running", with: "request_running",
			want: []string{`kinds.yml: line 5: kinds[0].series[0].signal: "request_running" is unknown; ` +
				`docs/kinds.md lists the words; did you mean "requests_running"?`},
		},
		{
			name: "a family for its signal", replace: "signal: requests_running", with: "signal: llm_server_requests_running",
			want: []string{`kinds.yml: line 5: kinds[0].series[0].signal: "llm_server_requests_running" is unknown; ` +
				`docs/kinds.md lists the words; did you mean "requests_running"?`},
		},
		{
			name: "a key of something else", replace: "name: running", with: "metric: running",
			want: []string{
				`kinds.yml: line 5: unknown key "metric" in kinds[0].series[0]; docs/kinds.md lists the keys`,
				"kinds.yml: line 5: kinds[0].series[0].name: is required: a name on the page, without the prefix; " +
					"of a histogram without _bucket",
			},
		},
		{
			name: "the name of a built-in kind", replace: "name: acme", with: "name: triton",
			want: []string{`kinds.yml: line 2: kinds[0].name: "triton" is a built-in kind; choose another name, or ` +
				`set extends: triton to add series to it`},
		},
		{
			name: "a list of series that is none", replace: "- { name: running, signal: requests_running }", with: "running",
			want: []string{`kinds.yml: line 5: kinds[0].series must be a list, not text; start each entry with "- "`},
		},
		{
			name: "broken YAML", replace: "kinds:", with: "kinds: [",
			want: []string{"kinds.yml: line"},
		},
		{name: "nothing", kinds: "\n", want: []string{"kinds.yml: the file is empty; it needs at least kinds"}},
		{name: "no kinds", kinds: "kinds: []\n", want: []string{"kinds.yml: line 1: kinds: none is declared"}},
		{
			name: "the mark of a built-in kind", replace: "acme_", with: "nv_",
			want: []string{`kinds.yml: line 3: kinds[0].prefix: "nv_" begins names of triton (nv_), which it is then; ` +
				`choose another, or set engine in the pool`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds := c.kinds
			if kinds == "" {
				kinds = strings.ReplaceAll(acme, c.replace, c.with)
			}
			if c.name == "none" {
				kinds = acme
			}
			folder := written(t, map[string]string{"config.yml": "kinds_file: kinds.yml\n" + pools, "kinds.yml": kinds})
			_, err := config.Load(filepath.Join(folder, "config.yml"))
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, len(c.want), "nothing that only follows is told: %s", err)
			for i, want := range c.want {
				require.Contains(t, lines[i], want)
			}
		})
	}
	folder := written(t, map[string]string{"config.yml": "kinds_file: nowhere.yml\n" + pools, "none.yml": pools})
	_, err := config.Load(filepath.Join(folder, "config.yml"))
	require.ErrorContains(t, err, "config.yml: line 1: kinds_file: open ")
	require.ErrorContains(t, err, "no such file or directory; give the name of a readable file")
	_, err = config.Load(filepath.Join(folder, "none.yml"))
	require.ErrorContains(t, err, `pools[0].engine: "acme" is unknown`)
	require.ErrorContains(t, err, "or declare it in kinds_file")
}

// TestMistakesAreInTheirFile has one mistake in the second of two files.
func TestMistakesAreInTheirFile(t *testing.T) {
	folder := written(t, map[string]string{
		"a.yml": acme,
		"b.yml": strings.ReplaceAll(strings.ReplaceAll(acme, "acme", "b2"), "requests_running", "running"),
	})
	_, err := config.LoadKinds(filepath.Join(folder, "a.yml"), filepath.Join(folder, "b.yml"))
	require.ErrorContains(t, err, `b.yml: line 5: kinds[0].series[0].signal: "running" is unknown`)
	require.NotContains(t, err.Error(), "a.yml")
}

func TestContentsChangeWithFilesOfKinds(t *testing.T) {
	folder := written(t, map[string]string{"config.yml": "kinds_file: [ kinds.yml ]\n" + pools, "kinds.yml": acme})
	file, kinds := filepath.Join(folder, "config.yml"), filepath.Join(folder, "kinds.yml")
	before := config.Contents(file)
	require.Equal(t, before, config.Contents(file))
	require.NoError(t, os.WriteFile(kinds, []byte(acme+"      - { name: waiting, signal: requests_waiting }\n"), 0o600))
	require.NotEqual(t, before, config.Contents(file))
	require.NoError(t, os.Remove(kinds))
	require.Nil(t, config.Contents(file))
}

// A document, or a file with kinds, may be a pipe that nobody writes or a device without end.
func TestDocumentsWithoutEndAreRefused(t *testing.T) {
	folder := written(t, map[string]string{
		"pipe.yml":   "kinds_file: pipe\n" + pools,
		"device.yml": "kinds_file: /dev/zero\n" + pools,
	})
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	for name, want := range map[string]string{
		filepath.Join(folder, "pipe"):       "pipe: the file is empty; it needs at least pools",
		filepath.Join(folder, "pipe.yml"):   "pipe: the file is empty; it needs at least kinds",
		filepath.Join(folder, "device.yml"): "/dev/zero: the file is larger than 16 MiB",
		"/dev/zero":                         "/dev/zero: the file is larger than 16 MiB",
	} {
		_, err := config.Load(name)
		require.ErrorContains(t, err, want, name)
		config.Contents(name)
	}
}

func TestDocumentsThatDeclareKinds(t *testing.T) {
	for text, want := range map[string]bool{
		acme:                              true,
		acme + acme:                       true, // Its mistake is that the key stands twice.
		"name: acme\nseries: []\n":        true, // It lacks the list of kinds.
		"extends: triton\nprefix: my_\n":  true,
		"kind:\n  - name: acme\n":         true, // Of one kind there is a list, too.
		acme + pools:                      false,
		pools:                             false,
		"":                                false,
		"- name: acme\n":                  false,
		"kinds_file: kinds.yml\n" + pools: false,
	} {
		require.Equal(t, want, config.DeclaresKinds([]byte(text)), text)
	}
}
