package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func fileOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Some settings are errors for an exporter, but not for a command that queries servers once.
func TestCommandsUseFlagsAndFile(t *testing.T) {
	server := staticServer(t)
	quick := fileOf(t, `global: { scrape_interval: 1s }
pools:
  - pool_id: p
    canary: { enabled: true, interval: 20s, cancel_within: 3s }
    static_configs: [ { targets: ["a:8002"] } ]
`)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"doctor waits for a slow server", []string{"doctor", "--timeout", "40s", server}},
		{"scrape waits for a slow server", []string{"scrape", "--scrape.timeout", "40s", "http://" + server}},
		{"doctor uses a pool with short intervals and a canary", []string{"doctor", "--config.file", quick, server}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, problems bytes.Buffer
			require.NotEqual(t, exitUsage, run(c.args, &out, &problems), problems.String())
			require.NotEmpty(t, out.String())
		})
	}
}

func TestTopHidesPasswordInURL(t *testing.T) {
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != "hush:" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"verdict":{"sentence":"All is well."}}`))
	}))
	t.Cleanup(exporter.Close)
	host := strings.TrimPrefix(exporter.URL, "http://")
	for url, want := range map[string]string{
		"http://me:hush%3A@" + host:  "All is well.",
		"me:hush%3A@" + host + "/":   "All is well.",
		"http://me:hush@" + host:     exporter.URL + " answers 401",
		"http://me:hush@127.0.0.1:1": "http://127.0.0.1:1: ",
		"http://me:hush@host:port":   "write http://host:port",
	} {
		var out, problems bytes.Buffer
		run([]string{"top", "--once", url}, &out, &problems)
		require.Contains(t, out.String()+problems.String(), want, url)
		require.NotContains(t, out.String()+problems.String(), "hush", url)
	}
}

func TestTopQueriesServersDirectly(t *testing.T) {
	slow := topFlags{interval: 45 * time.Second, targets: []string{"http://a:8002"}}
	_, err := slow.load()
	require.NoError(t, err)
	shared := topFlags{interval: time.Second, file: fileOf(t, `sharding: { total: 3 }
pools: [ { pool_id: p, iteration_stats: true, static_configs: [ { targets: ["a:8002"] } ] } ]
`)}
	file, err := shared.load()
	require.NoError(t, err)
	require.NoError(t, file.Sharding.Place(""), "the targets of all shards")
	require.False(t, file.Pools[0].IterationStats, "servers return each iteration once, and the exporter needs it")
}

func TestDoctorJSONHasEmptyLists(t *testing.T) {
	file := fileOf(
		t,
		`pools: [ { pool_id: p, static_configs: [ { targets: ["a:8002"] } ], relabel_configs: [ { action: drop } ] } ]
`,
	)
	var out, problems bytes.Buffer
	require.Equal(t, exitNoPage, run([]string{
		"doctor", "--json", "--config.file", file,
	}, &out, &problems), problems.String())
	require.Contains(t, out.String(), `"servers": []`)
}
