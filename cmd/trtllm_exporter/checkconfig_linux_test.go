package main

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckConfigReadsPipes gives it what can be read only once, as `check-config <(helm template …)` does.
func TestCheckConfigReadsPipes(t *testing.T) {
	for text, want := range map[string]string{
		"pools: [ { pool_id: p, static_configs: [ { targets: [\"a:8002\"] } ] } ]": "pipe: OK, 1 pool",
		"kinds: [ { name: acme, marks: [\"acme_\"], series: [ { name: acme_running, signal: requests_running } ] } ]": "pipe: " +
			"OK, 1 kind",
	} {
		t.Chdir(t.TempDir())
		require.NoError(t, syscall.Mkfifo("pipe", 0o600))
		go func() { _ = os.WriteFile("pipe", []byte(text), 0o600) }()
		var out, problems bytes.Buffer
		require.Equal(t, exitOK, run([]string{"check-config", "pipe"}, &out, &problems), "%s", &problems)
		require.Contains(t, out.String(), want)
	}
}
