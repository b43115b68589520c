package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// mayName are the files that may name something of a server besides those of the
// kinds: what, and why no kind can answer in their place.
var mayName = map[string][]struct{ what, why string }{
	"collector/derive/aliases.go": {
		{"vllm:", "another vocabulary repeats values of every kind under names that begin so"},
		{"vllm", "that vocabulary is called after its server"},
	},
	"collector/engine/companion.go": {
		{"vllm:", "a router shows gauges of its engines under names that begin so"},
		{"vLLM", "whose router it is"},
		{"SGLang", "whose router it is"},
		{"Dynamo", "whose planner and manager of blocks they are"},
		{"dynamo_", "the planner's names begin so"},
	},
	"collector/exposition/config.go":  {{"vllm", "the vocabulary is a value of the key aliases"}},
	"collector/scrape/body.go":        {{"Triton", "advice about an address whose server nobody knows yet: an empty answer"}},
	"collector/scrape/contenttype.go": {{"trtllm-serve", "advice about an address whose server nobody knows yet: JSON"}},
	"collector/scrape/grpc.go":        {{"Triton", "advice where the configured port has no KServe: which flag sets it"}},
	"collector/parse/parse.go":        {{"Triton", "advice about an address whose server nobody knows yet: a page without samples"}},
	"collector/web/origin.go":         {{"Triton", "the one compatibility table there is goes by its releases"}},
	"cmd/trtllm_exporter/main.go":     {{"Triton", "what the program is for"}},
}

// serverWords are texts that only code of a kind needs: how the names of its
// samples begin, and names in Triton's model repositories.
var serverWords = regexp.MustCompile(`^(nv_|vllm:|trtllm:|dynamo_|trtllm_[a-z]|tensorrt_?llm$|ensemble$|preprocessing$|postprocessing$)`)

// serverNames are names of servers for people.
var serverNames = regexp.MustCompile(`\b([Tt]rtllm-serve|vLLM|SGLang|NIM|Dynamo|Triton)\b`)

// ownWords begin like those of a server and are the exporter's.
var ownWords = regexp.MustCompile(`^(trtllm_version|trtllm_exporter)`)

// TestNobodyElseKnowsAKind reads all production code: kinds are named in their
// own files only, by the simulated fleet and by the pages of the matrix.
func TestNobodyElseKnowsAKind(t *testing.T) {
	const root = "../.."
	constants := kindConstants(t)
	require.Len(t, constants, len(engine.All()), "each kind has a constant")
	var found []string
	needed := map[string]int{}
	for _, dir := range []string{"collector", "relabel", "cmd"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || mayKnow(name) {
				return err
			}
			for _, n := range namings(t, path, constants) {
				if i := slices.IndexFunc(mayName[name], func(may struct{ what, why string }) bool { return may.what == n.what }); i < 0 {
					found = append(found, fmt.Sprintf("%s:%d: %s", name, n.line, n.what))
				} else {
					needed[name+": "+n.what]++
				}
			}
			return nil
		}))
	}
	require.Empty(t, strings.Join(found, "\n"), "ask the kind's value; where engine.Engine lacks a question, add one")
	for file, all := range mayName {
		for _, may := range all {
			require.NotZero(t, needed[file+": "+may.what], "%s names no %s any more: take the exception away", file, may.what)
		}
	}
}

// mayKnow says whether a file is one of a kind, or of the simulated fleet.
func mayKnow(file string) bool {
	dir, name := filepath.Split(file)
	switch dir {
	case "collector/simulate/":
		return true
	case "collector/engine/":
		return slices.ContainsFunc(engine.All(), func(e engine.Engine) bool {
			prefix := strings.ReplaceAll(string(e.Kind()), "-", "_")
			return name == prefix+".go" || strings.HasPrefix(name, prefix+"_")
		})
	}
	return false
}

// naming is one place where a file names a kind, or what only a kind has.
type naming struct {
	line int
	what string
}

// namings are what a file names of kinds.
func namings(t *testing.T, path string, constants []string) (all []naming) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	inside := file.Name.Name == "engine"
	// HELP texts and formulas of the catalogue are documentation, of which another
	// test checks that it names the sources that the rule reads.
	documentation := strings.HasPrefix(filepath.Base(path), "catalog")
	add := func(n ast.Node, what string) { all = append(all, naming{files.Position(n.Pos()).Line, what}) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "engine" && slices.Contains(constants, n.Sel.Name) {
				add(n, "engine."+n.Sel.Name)
			}
		case *ast.Ident:
			if inside && slices.Contains(constants, n.Name) {
				add(n, n.Name)
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				return true
			}
			if _, ok := engine.Of(text); ok {
				add(n, text)
			}
			if word := serverNames.FindString(text); word != "" && !documentation {
				add(n, word)
			}
			if word := serverWords.FindString(text); word != "" && !ownWords.MatchString(text) && !documentation {
				add(n, word)
			}
		}
		return true
	})
	return all
}

// kindConstants are the names of the constants of kinds.
func kindConstants(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || fmt.Sprint(spec.Type) != "Kind" {
				return true
			}
			if name := spec.Names[0].Name; name != "Unknown" {
				names = append(names, name)
			}
			return true
		})
	}
	return names
}
