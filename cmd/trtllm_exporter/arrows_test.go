package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/trtllm-exporter/trtllm_exporter"

// arrow is what one room may import of the other rooms.
type arrow struct {
	room string
	may  []string
}

// arrows is the picture of docs/architecture.md as a table. A room that is missing here fails the test: a new
// room is a decision, not an accident. The depguard rules of .golangci.yml say the same, and depguard_test.go
// holds the two against each other.
func arrows() []arrow {
	stages := []string{
		"collector/derive", "collector/discovery", "collector/engine", "collector/exposition", "collector/probe",
		"collector/scrape", "collector/scrape/kserve", "collector/snapshot", "collector/target", "relabel",
	}
	return []arrow{
		{"relabel", nil},
		{"collector/exposition", nil},
		{"collector/target", nil},
		{"collector/simulate", nil},
		{"collector/scrape", []string{"collector/scrape/kserve", "collector/target"}},
		{"collector/scrape/kserve", nil},
		{"collector/discovery", []string{"collector/target"}},
		{"collector/probe", []string{"collector/target"}},
		{"collector/engine", []string{"collector/exposition", "collector/target"}},
		{"collector/snapshot", []string{"collector/exposition", "collector/target"}},
		{"collector/derive", []string{"collector/engine", "collector/exposition", "collector/snapshot"}},
		{"collector", stages},
		{"collector/config", []string{
			"collector", "collector/derive", "collector/discovery", "collector/engine", "collector/exposition",
			"collector/probe", "collector/scrape", "relabel",
		}},
		{"collector/web", []string{
			"collector", "collector/config", "collector/exposition", "collector/snapshot", "collector/target",
		}},
		{"cmd/trtllm_exporter", append(stages, "collector", "collector/config", "collector/simulate", "collector/web")},
	}
}

// beside are the packages beside production code, which make or check what is shipped with it, and what cmd
// takes from them. Depguard has no rules for them: nothing of the line can reach them.
func beside() []arrow {
	return []arrow{
		{"alerts", nil},
		{"alerts/live", []string{"alerts", "alerts/vocabulary", "dashboards"}},
		{"alerts/vocabulary", []string{"collector/derive"}},
		{"dashboards", []string{"alerts", "alerts/vocabulary"}},
		{"tools/alertrules", []string{"alerts"}},
		{"tools/dashboards", []string{"dashboards"}},
		{"tools/deb", nil},
		{"tools/metricsdoc", []string{"collector/derive", "collector/engine", "collector/exposition"}},
		{"tools/mutants", nil},
		{"tools/sbom", nil},
	}
}

// forTests are the rooms that the tests of every room may import beside their own arrows: plain data to build
// inputs from, and the simulated fleet.
func forTests() []string {
	return []string{"collector/exposition", "collector/simulate", "collector/snapshot", "collector/target"}
}

// listed is the part of `go list -json` that the arrows are read from.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestRoomsImportOnlyWhatTheirArrowsAllow(t *testing.T) {
	packages := listPackages(t)
	require.NotEmpty(t, packages)
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module+"/")
		t.Run(room, func(t *testing.T) {
			allowed, known := allowedFor(room)
			require.True(t, known, "%s is no room of the table: give it a row in arrows and a rule in .golangci.yml", room)
			require.Empty(t, forbidden(p.Imports, allowed), "%s may import only %v", room, allowed)

			inTests := slices.Concat(allowed, forTests(), []string{room})
			require.Empty(t, forbidden(p.TestImports, inTests), "tests of %s may import only %v", room, inTests)
			require.Empty(t, forbidden(p.XTestImports, inTests), "tests of %s may import only %v", room, inTests)
		})
	}
}

func TestArrowsHaveNoCycle(t *testing.T) {
	done := map[string]bool{}
	for range arrows() {
		for _, a := range arrows() {
			done[a.room] = !slices.ContainsFunc(a.may, func(room string) bool { return !done[room] })
		}
	}
	for _, a := range arrows() {
		require.True(t, done[a.room], "%s imports in a circle", a.room)
	}
}

// allowedFor returns the arrows of a room. Folders below cmd/trtllm_exporter hold its tests and share its row.
func allowedFor(room string) (rooms []string, known bool) {
	if strings.HasPrefix(room, "cmd/trtllm_exporter/") {
		room = "cmd/trtllm_exporter"
	}
	for _, a := range slices.Concat(arrows(), beside()) {
		if a.room == room {
			rooms, known = slices.Clone(a.may), true
		}
	}
	if room == "cmd/trtllm_exporter" {
		rooms = append(rooms, "alerts")
	}
	return rooms, known
}

// forbidden returns the imports that are rooms of this module and are not allowed.
func forbidden(imports, allowed []string) []string {
	var out []string
	for _, path := range imports {
		room, ours := strings.CutPrefix(path, module+"/")
		if ours && !slices.Contains(allowed, room) {
			out = append(out, room)
		}
	}
	return out
}

// listPackages asks the go command for every package of the module, the tagged end-to-end tests among them.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-tags", "e2e_deb,e2e_dynamo,e2e_live,e2e_triton",
		"-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := cmd.Output()
	require.NoError(t, err)

	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}
