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
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// TestValidDocumentsRoundTrip prints each document and reads that again. testdata has the files that some name.
func TestValidDocumentsRoundTrip(t *testing.T) {
	for _, d := range valid() {
		t.Run(d.name, func(t *testing.T) {
			first, err := config.Parse("testdata/config.yml", []byte(d.text))
			require.NoError(t, err)
			printed := first.String()

			second, err := config.Parse("config.yml", []byte(printed))
			require.NoError(t, err, printed)
			require.Equal(t, printed, second.String())
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Chdir("testdata")
	for _, m := range invalid() {
		t.Run(m.name, func(t *testing.T) {
			_, err := config.Parse("config.yml", []byte(m.text))
			require.EqualError(t, err, "config.yml: "+strings.ReplaceAll(m.want, "\n", "\nconfig.yml: "))
			for line := range strings.Lines(m.want) {
				require.Regexp(t, `.+[:;] .+`, line, "a place or a way out is missing")
			}
			for _, goWord := range []string{"unmarshal", "config.plain", "struct", "!!", "secret-password"} {
				require.NotContains(t, m.want, goWord)
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
	f, err := config.Parse("config.yml", []byte(llama))
	require.NoError(t, err)
	pool := f.Pools[0]
	require.Equal(t, model.Duration(5*time.Second), pool.ScrapeInterval)
	require.Equal(t, model.Duration(4*time.Second), pool.ScrapeTimeout)
	require.Equal(t, "auto", pool.Engine)
	require.Equal(t, "http", pool.Scheme)
	require.Equal(t, 50_000, pool.Limits.Series.Samples)
	require.EqualValues(t, 16<<20, pool.Limits.Page.Body)
	require.Equal(t, pool.Limits.Page, pool.HTTP.Limits)
	require.False(t, pool.HonorLabels, "honor_labels by default")
	require.False(t, pool.HTTP.FollowRedirects, "follow_redirects by default")
	require.Equal(t, exposition.RawAll, f.Exposition.Raw)
	require.Equal(t, exposition.EveryGroup(), f.Exposition.Normalised)
	require.Empty(t, f.Exposition.Aliases)
	require.Equal(t, relabel.VersionsSeries, f.Identity.Versions)
}

func TestRelativePathsStartAtDocumentDir(t *testing.T) {
	text := inPool("basic_auth: { username: me, password_file: files/password }")
	f, err := config.Parse("testdata/config.yml", []byte(text))
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
