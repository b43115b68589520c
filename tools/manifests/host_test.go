package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const unit = "deploy/systemd/trtllm_exporter.service"

// have finds a program that not every machine has.
func have(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not here", program)
	}
	return path
}

// verified is what systemd has to say about a unit; it says mistakes and ends
// with success all the same.
func verified(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(unit))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	out, _ := exec.CommandContext(t.Context(), have(t, "systemd-analyze"), "verify", path).CombinedOutput()
	return string(out)
}

func TestUnitIsGood(t *testing.T) {
	exporter, err := filepath.Abs(binary(t))
	require.NoError(t, err)
	text := strings.ReplaceAll(string(read(t, unit)), "/usr/bin/trtllm_exporter", exporter)
	require.Empty(t, verified(t, text))
	require.Contains(t, verified(t, strings.Replace(text, "ProtectSystem=", "ProtectSystems=", 1)), "ProtectSystems")
}

func TestUnitIsHardened(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), have(t, "systemd-analyze"), "security", "--offline=true", "--threshold=20", filepath.Join(root, unit)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	level := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	require.NotNil(t, level, "%s", out)
	exposure, err := strconv.ParseFloat(string(level[1]), 64)
	require.NoError(t, err)
	require.LessOrEqual(t, exposure, 2.0)
}

// dist builds the release of one architecture.
func dist(t *testing.T) string {
	t.Helper()
	if os.Getenv("NFPM") == "" || os.Getenv("VERSION") == "" {
		t.Skip("NFPM names nfpm and VERSION the release; make check-deploy sets them")
	}
	out := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "deploy/package/dist.sh"))
	cmd.Env = append(os.Environ(), "OUT="+out, "ARCHS=amd64", "SOURCE_DATE_EPOCH=1780000000")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return out
}

func TestReleaseIsTheSameTwiceAndWorks(t *testing.T) {
	first, second := dist(t), dist(t)
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, string(sums), string(again))
	for _, ending := range []string{"_amd64.deb", ".x86_64.rpm", ".linux-amd64.tar.gz", ".linux-amd64.spdx.json"} {
		require.Contains(t, string(sums), ending+"\n")
	}

	debs, err := filepath.Glob(filepath.Join(first, "*.deb"))
	require.NoError(t, err)
	require.Len(t, debs, 1)
	tree := t.TempDir()
	out, err := exec.CommandContext(t.Context(), have(t, "dpkg-deb"), "-x", debs[0], tree).CombinedOutput()
	require.NoError(t, err, "%s", out)
	program := filepath.Join(tree, "usr/bin/trtllm_exporter")
	out, err = exec.CommandContext(t.Context(), program, "check-config", filepath.Join(tree, "etc/trtllm_exporter/config.yml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	packaged, err := os.ReadFile(filepath.Join(tree, "lib/systemd/system/trtllm_exporter.service"))
	require.NoError(t, err)
	require.Equal(t, string(read(t, unit)), string(packaged))
	out, err = exec.CommandContext(t.Context(), have(t, "dpkg-deb"), "-I", debs[0], "conffiles").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "/etc/default/trtllm_exporter\n/etc/trtllm_exporter/config.yml\n", string(out))
}

func TestWorkflowsAreGood(t *testing.T) {
	path := os.Getenv("ACTIONLINT")
	if path == "" {
		t.Skip("ACTIONLINT names actionlint; make check-deploy sets it")
	}
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out, err := exec.CommandContext(t.Context(), path, append([]string{"-no-color"}, files...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	wrong := filepath.Join(t.TempDir(), "wrong.yml")
	text := strings.Replace(string(read(t, ".github/workflows/ci.yml")), "github.event_name", "github.event_nam", 1)
	require.NoError(t, os.WriteFile(wrong, []byte(text), 0o644))
	require.Error(t, exec.CommandContext(t.Context(), path, wrong).Run())
}

func TestScriptsArePlainShell(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(root, "deploy/package/*.sh"))
	require.NoError(t, err)
	require.Len(t, scripts, 4)
	for _, s := range scripts {
		shell := "sh"
		if filepath.Base(s) == "dist.sh" {
			shell = "bash"
		}
		out, err := exec.CommandContext(t.Context(), shell, "-n", s).CombinedOutput()
		require.NoError(t, err, "%s", out)
		info, err := os.Stat(s)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s is not executable", s)
	}
}
