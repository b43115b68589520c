package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// room is one package, parsed and with its types.
type room struct {
	dir     string // Relative to the working directory.
	abs     string
	fset    *token.FileSet
	imports types.Importer
	files   map[string]*ast.File
	sources map[string]string
	pkg     *types.Package
	info    *types.Info
}

// load reads a package. Imports come as export data out of the build cache.
func load(ctx context.Context, dir string) (*room, error) {
	out, err := goCommand(ctx, "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./"+dir)
	if err != nil {
		return nil, err
	}
	// The package itself is listed behind those it depends on.
	var p struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); exports[p.ImportPath] = p.Export {
		p.GoFiles = nil
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
	}
	r := &room{
		dir: dir, abs: p.Dir, fset: token.NewFileSet(), files: map[string]*ast.File{}, sources: map[string]string{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
	}
	r.imports = importer.ForCompiler(r.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range p.GoFiles {
		src, err := os.ReadFile(filepath.Join(r.abs, name))
		if err != nil {
			return nil, err
		}
		r.sources[name] = string(src)
		if r.files[name], err = parser.ParseFile(r.fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	r.pkg, err = r.check(r.files, r.info)
	return r, err
}

// check gives the files their types.
func (r *room) check(files map[string]*ast.File, info *types.Info) (*types.Package, error) {
	return (&types.Config{Importer: r.imports}).Check(r.dir, r.fset, slices.Collect(maps.Values(files)), info)
}

// mutants lists all of the room in the order of its code.
func (r *room) mutants() []mutant {
	var all []mutant
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if !ast.IsGenerated(r.files[name]) {
			ast.Walk(walker{room: r, file: name, out: &all}, r.files[name])
		}
	}
	return all
}

// shuffle orders mutants as the seed wants it.
func (r *room) shuffle(all []mutant, seed uint64) []mutant {
	h := fnv.New64a()
	h.Write([]byte(r.dir))
	rand.New(rand.NewPCG(seed, h.Sum64())).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// pick takes the first mutants that compile, at most one from a line.
func (r *room) pick(all []mutant, n int) []mutant {
	var picked []mutant
	taken := map[string]bool{}
	for _, m := range all {
		if line := fmt.Sprint(m.file, m.line()); len(picked) < n && !taken[line] && r.compiles(m) {
			taken[line] = true
			picked = append(picked, m)
		}
	}
	return picked
}

// compiles says whether a mutant is a Go program: operators are swapped without
// a look at types, and what is removed may leave a variable without a use.
func (r *room) compiles(m mutant) bool {
	files := maps.Clone(r.files)
	changed, err := parser.ParseFile(r.fset, m.file, m.apply(), parser.SkipObjectResolution)
	if files[m.file] = changed; err == nil {
		_, err = r.check(files, nil)
	}
	return err == nil
}

// goCommand runs the go command and gives what it printed; its complaint is in
// the error.
func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, exit.Stderr)
	}
	return out, err
}
