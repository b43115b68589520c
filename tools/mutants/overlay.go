package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a changed condition.
type mutant struct {
	number int
	at     token.Position
	// text is the condition, change what becomes of it.
	text, change string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.at.Filename, m.at.Line, m.change, strings.Join(strings.Fields(m.text), " "))
}

// switches is the file that is added to the package: what the conditions call. Without a number in MUTANT nothing is
// changed, and the numbers of the conditions that are reached are added to the file in MUTANT_REACHED.
const switches = `package %s

import (
	mutantOS "os"
	mutantStrconv "strconv"
	mutantSync "sync"
)

var (
	mutantNumber, _ = mutantStrconv.Atoi(mutantOS.Getenv("MUTANT"))
	mutantReached = mutantOS.Getenv("MUTANT_REACHED")
	mutantSeen mutantSync.Map
)

func mutantIs(n int) bool {
	if mutantReached == "" {
		return n == mutantNumber
	}
	if _, seen := mutantSeen.LoadOrStore(n, true); !seen {
		f, err := mutantOS.OpenFile(mutantReached, mutantOS.O_APPEND|mutantOS.O_WRONLY|mutantOS.O_CREATE, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		f.WriteString(mutantStrconv.Itoa(n) + "\n")
	}
	return false
}

func mutantNot(n int, is bool) bool { return is != mutantIs(n) }

func mutantEdge(n int, is bool, equal func() bool) bool {
	if mutantIs(n) && equal() {
		return !is
	}
	return is
}

func mutantAnd(n int, a bool, b func() bool) bool {
	if mutantIs(n) {
		return a || b()
	}
	return a && b()
}

func mutantOr(n int, a bool, b func() bool) bool {
	if mutantIs(n) {
		return a && b()
	}
	return a || b()
}
`

// overlay writes the files of a package with switches in their conditions, and the overlay for the compiler.
func overlay(dir, pkg string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	replace, w := make(map[string]string), &writer{set: token.NewFileSet()}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := w.rewrite(name)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, err
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		replace[path] = to
		replace[filepath.Join(filepath.Dir(path), "mutants_switches.go")] = filepath.Join(dir, "mutants_switches.go")
	}
	added := fmt.Appendf(nil, switches, w.pkg)
	if err := os.WriteFile(filepath.Join(dir, "mutants_switches.go"), added, 0o600); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return w.all, os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
}

// writer puts switches into files.
type writer struct {
	set   *token.FileSet
	pkg   string
	all   []mutant
	text  []byte
	edits []edit
}

// edit replaces some bytes, none if it inserts.
type edit struct {
	at, length int
	text       string
}

func (w *writer) rewrite(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(w.set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	w.pkg, w.text, w.edits = file.Name.Name, text, nil
	ast.Inspect(file, w.visit)
	// Of several at one place, the outer condition begins first and ends last.
	slices.SortStableFunc(w.edits, func(a, b edit) int { return a.at - b.at })
	var out []byte
	from := 0
	for _, e := range w.edits {
		out = append(append(out, text[from:e.at]...), e.text...)
		from = e.at + e.length
	}
	return append(out, text[from:]...), nil
}

// visit puts a switch into a condition. Constants have no conditions to change.
func (w *writer) visit(n ast.Node) bool {
	if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
		return false
	}
	b, ok := n.(*ast.BinaryExpr)
	if !ok {
		return true
	}
	offset := func(p token.Pos) int { return w.set.Position(p).Offset }
	start, end, op := offset(b.Pos()), offset(b.End()), offset(b.OpPos)
	source := func(e ast.Expr) string { return string(w.text[offset(e.Pos()):offset(e.End())]) }
	switch b.Op {
	case token.LAND, token.LOR:
		call, change := "mutantAnd", "|| in place of &&"
		if b.Op == token.LOR {
			call, change = "mutantOr", "&& in place of ||"
		}
		n := w.add(b, change)
		w.wrap(start, end, fmt.Sprintf("%s(%d, ", call, n), "; return })")
		w.edits = append(w.edits, edit{op, len(b.Op.String()), ", func() (is bool) { is = "})
	case token.EQL, token.NEQ:
		w.wrap(start, end, fmt.Sprintf("mutantNot(%d, ", w.add(b, "the opposite")), ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.wrap(start, end, fmt.Sprintf("mutantNot(%d, ", w.add(b, "the opposite")), ")")
		edge := w.add(b, "the other way at the bound")
		w.wrap(start, end, fmt.Sprintf("mutantEdge(%d, ", edge),
			fmt.Sprintf(", func() bool { return (%s) == (%s) })", source(b.X), source(b.Y)))
	default:
	}
	return true
}

// wrap puts text around a condition. Conditions are visited from the outside in, and what is put at an end before has
// to follow.
func (w *writer) wrap(start, end int, before, after string) {
	w.edits = append(w.edits, edit{start, 0, before})
	i := slices.IndexFunc(w.edits, func(e edit) bool { return e.at == end && e.length == 0 })
	if i < 0 {
		i = len(w.edits)
	}
	w.edits = slices.Insert(w.edits, i, edit{end, 0, after})
}

func (w *writer) add(b *ast.BinaryExpr, change string) int {
	start, end := w.set.Position(b.Pos()), w.set.Position(b.End())
	w.all = append(w.all, mutant{len(w.all) + 1, start, string(w.text[start.Offset:end.Offset]), change})
	return len(w.all)
}
