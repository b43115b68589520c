package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type process struct {
	cmd    *exec.Cmd
	output string
	done   chan struct{}
}

func startProcess(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	require.NotEmpty(t, program, "run by `make e2e-probes`")
	p := &process{
		cmd:    exec.Command(program, args...),
		output: filepath.Join(t.TempDir(), name+".log"),
		done:   make(chan struct{}),
	}
	file, err := os.Create(p.output)
	require.NoError(t, err)
	defer file.Close()
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start(), "start %s", name)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // A killed program ends with an error.
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text, _ := os.ReadFile(p.output)
			lines := strings.Split(string(text), "\n")
			t.Logf("the last output of %s:\n%s", name, strings.Join(lines[max(0, len(lines)-30):], "\n"))
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // It may have ended already.
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// within calls check every 100 ms until it is true, and returns how long that took.
func within(t *testing.T, limit time.Duration, condition string, check func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !check() {
		require.Less(t, time.Since(start), limit, condition)
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(start)
}

// during requires that check is true all the time.
func during(t *testing.T, length time.Duration, condition string, check func() bool) {
	t.Helper()
	for start := time.Now(); time.Since(start) < length; time.Sleep(200 * time.Millisecond) {
		require.True(t, check(), condition)
	}
}

// root returns a path of the checkout.
func root(path ...string) string { return filepath.Join(append([]string{"..", ".."}, path...)...) }

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(root(path...))
	require.NoError(t, err)
	return string(text)
}
