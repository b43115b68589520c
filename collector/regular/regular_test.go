package regular_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// TestOnlyFilesHaveAnEnd checks what a configuration may name.
func TestOnlyFilesHaveAnEnd(t *testing.T) {
	folder := t.TempDir()
	name, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "pipe")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(folder, "link")
	require.NoError(t, os.Symlink(pipe, link))
	for name, want := range map[string]error{
		name:                          nil,
		folder:                        regular.ErrNoEnd,
		pipe:                          regular.ErrNoEnd,
		link:                          regular.ErrNoEnd,
		os.DevNull:                    regular.ErrNoEnd,
		filepath.Join(folder, "none"): os.ErrNotExist,
	} {
		require.ErrorIs(t, regular.File(name), want, name)
	}
}
