package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// walker finds the mutants of a file. What it knows of a place goes down the
// tree with it and not back.
type walker struct {
	room *room
	file string
	fn   string
	sig  *types.Signature
	out  *[]mutant
}

// Visit implements [ast.Visitor].
func (w walker) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.ArrayType, *ast.StructType, *ast.ImportSpec:
		return nil
	case *ast.ValueSpec:
		if w.sig == nil {
			w.fn = n.Names[0].Name
		}
	case *ast.FuncDecl:
		w.fn, w.sig = n.Name.Name, w.room.info.Defs[n.Name].Type().(*types.Signature)
	case *ast.FuncLit:
		w.sig = w.room.info.TypeOf(n).(*types.Signature)
	case *ast.CallExpr:
		if w.spared(n) {
			return nil
		}
	case ast.Expr:
		w.expression(n)
	case ast.Stmt:
		w.statement(n)
	}
	return w
}

// spared says that nothing in a call is changed: log lines, capacities and the
// sizes that strconv is given are not what a test has to hold.
func (w walker) spared(n *ast.CallExpr) bool {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return w.room.info.Uses[f] == types.Universe.Lookup("make")
	case *ast.SelectorExpr:
		pkg := w.room.info.Uses[f.Sel].Pkg()
		return pkg != nil && (pkg.Path() == "log/slog" || pkg.Path() == "strconv")
	}
	return false
}

// expression makes the mutants of operators, constants and tables.
func (w walker) expression(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.swap(n.OpPos, n.Op.String())
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			w.emit(n.Pos(), n.X.Pos(), "")
		}
	case *ast.BasicLit:
		if v, err := strconv.Atoi(n.Value); err == nil {
			w.emit(n.Pos(), n.End(), strconv.Itoa(v+1))
			if v > 0 {
				w.emit(n.Pos(), n.End(), strconv.Itoa(v-1))
			}
		} else if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			w.emit(n.Pos(), n.End(), strconv.FormatFloat(v+1, 'g', -1, 64))
		}
	case *ast.Ident:
		if obj := w.room.info.Uses[n]; obj != nil && obj.Parent() == types.Universe {
			w.swap(n.Pos(), n.Name)
		}
	case *ast.CompositeLit:
		if _, ok := w.room.info.TypeOf(n).Underlying().(*types.Struct); !ok && len(n.Elts) > 1 {
			w.rows(n)
		}
	}
}

// swap replaces a word. A comparison becomes the one that differs at its
// boundary, and its opposite.
func (w walker) swap(at token.Pos, word string) {
	others := map[string][]string{
		"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"}, "==": {"!="}, "!=": {"=="},
		"&&": {"||"}, "||": {"&&"}, "true": {"false"}, "false": {"true"}, "min": {"max"}, "max": {"min"},
		"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "%": {"*"}, "&": {"|"}, "|": {"&"}, "<<": {">>"}, ">>": {"<<"},
		"+=": {"-="}, "-=": {"+="}, "*=": {"/="}, "/=": {"*="}, "++": {"--"}, "--": {"++"},
	}
	for _, other := range others[word] {
		w.emit(at, at+token.Pos(len(word)), other)
	}
}

// rows takes one entry out of a list or a map.
func (w walker) rows(n *ast.CompositeLit) {
	for i, row := range n.Elts {
		next := n.Rbrace
		if i+1 < len(n.Elts) {
			next = n.Elts[i+1].Pos()
		}
		comma := strings.IndexByte(w.source(row.End(), next), ',')
		w.emit(row.Pos(), row.End()+token.Pos(comma+1), "")
	}
}

// statement makes the mutants of statements.
func (w walker) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !w.spared(call) {
			w.emit(n.Pos(), n.End(), "")
		}
	case *ast.BranchStmt:
		w.emit(n.Pos(), n.End(), "")
	case *ast.CaseClause:
		if len(n.Body) > 0 {
			w.emit(n.Colon+1, n.End(), "")
		}
	case *ast.IfStmt:
		w.negate(n.Cond)
		if n.Else != nil {
			w.emit(n.Body.End(), n.Else.End(), "")
		}
	case *ast.AssignStmt:
		w.swap(n.TokPos, n.Tok.String())
		if n.Tok != token.DEFINE {
			w.emit(n.Pos(), n.End(), "")
		}
	case *ast.IncDecStmt:
		w.swap(n.TokPos, n.Tok.String())
	case *ast.ReturnStmt:
		w.zeros(n)
	}
}

// negate turns a condition around that has no operator to be swapped.
func (w walker) negate(cond ast.Expr) {
	switch cond.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
	default:
		w.emit(cond.Pos(), cond.End(), "!("+w.source(cond.Pos(), cond.End())+")")
	}
}

// zeros makes a return give the zero value of everything.
func (w walker) zeros(n *ast.ReturnStmt) {
	var values []string
	for v := range w.sig.Results().Variables() {
		values = append(values, w.zero(v.Type()))
	}
	if text := "return " + strings.Join(values, ", "); len(n.Results) > 0 && text != w.source(n.Pos(), n.End()) {
		w.emit(n.Pos(), n.End(), text)
	}
}

// zero writes the zero value of a type.
func (w walker) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsBoolean != 0 {
			return "false"
		}
		if u.Info()&types.IsString != 0 {
			return `""`
		}
		return "0"
	case *types.Struct, *types.Array:
		return strings.TrimPrefix(types.TypeString(t, (*types.Package).Name), w.room.pkg.Name()+".") + "{}"
	}
	return "nil"
}

// emit notes that a text may take the place of the source from start to end.
func (w walker) emit(start, end token.Pos, text string) {
	f := w.room.fset.File(start)
	*w.out = append(*w.out, mutant{w.room, w.file, w.fn, f.Offset(start), f.Offset(end), text})
}

// source is the text between two places.
func (w walker) source(from, to token.Pos) string {
	f := w.room.fset.File(from)
	return w.room.sources[w.file][f.Offset(from):f.Offset(to)]
}
