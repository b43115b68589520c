//go:build e2e_live

package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// process is a program that can be restarted.
type process struct {
	path string
	args []string
	cmd  *exec.Cmd
	out  fixture.Log
}

// start runs a program until the test ends. Its output is logged if the test fails.
func start(t *testing.T, path string, args ...string) *process {
	t.Helper()
	p := &process{path: path, args: args}
	p.begin(t)
	t.Cleanup(func() {
		p.end(t)
		if t.Failed() {
			t.Logf("%s:\n%s", path, &p.out)
		}
	})
	return p
}

// begin starts the program.
func (p *process) begin(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	require.NoError(t, p.cmd.Start())
}

// end stops the program and waits for it, unless it has ended already.
func (p *process) end(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	p.signal(t, syscall.SIGTERM)
	err := p.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		require.NoError(t, err)
	}
}

// signal sends a signal to the program.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// fetch returns the body at an address. Any status but 200 is an error.
func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status + ": " + string(body))
	}
	return body, err
}

// patience is how long what must happen may take on a busy machine.
const patience = 5 * time.Minute

// await waits until check finds nothing wrong.
func await(t *testing.T, limit time.Duration, check func() (wrong string)) {
	t.Helper()
	for end := time.Now().Add(limit); ; pause(t, 250*time.Millisecond) {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(end) {
			require.FailNow(t, wrong, "after %s", limit)
		}
	}
}

// within waits until a condition holds.
func within(t *testing.T, limit time.Duration, condition string, holds func() bool) {
	t.Helper()
	await(t, limit, func() string {
		if holds() {
			return ""
		}
		return "it is not so that " + condition
	})
}

// pause waits for a duration or until the test ends.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}
