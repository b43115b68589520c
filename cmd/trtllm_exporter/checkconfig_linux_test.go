package main

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
		// It is opened for reading too: a writer alone would wait for a reader, or the reader miss the writer.
		pipe, err := os.OpenFile("pipe", os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = pipe.WriteString(text)
		require.NoError(t, err)
		go closeWhenRead(pipe)
		var out, problems bytes.Buffer
		require.Equal(t, exitOK, run([]string{"check-config", "pipe"}, &out, &problems), "%s", &problems)
		require.Contains(t, out.String(), want)
	}
}

// closeWhenRead closes a pipe once somebody has read all that it held.
func closeWhenRead(pipe *os.File) {
	for {
		held, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
		if err != nil || held == 0 {
			_ = pipe.Close()
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A file that never ends takes neither for ever nor all memory.
func TestCommandsReadNoFileWithoutEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	kinds := "kinds: [ { name: acme, marks: [\"acme_\"], series: [ { name: acme_running, signal: requests_running } ] } ]"
	require.NoError(t, os.WriteFile("kinds.yml", []byte(kinds), 0o600))
	for _, args := range [][]string{
		{"rules", "--values=/dev/zero"},
		{"check-config", "--page=/dev/zero", "kinds.yml"},
		{"top", "--once", "--token-file=/dev/zero", "127.0.0.1:1"},
	} {
		var out bytes.Buffer
		require.NotEqual(t, exitOK, run(args, &out, &out), "%v: %s", args, &out)
		require.Less(t, out.Len(), 2000, "%v", args)
	}
}
