//go:build unix

package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What may never end is not read, and the other files are.
func TestFilesWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		make       func(t *testing.T, file string)
	}{
		{"a pipe", "it is a folder, pipe or device", func(t *testing.T, file string) {
			t.Helper()
			require.NoError(t, syscall.Mkfifo(file, 0o600))
		}},
		{"a device", "it is a folder, pipe or device", func(t *testing.T, file string) {
			t.Helper()
			require.NoError(t, os.Symlink("/dev/zero", file))
		}},
		{"a folder", "it is a folder, pipe or device", func(t *testing.T, file string) {
			t.Helper()
			require.NoError(t, os.Mkdir(file, 0o700))
		}},
		{"a huge file", "which is all that the memory limit allows for", func(t *testing.T, file string) {
			t.Helper()
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, os.Truncate(file, 1<<40))
		}},
		{"aliases without end", "which is all that the memory limit allows for", func(t *testing.T, file string) {
			t.Helper()
			label := "- &group {targets: [a], labels: {a: " + strings.Repeat("x", 100_000) + "}}\n"
			require.NoError(t, os.WriteFile(file, []byte(label+strings.Repeat("- *group\n", 1000)), 0o600))
		}},
		{"a link to itself", "too many levels", func(t *testing.T, file string) {
			t.Helper()
			require.NoError(t, os.Symlink(file, file))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			odd, good := filepath.Join(dir, "a.yml"), filepath.Join(dir, "b.yml")
			c.make(t, odd)
			write(t, good, `[{targets: ["a:1"]}]`)
			s := start(t, `file_sd_configs: [{files: ["`+dir+`/*.yml"]}]`)
			s.wait(t, "a:1{}")
			requireError(t, s.Manager, 0, c.want)
			require.NoError(t, os.Remove(odd))
			write(t, odd, `[{targets: ["b:1"]}]`)
			s.wait(t, "b:1{}", "a:1{}")
		})
	}
}

// TestFileThatIsWrittenInPlace has a file that is empty until its new text is written.
func TestFileThatIsWrittenInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, other := filepath.Join(dir, "a.yml"), filepath.Join(dir, "b.yml")
	write(t, file, `[{targets: ["a:1"]}]`)
	write(t, other, `[]`)
	s := start(t, `file_sd_configs: [{files: ["`+dir+`/*.yml"]}]`)
	s.wait(t, "a:1{}")
	require.NoError(t, os.Truncate(file, 0))
	requireError(t, s.Manager, 0, "it contains no list of targets; write [] for an empty one")
	s.wait(t, "a:1{}")
	write(t, file, `[]`)
	s.wait(t)
}

func TestFolderThatIsMadeAgainIsFollowed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "targets")
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(dir, "a.yml")
	write(t, file, `[{targets: ["a:1"]}]`)
	s := start(t, `file_sd_configs: [{files: ["`+dir+`/*.yml"]}]`)
	s.wait(t, "a:1{}")
	require.NoError(t, os.RemoveAll(dir))
	s.wait(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, file, `[{targets: ["b:1"]}]`)
	s.wait(t, "b:1{}")
}
