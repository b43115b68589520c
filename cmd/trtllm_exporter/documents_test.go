package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is a command in a document.
type written struct{ file, line string }

// commandsOf returns the lines of code blocks and the inline code in the documents that begin
// with one of the words.
func commandsOf(t *testing.T, words ...string) []written {
	t.Helper()
	var all []written
	inline := regexp.MustCompile("`([^`\n]+)`")
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		inBlock := false
		var kept strings.Builder
		take := func(line string) {
			line = unassigned(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
			for _, word := range words {
				if strings.HasPrefix(line, word+" ") && line != word+" " {
					all = append(all, written{file, line})
				}
			}
		}
		joined := strings.ReplaceAll(string(text), "\\\n", " ")
		for line := range strings.Lines(joined) {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "```"):
				inBlock = !inBlock
			case inBlock:
				take(line)
			default:
				kept.WriteString(line)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(kept.String(), -1) {
			take(m[1])
		}
	}
	return all
}

// unassigned removes variables before a command.
func unassigned(line string) string {
	return regexp.MustCompile(`^(?:[A-Z_]+=\S+ +)+`).ReplaceAllString(line, "")
}

func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../CONTRIBUTING.md"}
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	require.Greater(t, len(files), 15)
	return files
}

// TestLinksInDocumentsResolve checks links to files and sections.
func TestLinksInDocumentsResolve(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(to, "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s: %s", file, to)
			if anchor != "" && strings.HasSuffix(target, ".md") {
				require.Contains(t, anchors(t, target), anchor, "%s: %s", file, to)
			}
		}
	}
}

func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
