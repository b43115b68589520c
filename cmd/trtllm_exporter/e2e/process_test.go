//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a program in a session of its own, whose output goes to a file.
type process struct {
	name   string
	cmd    *exec.Cmd
	output string
	done   chan struct{}
}

// startProcess runs a program until the test ends; extra are environment
// variables. The output is logged when the test fails.
func startProcess(t *testing.T, name string, extra []string, program string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(program, args...), output: filepath.Join(t.TempDir(), name+".log"), done: make(chan struct{})}
	file, err := os.Create(p.output)
	require.NoError(t, err)
	defer file.Close()
	p.cmd.Env = append(os.Environ(), extra...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	// A session of its own, because the stubs of Python models die with the
	// process group they were started in; Pdeathsig for a test that is killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start(), "start %s", name)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // How a killed program ended is no news.
	}()
	t.Cleanup(func() {
		p.kill(t)
		if t.Failed() {
			t.Logf("the last output of %s, without its tables:\n%s", name, withoutTables(p.tail(60)))
		}
	})
	return p
}

// kill ends the whole process group at once and waits for it.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // It may have ended by itself.
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		t.Errorf("%s did not die of SIGKILL", p.name)
	}
}

// ended reports whether the program is no longer there.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail returns the end of the program's output.
func (p *process) tail(lines int) string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// withoutTables returns the last fifteen lines that are no part of a table, as Triton
// draws them: they are wide, and hide what has failed.
func withoutTables(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return line == "" || line[0] == '|' || line[0] == '+'
	})
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// freePorts finds n adjacent free loopback ports below the range from which
// the kernel takes ports for outgoing connections.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 200 {
		first := 20000 + rand.IntN(12000)
		if allFree(first, n) {
			return first
		}
	}
	require.FailNow(t, "no free ports", "no %d adjacent ports are free", n)
	return 0
}

// allFree reports whether nothing listens on the n ports from first on.
func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

// pause waits, or less when the test ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// within calls check every 100 ms until it is true.
func within(t *testing.T, limit time.Duration, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !check(); {
		require.True(t, time.Now().Before(end), "%s: not within %s", what, limit)
		pause(t.Context(), 100*time.Millisecond)
	}
}

// step is one step of a life, each on top of the one before.
type step struct {
	name string
	run  func(t *testing.T)
}

// play plays steps.
func play(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		require.True(t, t.Run(s.name, s.run), "the next steps need this one")
	}
}

// repositoryRoot returns the folder of go.mod.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "go.mod is nowhere above the test")
		dir = filepath.Dir(dir)
	}
}

// crowd are equal requests under way, what is seen of each, and what went wrong.
type crowd[T any] struct {
	under sync.WaitGroup
	mu    sync.Mutex
	seen  []T
	errs  []error
	stop  context.CancelFunc
}

// startCrowd begins n requests; the test ends them.
func startCrowd[T any](t *testing.T, n int, ask func(ctx context.Context, number int) (T, error)) *crowd[T] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd[T]{stop: cancel}
	for i := range n {
		c.under.Go(func() {
			seen, err := ask(ctx, i)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.seen = append(c.seen, seen)
			if err != nil {
				c.errs = append(c.errs, err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		c.under.Wait()
	})
	return c
}

// wait waits for all of them.
func (c *crowd[T]) wait() []T {
	c.under.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}
