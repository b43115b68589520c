package main_test

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostFields is how many fields a struct of production code may have.
const mostFields = 15

// readBounds reads the table of section "How large the middle may be": the most lines of code that a room may have.
func readBounds(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile(architecture)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n### How large the middle may be\n")
	require.True(t, found, "%s has no section How large the middle may be", architecture)
	bounds := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9,]+) \\|$").FindAllStringSubmatch(section, -1) {
		bounds[m[1]], err = strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
		require.NoError(t, err)
	}
	require.Len(t, bounds, 3)
	return bounds
}

func TestTheRoomsInTheMiddleStaySmall(t *testing.T) {
	for room, most := range readBounds(t) {
		t.Run(room, func(t *testing.T) {
			files, err := filepath.Glob("../../" + room + "/*.go")
			require.NoError(t, err)
			lines := 0
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				lines += linesOfCode(text)
			}
			require.NotZero(t, lines)
			require.LessOrEqual(t, lines, most, "%s does more than one job: see %s", room, architecture)
		})
	}
}

func TestStructsSayWhatTheirFieldsAreTogether(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && file != "../.." && strings.HasPrefix(d.Name(), ".") {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		files++
		for name, fields := range structsOf(t, file, text) {
			require.LessOrEqual(t, fields, mostFields, "%s: struct %s: say what some of its fields are together", file, name)
		}
		return nil
	}))
	require.Greater(t, files, 300)
}

// linesOfCode counts the lines that are neither blank nor only comment.
func linesOfCode(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// structsOf counts the fields of every struct of a file, embedded ones too.
func structsOf(t *testing.T, file string, text []byte) map[string]int {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
	require.NoError(t, err)
	fields := map[string]int{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, isType := n.(*ast.TypeSpec)
		if !isType {
			return true
		}
		if s, isStruct := spec.Type.(*ast.StructType); isStruct {
			fields[spec.Name.Name] = s.Fields.NumFields()
		}
		return true
	})
	return fields
}
