package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// documents lists the files of a folder by their names.
func documents(tb testing.TB, pattern string, atLeast int) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(tb, err)
	require.GreaterOrEqual(tb, len(files), atLeast, pattern)
	return files
}

func TestGoodDocumentsRoundTrip(t *testing.T) {
	for _, path := range documents(t, "testdata/good/*.yml", 30) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yml"), func(t *testing.T) {
			first, err := config.Load(path)
			require.NoError(t, err)
			printed := first.String()

			second, err := config.Parse("config.yml", []byte(printed))
			require.NoError(t, err, printed)
			require.Equal(t, printed, second.String())
		})
	}
}

func TestBadDocuments(t *testing.T) {
	for _, path := range documents(t, "testdata/bad/*.yml", 60) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yml"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			t.Chdir("testdata/bad")
			_, err = config.Parse("config.yml", text)
			require.Error(t, err)
			// A new kind of server changes no file.
			got := strings.Replace(err.Error(), strings.Join(config.Engines(), ", "), "auto or a kind of server", 1) + "\n"
			fixture.RequireFile(t, strings.TrimSuffix(filepath.Base(path), ".yml")+".err", got)
			for line := range strings.Lines(got) {
				require.Regexp(t, `^config\.yml: .+[:;] .+`, line)
			}
			for _, goWord := range []string{"unmarshal", "config.plain", "struct", "!!", "secret-password"} {
				require.NotContains(t, got, goWord)
			}
		})
	}
}

func TestPoolsInheritGlobalSettings(t *testing.T) {
	f, err := config.Parse("config.yml", []byte(`
global: { scrape_interval: 10s, window: 3m }
pools:
  - pool_id: slow
    static_configs: [ { targets: ["a:8002"] } ]
  - pool_id: fast
    scrape_interval: 2s
    static_configs: [ { targets: ["b:8002"] } ]
`))
	require.NoError(t, err)
	pools := f.Pools
	require.Equal(t, model.Duration(10*time.Second), pools[0].ScrapeInterval)
	require.Equal(t, model.Duration(4*time.Second), pools[0].ScrapeTimeout)
	require.Equal(t, model.Duration(2*time.Second), pools[1].ScrapeInterval)
	require.Equal(t, model.Duration(2*time.Second), pools[1].ScrapeTimeout)
	require.Equal(t, model.Duration(3*time.Minute), f.Global.Window)
}

func TestEmptyDocumentHasDefaults(t *testing.T) {
	f, err := config.Load("testdata/good/minimal.yml")
	require.NoError(t, err)
	pool := f.Pools[0]
	require.Equal(t, model.Duration(5*time.Second), pool.ScrapeInterval)
	require.Equal(t, model.Duration(4*time.Second), pool.ScrapeTimeout)
	require.Equal(t, "auto", pool.Engine)
	require.Equal(t, "http", pool.Scheme)
	require.Equal(t, 50_000, pool.Limits.Series.Samples)
	require.EqualValues(t, 16<<20, pool.Limits.Page.Body)
	require.Equal(t, pool.Limits.Page, pool.HTTP.Limits)
	require.False(t, pool.HonorLabels)
	require.False(t, pool.HTTP.FollowRedirects)
	require.True(t, f.Exposition.Raw)
	require.True(t, f.Exposition.Normalised)
	require.Empty(t, f.Exposition.Aliases)
	require.Equal(t, relabel.VersionsSeries, f.Identity.Versions)
}

func TestRelativePathsStartAtDocumentDir(t *testing.T) {
	f, err := config.Load("testdata/good/basic_auth_file.yml")
	require.NoError(t, err)
	require.Equal(t, filepath.Join("testdata", "files", "password"), f.Pools[0].HTTP.BasicAuth.PasswordFile)
}

func TestMistakesInMergedBlocksHaveLines(t *testing.T) {
	_, err := config.Parse("config.yml", []byte(`
pools:
  - &first
    pool_id: a
    scheme: ftp
    static_configs: [ { targets: ["a:8002"] } ]
  - { <<: *first, pool_id: b }
  - { <<: *first, pool_id: c }
`))
	require.EqualError(t, err, `config.yml: line 5: pools[0].scheme: "ftp" is unknown; use http or https
config.yml: line 5: pools[1].scheme: "ftp" is unknown; use http or https
config.yml: line 5: pools[2].scheme: "ftp" is unknown; use http or https`)
}

func TestMissingDocument(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "none.yml")
	require.ErrorContains(t, err, "readable file")
}

// TestTooLargeFile uses a file of the maximum size, and one with another byte.
func TestTooLargeFile(t *testing.T) {
	const limit = 16 << 20
	text := []byte("pools: [{pool_id: a, static_configs: [{targets: ['127.0.0.1:1']}]}]\n#")
	text = append(text, bytes.Repeat([]byte("x"), limit-len(text))...)
	_, err := config.Parse("big.yaml", text)
	require.NoError(t, err)
	_, err = config.Parse("big.yaml", append(text, 'x'))
	require.EqualError(t, err, "big.yaml: the file is larger than 16 MiB; move targets to file_sd_configs")
}
