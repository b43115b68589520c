package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

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
			requireError(t, start(t, "file_sd_configs: [ { files: ["+file+"] } ]").Manager, 0, c.want)
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"targets": ["a:1"]}`))
	}))
	t.Cleanup(server.Close)
	s := start(t, "http_sd_configs: [ { url: '"+server.URL+"' } ]")
	requireError(t, s.Manager, 0, "it does not have the form of targets"+form)
}
