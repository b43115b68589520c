//go:build e2e_deb && linux

package deb

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is the longest time to wait for anything.
const patience = 2 * time.Minute

// machine is a Debian that runs until the test ends.
type machine struct{ dir string }

// setting returns a variable that `make e2e-deb` sets.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	require.NotEmpty(t, value, "%s is not set; run make e2e-deb", name)
	return value
}

// bootMachine unpacks a clean Debian and boots it.
func bootMachine(t *testing.T) *machine {
	t.Helper()
	//nolint:usetesting // A Debian may not fit into the tmpfs of TempDir.
	dir, err := os.MkdirTemp("/var/tmp", "trtllm-deb-")
	require.NoError(t, err)
	m := &machine{dir: dir}
	console, err := os.Create(filepath.Join(dir, "console"))
	require.NoError(t, err)
	cmd := exec.Command("./machine.sh", "boot", setting(t, "DEB_BASE"), dir)
	cmd.Stdout, cmd.Stderr = console, console
	// After SIGTERM the script stops the machine, even if the test is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	require.NoError(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // The console is more informative than the exit code.
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(patience):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			t.Error("the machine did not stop")
		}
		if t.Failed() {
			said, _ := os.ReadFile(console.Name())
			t.Logf("the end of the console:\n%s", said[max(0, len(said)-2000):])
		}
		_ = console.Close()
		require.NoError(t, os.RemoveAll(dir))
	})
	m.booted(t)
	return m
}

// booted waits until every unit of the boot has started.
func (m *machine) booted(t *testing.T) {
	t.Helper()
	within(t, "the machine is up", func() bool {
		said, _ := m.try("systemctl is-system-running")
		return said == "running"
	})
}

// try runs a shell command and returns its output.
func (m *machine) try(line string) (string, error) { return m.input("", line) }

// input is like try, with standard input.
func (m *machine) input(in, line string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./machine.sh", "enter", m.dir, "sh", "-c", line)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &out
	err := cmd.Run()
	return strings.TrimSpace(out.String()), err
}

// run is like try, for commands that must succeed.
func (m *machine) run(t *testing.T, line string) string {
	t.Helper()
	out, err := m.try(line)
	require.NoError(t, err, "%s\n%s", line, out)
	return out
}

// write writes a file like an editor.
func (m *machine) write(t *testing.T, path, text string) {
	t.Helper()
	out, err := m.input(text, "mkdir -p $(dirname "+path+") && cat >"+path)
	require.NoError(t, err, "%s", out)
}

// becomes waits until a command prints a text.
func (m *machine) becomes(t *testing.T, line, text string) {
	t.Helper()
	within(t, line+" prints "+text, func() bool {
		said, _ := m.try(line)
		return strings.Contains(said, text)
	})
}

// put copies a file of the host into /root.
func (m *machine) put(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	to := "/root/" + filepath.Base(path)
	m.write(t, to, string(body))
	return to
}

// within waits until a condition holds.
func within(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !check(); {
		require.True(t, time.Now().Before(end), "it does not happen: %s", what)
		time.Sleep(200 * time.Millisecond)
	}
}
