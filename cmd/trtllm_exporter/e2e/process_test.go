//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a program in its own session, whose output is a file.
type process struct {
	name   string
	cmd    *exec.Cmd
	output string
	done   chan struct{}
}

// startProcess runs a program with additional environment variables until the test ends.
func startProcess(t *testing.T, name string, extra []string, program string, args ...string) *process {
	t.Helper()
	p := &process{
		name:   name,
		cmd:    exec.Command(program, args...),
		output: filepath.Join(t.TempDir(), name+".log"),
		done:   make(chan struct{}),
	}
	file, err := os.Create(p.output)
	require.NoError(t, err)
	defer file.Close()
	p.cmd.Env = append(os.Environ(), extra...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	// It has its own session, because the stubs of Python models die with the process group
	// in which they were started. Pdeathsig handles killed tests.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start(), "start %s", name)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // A killed program ends with an error.
	}()
	t.Cleanup(func() {
		p.kill(t)
		if t.Failed() {
			t.Logf("the last output of %s, without its tables:\n%s", name, withoutTables(p.tail(60)))
		}
	})
	return p
}

// kill kills the process group and waits for it.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // It may have ended already.
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("%s did not die of SIGKILL", p.name)
	}
}

func (p *process) ended() bool { return isClosed(p.done) }

// commandLines returns the command lines of all processes on this machine by id.
func commandLines(t *testing.T) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	lines := map[int]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		require.NoError(t, err)
		lines[pid] = string(text)
	}
	return lines
}

func (p *process) tail(lines int) string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// withoutTables returns the last lines outside of Triton's tables, which say what failed.
func withoutTables(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return line == "" || line[0] == '|' || line[0] == '+'
	})
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// await calls check every 100 ms until it finds nothing wrong, and returns the time.
func await(t *testing.T, limit time.Duration, check func() (wrong string)) time.Time {
	t.Helper()
	for end := time.Now().Add(limit); ; pause(t.Context(), 100*time.Millisecond) {
		wrong := check()
		if wrong == "" {
			return time.Now()
		}
		if time.Now().After(end) {
			require.FailNow(t, wrong, "after %s", limit)
		}
	}
}

// within waits until a condition holds, and returns the time.
func within(t *testing.T, limit time.Duration, condition string, holds func() bool) time.Time {
	t.Helper()
	return await(t, limit, func() string {
		if holds() {
			return ""
		}
		return "it is not so that " + condition
	})
}

// repositoryRoot returns the folder of go.mod. Tests run in the folder of their package.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return root
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
