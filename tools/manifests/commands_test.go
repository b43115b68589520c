package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// documented returns the lines in code blocks of the documents that run a program, with its
// variables.
func documented(t *testing.T, program string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "deploy/helm/trtllm-exporter/README.md")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		joined := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, m := range regexp.MustCompile("(?s)\n```sh\n(.*?\n)```").FindAllStringSubmatch(joined, -1) {
			for line := range strings.Lines(m[1]) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
				if regexp.MustCompile(`(^|\| |^[A-Z]+=\S+ )` + program + ` `).MatchString(line) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	require.NotEmpty(t, lines, "no document runs %s", program)
	return lines
}

// installValues returns the values file of docs/install.md.
func installValues(t *testing.T) string {
	t.Helper()
	_, after, found := strings.Cut(string(read(t, "docs/install.md")), "```yaml\n# values.yaml")
	require.True(t, found, "docs/install.md has values")
	_, text, _ := strings.Cut(after, "\n")
	text, _, _ = strings.Cut(text, "```")
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// placed returns the arguments of a line of helm or kubectl, with paths of this checkout
// and a values file.
func placed(t *testing.T, line string) []string {
	t.Helper()
	var args []string
	for word := range strings.FieldsSeq(line) {
		switch {
		case strings.HasPrefix(word, "deploy/"):
			word, _ = filepath.Abs(filepath.Join(root, word))
		case strings.HasSuffix(word, "values.yaml"):
			word = installValues(t)
		}
		args = append(args, word)
	}
	return args
}

// TestDocumentedCommandsAreValid runs everything that needs neither a cluster nor images:
// helm renders instead of installing, kubectl builds, and the binary runs without docker.
func TestDocumentedCommandsAreValid(t *testing.T) {
	services := map[string][]int32{}
	for _, line := range documented(t, "helm") {
		line, _, _ = strings.Cut(line, " | ")
		t.Run(line, func(t *testing.T) {
			args := placed(t, line)[1:]
			if args[0] != "template" {
				require.Contains(t, []string{"install", "upgrade"}, args[0])
				args = append(
					[]string{"template"},
					slices.DeleteFunc(args[1:], func(a string) bool { return a == "--install" })...)
			}
			out, err := helm(t, append(args, "--kube-version=1.33.0")...)
			require.NoError(t, err, "%s", out)
			o := decoded(t, out)
			for _, s := range all[*corev1.Service](o) {
				for _, port := range s.Spec.Ports {
					services["svc/"+s.Name] = append(services["svc/"+s.Name], port.Port)
				}
			}
			chart := slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "trtllm-exporter") })
			out, err = helm(t, append([]string{
				"lint", "--strict", "--kube-version=1.33.0", args[chart],
			}, args[chart+1:]...)...)
			require.NoError(t, err, "%s", out)
		})
	}
	for _, line := range documented(t, "kubectl") {
		t.Run(line, func(t *testing.T) {
			_, command, _ := strings.Cut(line, "kubectl ")
			args := placed(t, "kubectl "+command)
			switch {
			case slices.Contains(args, "-k"):
				o := decoded(t, kustomized(t, strings.Fields(line)[3]))
				requireGoodConfig(t, o)
			case slices.Contains(args, "port-forward"):
				require.Contains(t, services[args[len(args)-2]], int32(9802), "no such service in the chart")
				require.Equal(t, "9802", args[len(args)-1])
			default:
				require.Equal(t, []string{
					"kubectl", "apply", "--dry-run=server", "--validate=strict", "-f", "-",
				}, args, "TestClusterDocumentedCommands runs what needs a cluster")
			}
		})
	}
	for _, line := range documented(t, "docker") {
		t.Run(line, func(t *testing.T) {
			if strings.Contains(line, "docker compose ") {
				requireComposeLine(t, line)
				return
			}
			requireRunLine(t, line)
		})
	}
}

// requireComposeLine loads the files of a line with its variables.
func requireComposeLine(t *testing.T, line string) {
	t.Helper()
	before, after, _ := strings.Cut(line, "docker compose ")
	words := strings.Fields(after)
	var files []string
	for i, word := range words {
		if word == "-f" {
			file, err := filepath.Abs(filepath.Join(root, words[i+1]))
			require.NoError(t, err)
			files = append(files, file)
		}
	}
	require.Equal(t, []string{"up", "--build"}, words[len(words)-2:])
	project, err := composed(t, strings.Fields(before), files...)
	require.NoError(t, err)
	require.NotNil(t, project.Services["exporter"].Build, "nothing to build")
}

// requireRunLine compares the flags of `docker run` with the Dockerfile, and runs the
// binary with the arguments of the line, or those of the image.
func requireRunLine(t *testing.T, line string) {
	t.Helper()
	stages, _, err := lintDockerfile(read(t, "deploy/docker/Dockerfile"))
	require.NoError(t, err)
	var command, exposed []string
	for _, c := range stages[len(stages)-1].Commands {
		switch c := c.(type) {
		case *instructions.CmdCommand:
			command = c.CmdLine
		case *instructions.ExposeCommand:
			exposed = c.Ports
		}
	}
	words := strings.Fields(line)
	image := slices.IndexFunc(
		words,
		func(w string) bool { return strings.HasPrefix(w, "ghcr.io/trtllm-exporter/trtllm_exporter") },
	)
	require.Positive(t, image)
	if given := words[image+1:]; len(given) > 0 {
		command = given
	}
	flags, mounted := words[2:image], ""
	for i := 0; i < len(flags); i++ {
		switch flag := flags[i]; flag {
		case "--rm", "--read-only", "--cap-drop=ALL":
		case "-p":
			i++
			require.Contains(t, exposed, flags[i][strings.LastIndex(flags[i], ":")+1:])
			require.Regexp(t, `^(127\.0\.0\.1:)?9802:9802$`, flags[i])
		case "-v":
			i++
			parts := strings.Split(strings.Trim(flags[i], `"`), ":")
			require.Len(t, parts, 3)
			require.Equal(t, "ro", parts[2])
			mounted = parts[1]
		default:
			require.Fail(t, "an unknown flag of docker run", flag)
		}
	}
	args, config := slices.Clone(command), ""
	for i, a := range args {
		switch flag, value, _ := strings.Cut(a, "="); flag {
		case "--web.listen-address":
			require.Equal(t, ":9802", value, "the published port")
			args[i] = flag + "=127.0.0.1:0"
		case "--config.file":
			config = value
			args[i] = flag + "=" + filepath.Join(root, "docs/examples/minimal.yml")
		}
	}
	require.Equal(t, mounted, config, "the mounted file is the one that is read")
	runsUntilInterrupted(t, args)
}

// runsUntilInterrupted starts the binary, which must report that it listens and end
// successfully after an interrupt.
func runsUntilInterrupted(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	path := filepath.Join(t.TempDir(), "output")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	output := func() string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	require.Eventually(
		t,
		func() bool { return regexp.MustCompile(`Listening on|http://127\.0\.0\.1:\d+/`).MatchString(output()) },
		5*time.Minute,
		50*time.Millisecond,
		"%v",
		args,
	)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), output())
}
