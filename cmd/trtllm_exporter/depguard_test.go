package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outside are imports that only some rooms may use, each with the rooms that may.
func outside() map[string][]string {
	return map[string][]string{
		"github.com/alecthomas/kingpin/v2": {"cmd/trtllm_exporter"},
		"flag":                             {"cmd/trtllm_exporter"},
		"os/signal":                        {"cmd/trtllm_exporter"},
		"github.com/prometheus/exporter-toolkit/web": {"cmd/trtllm_exporter", "collector/web"},
		"google.golang.org/grpc":                     {"collector/scrape", "collector/scrape/kserve"},
		"github.com/stretchr/testify/require":        {},
		"github.com/stretchr/testify/assert":         {},
		"github.com/pkg/errors":                      {},
		"io/ioutil":                                  {},
		"log":                                        {},
		"math/rand":                                  {},
		"net/http/httptest":                          {},
		"testing":                                    {},
	}
}

// everyRoomMay are near misses of the rules above: depguard compares prefixes, and these must pass.
func everyRoomMay() []string {
	return []string{"log/slog", "math/rand/v2", "os/exec", "testing/iotest"}
}

// TestDepguardRefusesEveryForbiddenArrow writes the rooms as empty packages, lets one of them import everything,
// and compares what depguard refuses with the table, so that a rule that is missing, too wide or misspelt shows.
func TestDepguardRefusesEveryForbiddenArrow(t *testing.T) {
	linter := os.Getenv("GOLANGCI_LINT")
	if linter == "" {
		t.Skip("GOLANGCI_LINT names no golangci-lint; `make lint-arrows` does")
	}
	settings, err := filepath.Abs("../../.golangci.yml")
	require.NoError(t, err)

	for _, a := range arrows() {
		t.Run(a.room, func(t *testing.T) {
			imports, refused := temptations(a)
			dir := t.TempDir()
			writeRooms(t, dir, a.room, imports)
			require.ElementsMatch(t, refused, depguard(t, linter, settings, dir))
		})
	}
}

// temptations returns everything that a room is made to import and the part of it that must be refused.
func temptations(a arrow) (imports, refused []string) {
	for _, other := range arrows() {
		if other.room == a.room || strings.HasPrefix(other.room, "cmd/") {
			continue
		}
		imports = append(imports, module+"/"+other.room)
		if !slices.Contains(a.may, other.room) {
			refused = append(refused, module+"/"+other.room)
		}
	}
	for name, rooms := range outside() {
		imports = append(imports, name)
		if !slices.Contains(rooms, a.room) {
			refused = append(refused, name)
		}
	}
	return append(imports, everyRoomMay()...), refused
}

// writeRooms lays out a module of the same name in dir: empty rooms, empty stand-ins for the modules of others, and
// one room with imports. One file per import, so that a name is never imported twice in a file.
func writeRooms(t *testing.T, dir, room string, imports []string) {
	t.Helper()
	mod := "module " + module + "\n\ngo 1.26.0\n"
	for _, a := range arrows() {
		write(t, filepath.Join(dir, a.room, "doc.go"), "// Package room is a stand-in.\npackage room\n")
	}
	for i, name := range imports {
		write(t, filepath.Join(dir, room, fmt.Sprintf("import%d.go", i)), fmt.Sprintf("package room\n\nimport _ %q\n", name))
		if !strings.Contains(name, ".") || strings.HasPrefix(name, module) {
			continue
		}
		root := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "/web"), "/require"), "/assert")
		stand := filepath.Join("stand-in", strings.TrimSuffix(root, "/v2"))
		version := "v1.0.0"
		if path.Base(root) == "v2" {
			version = "v2.0.0"
		}
		write(t, filepath.Join(dir, stand, "go.mod"), "module "+root+"\n\ngo 1.26.0\n")
		write(t, filepath.Join(dir, stand, strings.TrimPrefix(name, root), "doc.go"), "// Package room is a stand-in.\npackage room\n")
		if !strings.Contains(mod, "require "+root+" ") {
			mod += fmt.Sprintf("\nrequire %s %s\n\nreplace %s => ./%s\n", root, version, root, filepath.ToSlash(stand))
		}
	}
	write(t, filepath.Join(dir, "go.mod"), mod)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// depguard runs the one linter over the module in dir and returns the imports it refused, each once.
func depguard(t *testing.T, linter, settings, dir string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), linter, "run", "--config", settings, "--enable-only", "depguard",
		"--allow-parallel-runners", "--issues-exit-code", "0", "--output.json.path", "stdout", "--show-stats=false", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)

	var report struct {
		Issues []struct{ FromLinter, Text string }
	}
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	var refused []string
	for _, issue := range report.Issues {
		require.Equal(t, "depguard", issue.FromLinter, issue.Text)
		name := strings.Split(issue.Text, "'")[1]
		if !slices.Contains(refused, name) {
			refused = append(refused, name)
		}
	}
	return refused
}
