package manifests_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/require"
)

// root is the path of the checkout.
const root = "../.."

// read returns a file of the checkout.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return text
}

// lintDockerfile returns the stages of a Dockerfile and all warnings of BuildKit.
func lintDockerfile(text []byte) ([]instructions.Stage, []string, error) {
	result, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	for _, w := range result.Warnings {
		warnings = append(warnings, w.Short)
	}
	l := linter.New(&linter.Config{Warn: func(rule, _, _, msg string, _ []parser.Range) {
		warnings = append(warnings, rule+": "+msg)
	}})
	stages, _, err := instructions.Parse(result.AST, l)
	return stages, warnings, err
}

func TestDockerfilePassesBuildKitChecks(t *testing.T) {
	_, warnings, err := lintDockerfile(read(t, "deploy/docker/Dockerfile"))
	require.NoError(t, err)
	require.Empty(t, warnings)
}

// What a build takes from others is named by what it is, not by a tag that they can move.
func TestBuildsArePinned(t *testing.T) {
	stages, _, err := lintDockerfile(read(t, "deploy/docker/Dockerfile"))
	require.NoError(t, err)
	require.Regexp(t, `^golang:[\d.]+@sha256:[0-9a-f]{64}$`, stages[0].BaseName)
	workflows, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, workflows)
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	pinned := regexp.MustCompile(`^(\./.*|[\w/-]+@[0-9a-f]{40} # v[\d.]+)$`)
	for _, file := range workflows {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, use := range uses.FindAllStringSubmatch(string(text), -1) {
			require.Regexp(t, pinned, use[1], file)
		}
	}
}

func TestImageRunsStaticBinaryAsNobody(t *testing.T) {
	stages, _, err := lintDockerfile(read(t, "deploy/docker/Dockerfile"))
	require.NoError(t, err)
	require.Len(t, stages, 2)
	last := stages[1]
	require.Equal(t, "scratch", last.BaseName)
	var user, entrypoint, health string
	labels := map[string]string{}
	for _, command := range last.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entrypoint = strings.Join(c.CmdLine, " ")
		case *instructions.HealthCheckCommand:
			health = strings.Join(c.Health.Test, " ")
		case *instructions.LabelCommand:
			for _, l := range c.Labels {
				labels[l.Key] = strings.Trim(l.Value, `"`)
			}
		case *instructions.RunCommand:
			require.Fail(t, "an empty image runs nothing")
		}
	}
	require.Equal(t, "65532:65532", user)
	require.Equal(t, "/trtllm_exporter", entrypoint)
	require.Equal(t, "CMD /trtllm_exporter healthcheck", health)
	for _, name := range []string{"title", "description", "source", "licenses", "version", "revision", "created"} {
		require.NotEmpty(t, labels["org.opencontainers.image."+name], name)
	}
}

func TestImageUsesGoVersionOfModule(t *testing.T) {
	stages, _, err := lintDockerfile(read(t, "deploy/docker/Dockerfile"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(read(t, "go.mod")), "\ngo ")
	require.True(t, found, "go.mod names a release of Go")
	release := strings.Join(strings.SplitN(strings.Fields(after)[0], ".", 3)[:2], ".")
	require.Contains(t, stages[0].BaseName, "golang:"+release+".")
}

func TestImageCopiesAllSourceFolders(t *testing.T) {
	allowed := map[string]bool{}
	for line := range strings.Lines(string(read(t, ".dockerignore"))) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			allowed[name] = true
		}
	}
	const module = "github.com/trtllm-exporter/trtllm_exporter/"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/trtllm_exporter")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	seen := 0
	for pkg := range strings.Lines(string(out)) {
		if inside, ok := strings.CutPrefix(strings.TrimSpace(pkg), module); ok {
			top, _, _ := strings.Cut(inside, "/")
			require.True(t, allowed[top], "%s is not in .dockerignore", top)
			seen++
		}
	}
	require.Positive(t, seen)
}
