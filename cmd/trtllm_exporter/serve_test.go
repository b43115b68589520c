package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watched returns the reloads that are requested while a file is checked every minute.
func watched(t *testing.T, file string) chan os.Signal {
	t.Helper()
	reloads := make(chan os.Signal, 5)
	go watch(t.Context(), file, []byte("a"), time.Minute, reloads)
	return reloads
}

func TestFileUnreadableOnceIsNotReloaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exporter.yml")
	require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		reloads := watched(t, file)
		require.NoError(t, os.Remove(file))
		time.Sleep(90 * time.Second)
		require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
		time.Sleep(5 * time.Minute)
		require.Empty(t, reloads)
		require.NoError(t, os.Remove(file))
		time.Sleep(5 * time.Minute)
		require.Len(t, reloads, 1, "removed")
		require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
		time.Sleep(5 * time.Minute)
		require.Len(t, reloads, 2, "it is back")
	})
}

func TestFileWrittenDuringStartIsReloaded(t *testing.T) {
	for name, c := range map[string]struct {
		write func(file string) error
		asks  int
	}{
		"unchanged": {func(string) error { return nil }, 0},
		"changed":   {func(file string) error { return os.WriteFile(file, []byte("b"), 0o600) }, 1},
		"removed":   {os.Remove, 1},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "exporter.yml")
			require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
			require.NoError(t, c.write(file))
			synctest.Test(t, func(t *testing.T) {
				reloads := watched(t, file)
				time.Sleep(3*time.Minute + time.Second)
				require.Len(t, reloads, c.asks)
				if c.asks > 0 {
					require.Equal(t, syscall.SIGHUP, <-reloads)
				}
			})
		})
	}
}
