package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFuzzTestIsInTheListOfProperties compares the list with the tree, and
// requires a seed of each.
func TestEveryFuzzTestIsInTheListOfProperties(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reliability.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Properties that are fuzzed\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, there []string
	for _, m := range regexp.MustCompile("`([a-z/]+\\.Fuzz\\w+)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	for _, root := range []string{"cmd", "collector", "relabel", "alerts", "dashboards"} {
		there = append(there, fuzzTestsOf(t, root)...)
	}
	slices.Sort(listed)
	slices.Sort(there)
	require.Equal(t, there, listed)
}

// fuzzTestsOf are those below a folder, each with its room.
func fuzzTestsOf(t *testing.T, root string) (names []string) {
	t.Helper()
	begins := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	require.NoError(t, filepath.WalkDir(filepath.Join("../..", root), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range begins.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, string(text), "f.Add(", "%s has no seed", m[1])
			room, _ := filepath.Rel("../..", filepath.Dir(path))
			names = append(names, room+"."+m[1])
		}
		return nil
	}))
	return names
}
