package collector_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultList is where the codes of cases are explained.
const faultList = "../docs/faults.md"

var (
	codesInName = regexp.MustCompile(`^Test((?:[A-Z]\d\d)+)`)
	code        = regexp.MustCompile(`[A-Z]\d\d`)
	// codeOfCase begins the name of a case in a table, codeAlone is a comment.
	codeOfCase = regexp.MustCompile(`^([A-Z]\d\d)[ :-]`)
	codeAlone  = regexp.MustCompile(`^// ([A-Z]\d\d)\.$`)
	// rowOfList is a row of the list: code, what happens, what is expected, tests,
	// result.
	rowOfList = regexp.MustCompile("^\\| ([A-Z]\\d\\d) \\| (.+) \\| (.+) \\| (`.+`|TESTS) \\| (.+) \\|$")
)

// TestEveryCodeOfACaseIsExplained reads all tests: a code in the name of a test
// or of a case of its table is a row of the list, which names the test.
func TestEveryCodeOfACaseIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(faultList)
	require.NoError(t, err)
	listed := make(map[string]string)
	last := ""
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| code ") {
			continue
		}
		row := rowOfList.FindStringSubmatch(strings.TrimSpace(line))
		require.NotNil(t, row, "a row of another form: %s", line)
		require.NotContains(t, listed, row[1])
		if strings.HasPrefix(last, row[1][:1]) {
			require.Greater(t, row[1], last, "the codes of a letter are in their order")
		}
		listed[row[1]], last = row[4], row[1]
	}
	used := make(map[string]string)
	for c, tests := range codesOfTests(t) {
		used[c] = "`" + strings.Join(slices.Sorted(maps.Keys(tests)), "`, `") + "`"
	}
	if *update {
		require.NoError(t, os.WriteFile(faultList, []byte(withTests(string(text), used)), 0o600))
		return
	}
	for _, c := range slices.Sorted(maps.Keys(used)) {
		require.Equal(t, used[c], listed[c], "the tests of %s in %s", c, faultList)
	}
	for c := range listed {
		require.Contains(t, used, c, "no test has that code")
	}
}

// withTests is the list with the tests of its rows.
func withTests(list string, tests map[string]string) string {
	var out strings.Builder
	for line := range strings.Lines(list) {
		if row := rowOfList.FindStringSubmatch(strings.TrimSpace(line)); row != nil {
			line = fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row[1], row[2], row[3], cmp.Or(tests[row[1]], row[4]), row[5])
		}
		out.WriteString(line)
	}
	return out.String()
}

// codesOfTests are the codes that tests use, with the tests as room.TestName.
func codesOfTests(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := make(map[string]map[string]bool)
	for _, root := range []string{".", "../relabel", "../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, "_test.go") {
				codesOfFile(t, file, all)
			}
			return err
		}))
	}
	return all
}

// codesOfFile adds the codes of one file.
func codesOfFile(t *testing.T, file string, all map[string]map[string]bool) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Dir(file))
	require.NoError(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
			require.Empty(t, casesIn(d), "%s: a case with a code belongs into the test that runs it, which %s names", file, faultList)
			continue
		}
		add := func(codes ...string) {
			for _, c := range codes {
				if all[c] == nil {
					all[c] = make(map[string]bool)
				}
				all[c][path.Base(filepath.ToSlash(dir))+"."+f.Name.Name] = true
			}
		}
		if m := codesInName.FindStringSubmatch(f.Name.Name); m != nil {
			add(code.FindAllString(m[1], -1)...)
		}
		add(casesIn(f)...)
		for _, group := range parsed.Comments {
			for _, c := range group.List {
				if m := codeAlone.FindStringSubmatch(c.Text); m != nil && f.Pos() <= c.Pos() && c.Pos() < f.End() {
					add(m[1])
				}
			}
		}
	}
}

// casesIn are the codes with which texts of a declaration begin.
func casesIn(d ast.Decl) []string {
	var codes []string
	ast.Inspect(d, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			if m := codeOfCase.FindStringSubmatch(text); m != nil {
				codes = append(codes, m[1])
			}
		}
		return true
	})
	return codes
}
