package simulate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kind is named in the file that declares it, in the list of kinds, in the demo
// and as the default of a spec, so that a new one is one file and one line.
func TestNoFileButItsOwnKnowsAKind(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared, used := map[string]string{}, map[string]map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Kind" {
					declared[n.Names[0].Name] = name
				}
			case *ast.Ident:
				if used[n.Name] == nil {
					used[n.Name] = map[string]bool{}
				}
				used[n.Name][name] = true
			default:
			}
			return true
		})
	}
	require.Len(t, declared, len(everyKind()))
	for kind, own := range declared {
		require.True(t, used[kind]["kind.go"], "%s is in the list of kinds", kind)
		for file := range used[kind] {
			allowed := file == own || file == "kind.go" || file == "demo.go" || file == "spec.go" && kind == "KindTriton"
			require.True(t, allowed, "%s names %s, which belongs to %s", file, kind, own)
		}
	}
}
