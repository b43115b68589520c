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

// have returns the path of a program, or skips the test.
func have(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// verified returns the output of systemd-analyze, which reports mistakes but exits with 0.
func verified(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(unit))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	out, _ := exec.CommandContext(t.Context(), have(t, "systemd-analyze"), "verify", path).CombinedOutput()
	return string(out)
}

func TestUnitIsValid(t *testing.T) {
	exporter, err := filepath.Abs(binary(t))
	require.NoError(t, err)
	text := strings.ReplaceAll(string(read(t, unit)), "/usr/bin/trtllm_exporter", exporter)
	require.Empty(t, verified(t, text))
	require.Contains(t, verified(t, strings.Replace(text, "ProtectSystem=", "ProtectSystems=", 1)), "ProtectSystems")
}

func TestUnitIsHardened(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), have(t, "systemd-analyze"), "security", "--offline=true", "--threshold=20", filepath.Join(root, unit)).
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	level := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	require.NotNil(t, level, "%s", out)
	exposure, err := strconv.ParseFloat(string(level[1]), 64)
	require.NoError(t, err)
	require.LessOrEqual(t, exposure, 2.0)
}

// dist builds the release for one architecture.
func dist(t *testing.T, checkout, umask string) string {
	t.Helper()
	if os.Getenv("NFPM") == "" || os.Getenv("VERSION") == "" {
		t.Skip("NFPM names nfpm and VERSION the release; make check-deploy sets them")
	}
	out := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "umask "+umask+" && exec deploy/package/dist.sh")
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "OUT="+out, "ARCHS=amd64", "SOURCE_DATE_EPOCH=1780000000")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return out
}

// copied returns a copy of the checkout with new times and restrictive permissions.
func copied(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `git ls-files -z -co --exclude-standard |
		tar --null -T - --ignore-failed-read -cf - | { umask 077; tar -C "$0" --no-same-permissions -xmf -; }`, to)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return to
}

// only returns the only file in a folder with an ending.
func only(t *testing.T, folder, ending string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"+ending))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// run runs a program successfully and returns its output.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestReleaseIsReproducible(t *testing.T) {
	first, second := dist(t, root, "022"), dist(t, copied(t), "077")
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, string(sums), string(again))
	for _, ending := range []string{"_amd64.deb", ".x86_64.rpm", ".linux-amd64.tar.gz", ".linux-amd64.cdx.json"} {
		require.Contains(t, string(sums), ending+"\n")
	}
	t.Run("deb", func(t *testing.T) { requireDeb(t, only(t, first, ".deb")) })
	t.Run("rpm", func(t *testing.T) { requireRPM(t, only(t, first, ".rpm")) })
	t.Run("archive", func(t *testing.T) { requireArchive(t, only(t, first, ".tar.gz")) })
}

func requireDeb(t *testing.T, deb string) {
	t.Helper()
	tree := t.TempDir()
	run(t, have(t, "dpkg-deb"), "-x", deb, tree)
	run(
		t,
		filepath.Join(tree, "usr/bin/trtllm_exporter"),
		"check-config",
		filepath.Join(tree, "etc/trtllm_exporter/config.yml"),
	)
	packaged, err := os.ReadFile(filepath.Join(tree, "usr/lib/systemd/system/trtllm_exporter.service"))
	require.NoError(t, err)
	require.Equal(t, string(read(t, unit)), string(packaged))
	manual := run(t, "gzip", "-dc", filepath.Join(tree, "usr/share/man/man1/trtllm_exporter.1.gz"))
	require.Regexp(
		t,
		`\A\.TH trtllm_exporter 1 "\d{4}-\d\d-\d\d" "trtllm_exporter [^"\n]+" "User Commands"\n\.SH "NAME"\n`,
		manual,
	)
	for _, command := range []string{"serve", "doctor", "top", "demo", "check-config"} {
		require.Contains(t, manual, command)
	}
	run(t, "bash", "-n", filepath.Join(tree, "usr/share/bash-completion/completions/trtllm_exporter"))
	require.Equal(t, "/etc/default/trtllm_exporter\n"+
		"/etc/trtllm_exporter/config.yml\n", run(t, "dpkg-deb", "-I", deb, "conffiles"))
}

func requireRPM(t *testing.T, rpm string) {
	t.Helper()
	program := have(t, "rpm")
	require.Contains(t, run(t, program, "-K", "--nosignature", rpm), "digests OK")
	require.Equal(t, `-rw-r--r-- root /etc/sysconfig/trtllm_exporter
drwxr-xr-x root /etc/trtllm_exporter
-rw-r--r-- root /etc/trtllm_exporter/config.yml
-rwxr-xr-x root /usr/bin/trtllm_exporter
-rw-r--r-- root /usr/lib/systemd/system/trtllm_exporter.service
-rw-r--r-- root /usr/share/bash-completion/completions/trtllm_exporter
drwxr-xr-x root /usr/share/doc/trtllm-exporter
-rw-r--r-- root /usr/share/doc/trtllm-exporter/configuration.md
-rw-r--r-- root /usr/share/doc/trtllm-exporter/copyright
-rw-r--r-- root /usr/share/man/man1/trtllm_exporter.1.gz
-rw-r--r-- root /usr/share/zsh/site-functions/_trtllm_exporter
`, run(t, program, "-qp", "--qf", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", rpm))
	require.Equal(t, "/etc/sysconfig/trtllm_exporter\n/etc/trtllm_exporter/config.yml\n", run(t, program, "-qpc", rpm))
	require.Equal(t, "localhost", run(t, program, "-qp", "--qf", "%{BUILDHOST}", rpm))
	for tag, name := range map[string]string{"POSTIN": "postinstall", "PREUN": "preremove", "POSTUN": "postremove"} {
		script := strings.TrimSpace(string(read(t, "deploy/package/"+name+".sh")))
		require.Equal(t, script, strings.TrimSpace(run(t, program, "-qp", "--qf", "%{"+tag+"}", rpm)))
	}
}

func requireArchive(t *testing.T, archive string) {
	t.Helper()
	tree := t.TempDir()
	run(t, have(t, "tar"), "-C", tree, "--strip-components=1", "-xzf", archive)
	run(t, filepath.Join(tree, "trtllm_exporter"), "check-config", filepath.Join(tree, "config.yml"))
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "trtllm_exporter.service"} {
		require.FileExists(t, filepath.Join(tree, name))
	}
}

func TestWorkflowsAreValid(t *testing.T) {
	path := os.Getenv("ACTIONLINT")
	if path == "" {
		t.Skip("ACTIONLINT names actionlint; make check-deploy sets it")
	}
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out, err := exec.CommandContext(t.Context(), path, append([]string{"-no-color"}, files...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestScriptsPassShellcheck(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(root, "*/*/*.sh"))
	require.NoError(t, err)
	require.Greater(t, len(scripts), 4)
	for _, s := range scripts {
		text, err := os.ReadFile(s)
		require.NoError(t, err)
		shell := "sh"
		if strings.HasPrefix(string(text), "#!/usr/bin/env bash\n") {
			shell = "bash"
		}
		out, err := exec.CommandContext(t.Context(), shell, "-n", s).CombinedOutput()
		require.NoError(t, err, "%s", out)
		info, err := os.Stat(s)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s is not executable", s)
	}
}
