package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/trtllm-exporter/trtllm_exporter"

// architecture contains the table of allowed imports between packages.
const architecture = "../../docs/architecture.md"

// allowedImports holds the table: the packages that each package may import, and those that the
// tests of every package may import in addition.
type allowedImports struct {
	packages map[string][]string
	tests    []string
}

// readAllowedImports reads the table of section "Packages". The row whose first cell names no
// package is about tests.
func readAllowedImports(t *testing.T) allowedImports {
	t.Helper()
	page, err := os.ReadFile(architecture)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Packages\n")
	require.True(t, found, "%s has no section Packages", architecture)
	section, _, _ = strings.Cut(section, "\n##")
	row := regexp.MustCompile(`(?m)^\|([^|]*)\|[^|]*\|([^|]*)\|$`)
	name := regexp.MustCompile("`([^`]+)`")
	names := func(cell string) []string {
		var out []string
		for _, m := range name.FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
		return out
	}
	table := allowedImports{packages: map[string][]string{}}
	for _, m := range row.FindAllStringSubmatch(section, -1)[2:] {
		pkg, may := names(m[1]), names(m[2])
		switch len(pkg) {
		case 0:
			table.tests = append(table.tests, may...)
		case 1:
			require.NotContains(t, table.packages, pkg[0], "two rows")
			table.packages[pkg[0]] = may
		default:
			require.Failf(t, "a row has one package", "%v", pkg)
		}
	}
	require.NotEmpty(t, table.tests)
	return table
}

type packageImports struct{ code, tests []string }

func TestImportsAreAllowed(t *testing.T) {
	table := readAllowedImports(t)
	for name, r := range listPackages(t) {
		t.Run(name, func(t *testing.T) {
			may, found := table.packages[name]
			require.True(t, found, "%s has no row in the table of %s: a new package "+
				"needs a decision", name, architecture)
			require.Subset(t, may, r.code, "%s may import only %v", name, may)
			require.Subset(
				t,
				slices.Concat(may, table.tests),
				r.tests,
				"tests of %s may import only %v and %v",
				name,
				may,
				table.tests,
			)
		})
	}
}

func TestAllowedImportsAreUsed(t *testing.T) {
	table, packages := readAllowedImports(t), listPackages(t)
	for name, may := range table.packages {
		r, found := packages[name]
		require.True(t, found, "%s is not a package of the module", name)
		for _, other := range may {
			onlyTests := slices.Contains(r.tests, other) && !slices.Contains(table.tests, other)
			require.True(
				t,
				onlyTests || slices.Contains(r.code, other),
				"%s does not import %s: remove it from the table",
				name,
				other,
			)
		}
	}
}

func TestAllowedImportsHaveNoCycle(t *testing.T) {
	table := readAllowedImports(t)
	done := map[string]bool{}
	for range table.packages {
		for name, may := range table.packages {
			done[name] = !slices.ContainsFunc(may, func(other string) bool { return !done[other] })
		}
	}
	for name := range table.packages {
		require.True(t, done[name], "%s is in an import cycle", name)
	}
}

// listPackages returns the imports of every package of the module, including tagged
// end-to-end tests.
func listPackages(t *testing.T) map[string]packageImports {
	t.Helper()
	cmd := exec.CommandContext(
		t.Context(),
		"go",
		"list",
		"-e",
		"-tags",
		"e2e_deb,e2e_dynamo,e2e_kube,e2e_live,e2e_triton",
		"-json=ImportPath,Imports,TestImports,XTestImports",
		module+"/...",
	)
	out, err := cmd.Output()
	require.NoError(t, err)

	packages := map[string]packageImports{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		packages[name] = packageImports{ours(name, p.Imports), ours(name, p.TestImports, p.XTestImports)}
	}
}

func ours(pkg string, imports ...[]string) []string {
	found := map[string]bool{}
	for _, path := range slices.Concat(imports...) {
		if other, inside := strings.CutPrefix(path, module+"/"); inside && other != pkg {
			found[other] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}
