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

// arrows are the rows of the table: the packages that each package may import, and those that the
// tests of every package may import besides.
type arrows struct {
	of       map[string][]string
	forTests []string
}

// readArrows reads the table of section "Packages". A row whose first cell names no package is for
// the tests.
func readArrows(t *testing.T) arrows {
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
	table := arrows{of: map[string][]string{}}
	for _, m := range row.FindAllStringSubmatch(section, -1)[2:] {
		room, may := names(m[1]), names(m[2])
		switch len(room) {
		case 0:
			table.forTests = append(table.forTests, may...)
		case 1:
			require.NotContains(t, table.of, room[0], "two rows")
			table.of[room[0]] = may
		default:
			require.Failf(t, "a row has one room", "%v", room)
		}
	}
	require.NotEmpty(t, table.forTests)
	return table
}

type room struct{ imports, inTests []string }

func TestRoomsImportOnlyWhatTheirArrowsAllow(t *testing.T) {
	table := readArrows(t)
	for name, r := range listRooms(t) {
		t.Run(name, func(t *testing.T) {
			may, known := table.of[name]
			require.True(t, known, "%s has no row in the table of %s: a new room is a decision, not an accident", name, architecture)
			require.Subset(t, may, r.imports, "%s may import only %v", name, may)
			require.Subset(t, slices.Concat(may, table.forTests), r.inTests, "tests of %s may import only %v and %v", name, may, table.forTests)
		})
	}
}

func TestEveryArrowIsUsed(t *testing.T) {
	table, rooms := readArrows(t), listRooms(t)
	for name, may := range table.of {
		r, known := rooms[name]
		require.True(t, known, "%s is not a package of the module", name)
		for _, other := range may {
			onlyTests := slices.Contains(r.inTests, other) && !slices.Contains(table.forTests, other)
			require.True(t, onlyTests || slices.Contains(r.imports, other), "%s does not import %s: take it out of the table", name, other)
		}
	}
}

func TestArrowsHaveNoCycle(t *testing.T) {
	table := readArrows(t)
	done := map[string]bool{}
	for range table.of {
		for name, may := range table.of {
			done[name] = !slices.ContainsFunc(may, func(other string) bool { return !done[other] })
		}
	}
	for name := range table.of {
		require.True(t, done[name], "%s imports in a circle", name)
	}
}

// listRooms asks the go command for every package of the module, including those with tagged
// end-to-end tests.
func listRooms(t *testing.T) map[string]room {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-tags", "e2e_deb,e2e_dynamo,e2e_kube,e2e_live,e2e_triton",
		"-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := cmd.Output()
	require.NoError(t, err)

	rooms := map[string]room{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return rooms
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		rooms[name] = room{ours(name, p.Imports), ours(name, p.TestImports, p.XTestImports)}
	}
}

func ours(room string, imports ...[]string) []string {
	found := map[string]bool{}
	for _, path := range slices.Concat(imports...) {
		if other, inside := strings.CutPrefix(path, module+"/"); inside && other != room {
			found[other] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}
