package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// searched returns the answer at a path of a server with results of discovery.
func searched(t *testing.T, all []target.PoolDiscovery, path string) (status int, body string) {
	t.Helper()
	opts := newFleet(t).options()
	opts.Searches = func() []target.PoolDiscovery { return all }
	opts.Ready = func() bool { return all[0].Answered }
	w := get(handler(t, opts), path)
	return w.Code, w.Body.String()
}

// dropping returns a pool of which relabeling dropped all targets.
func dropping() []target.PoolDiscovery {
	return []target.PoolDiscovery{{
		PoolID: "llama", Answered: true, Found: 1, Dropped: 1,
		Sources: []target.Source{{Key: "http_sd_configs[0]", Targets: 1, LastSuccess: time.Now(), LastErrorAt: time.Now().Add(-time.Hour), LastError: "Get http://bob:hunter2@sd/: refused"}},
		Drops:   []target.Drop{{Source: "static_configs[0]", Address: "<b>:1", Rule: "relabel_configs[0] drops every target"}},
	}}
}

func TestReadinessNamesMissingSources(t *testing.T) {
	all := []target.PoolDiscovery{{PoolID: "llama", Sources: []target.Source{{Key: "http_sd_configs[0]", LastErrorAt: time.Now(), LastError: "connection refused"}}}}
	status, body := searched(t, all, "/-/ready")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "Not ready: pool llama waits for http_sd_configs[0] (connection refused).\n", body)
	_, body = searched(t, all, "/")
	require.Contains(t, body, "Pool llama waits for http_sd_configs[0]")
}

func TestPoolWithoutTargetsIsReadyWithAReason(t *testing.T) {
	status, body := searched(t, dropping(), "/-/ready")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "Ready.\nPool llama has no targets: relabeling dropped the one that was found, <b>:1: relabel_configs[0] drops every target.\n", body)
	_, body = searched(t, dropping(), "/")
	require.Contains(t, body, "Pool llama has no targets")
	require.Contains(t, body, "&lt;b&gt;:1", "names are shown as text")
}

func TestDroppedTargets(t *testing.T) {
	_, body := searched(t, dropping(), "/targets?dropped")
	require.Contains(t, body, "&lt;b&gt;:1 (static_configs[0]): relabel_configs[0] drops every target")
	require.Contains(t, body, "http_sd_configs[0]")
	require.NotContains(t, body, "hunter2")
	_, body = searched(t, dropping(), "/targets?format=json&dropped")
	require.Contains(t, body, `"rule": "relabel_configs[0] drops every target"`)
	require.NotContains(t, body, "hunter2")
	_, body = searched(t, dropping(), "/targets?format=json")
	require.Contains(t, body, `"dropped": 1`)
	require.NotContains(t, body, `"rule"`)
}
