package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFormsOfTargetsAreExplained has files and answers of servers that are not lists of targets.
func TestFormsOfTargetsAreExplained(t *testing.T) {
	const form = `; write a list like [ { "targets": ["10.0.0.1:8002"], "labels": {} } ]`
	for _, c := range []struct{ name, text, want string }{
		{"a.json", `{"targets": ["a:1"]}`, "it does not have the form of targets" + form},
		{"b.json", `[{"target": ["a:1"]}]`, `unknown key "target"; use targets and labels`},
		{"c.json", `[{"targets": "a:1"}]`, "it does not have the form of targets" + form},
		{"d.yml", "targets: [a]", "line 1: it does not have the form of targets" + form},
		{"e.yml", "- target: [a]", "line 1: unknown key target; use targets and labels"},
		{"f.yml", "- targets: a:1", "line 1: targets must be a list of host:port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.name)
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			require.Contains(t, firstError(t, "file_sd_configs: [ { files: ["+file+"] } ]"), c.want)
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"targets": ["a:1"]}`))
	}))
	t.Cleanup(server.Close)
	require.Contains(
		t,
		firstError(t, "http_sd_configs: [ { url: '"+server.URL+"' } ]"),
		"it does not have the form of targets"+form,
	)
}

// firstError returns the first error of the only source of a configuration.
func firstError(t *testing.T, text string) string {
	t.Helper()
	s := start(t, text)
	require.Eventually(t, func() bool { return s.Sources()[0].LastError != "" }, time.Minute, 5*time.Millisecond)
	return s.Sources()[0].LastError
}
