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

// What keeps an exporter from running is no reason for a command that asks servers once to fail.
func TestCommandsUseFlagsAndFile(t *testing.T) {
	server := staticServer(t)
	quick := fileOf(t, `global: { scrape_interval: 1s }
pools:
  - pool_id: p
    canary: { enabled: true, interval: 20s, cancel_within: 3s }
    static_configs: [ { targets: ["a:8002"] } ]
`)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"doctor waits for a slow server", []string{"doctor", "--timeout", "40s", server}},
		{"scrape waits for a slow server", []string{"scrape", "--scrape.timeout", "40s", "http://" + server}},
		{"doctor asks as a pool that is scraped often and has a canary", []string{"doctor", "--config.file", quick, server}},
	} {
		t.Run(c.says, func(t *testing.T) {
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
	at := strings.TrimPrefix(exporter.URL, "http://")
	for url, want := range map[string]string{
		"http://me:hush%3A@" + at:    "All is well.",
		"me:hush%3A@" + at + "/":     "All is well.",
		"http://me:hush@" + at:       exporter.URL + " answers 401",
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
	rarely := topFlags{interval: 45 * time.Second, targets: []string{"http://a:8002"}}
	_, err := rarely.load()
	require.NoError(t, err)
	shared := topFlags{interval: time.Second, file: fileOf(t, `sharding: { total: 3 }
pools: [ { pool_id: p, iteration_stats: true, static_configs: [ { targets: ["a:8002"] } ] } ]
`)}
	file, err := shared.load()
	require.NoError(t, err)
	require.NoError(t, file.Sharding.Place(""), "all targets are of interest")
	require.False(t, file.Pools[0].IterationStats, "servers hand out each iteration once, and it belongs to the exporter")
}

func TestDoctorJSONHasEmptyLists(t *testing.T) {
	file := fileOf(t, `pools: [ { pool_id: p, static_configs: [ { targets: ["a:8002"] } ], relabel_configs: [ { action: drop } ] } ]
`)
	var out, problems bytes.Buffer
	require.Equal(t, exitNoPage, run([]string{"doctor", "--json", "--config.file", file}, &out, &problems), problems.String())
	require.Contains(t, out.String(), `"servers": []`)
}
