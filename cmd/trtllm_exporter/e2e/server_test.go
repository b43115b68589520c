//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slots is the number of requests per iteration of a Triton, vLLM or SGLang.
const slots = 4

// server is a program that serves a model or is a part of a deployment, with its client.
type server struct {
	*process

	name string
	// whole is the test with which it ends.
	whole *testing.T
	// port is the port of its API, pagePort that of its page.
	port, pagePort int
	// program returns the command and its arguments, before those of a launch.
	program func() []string
	env     []string
	// serves reports whether it serves, for which it has a time.
	serves       func(t *testing.T) bool
	startsWithin time.Duration
	// send sends a request and reads its answer as it arrives. Of requests at the same time each
	// has its number.
	send func(ctx context.Context, number int, r request) (outcome, error)
	// open is the number of streams in some thousand that it may leave open.
	open int
	// flags holds the arguments of the last launch.
	flags []string
	begun time.Time
}

// launch starts the server without waiting for it.
func (s *server) launch(flags ...string) {
	s.flags, s.begun = flags, time.Now()
	command := append(s.program(), flags...)
	s.process = startProcess(s.whole, s.name, s.env, command[0], command[1:]...)
}

// start starts the server, also after a kill on the same ports, and waits until it serves.
func (s *server) start(t *testing.T, flags ...string) {
	t.Helper()
	s.launch(flags...)
	s.await(t)
}

func (s *server) await(t *testing.T) {
	t.Helper()
	within(t, s.startsWithin, s.name+" serves", func() bool { return s.serves(t) })
	t.Logf("%s serves after %s", s.name, time.Since(s.begun).Round(time.Second/10))
}

func (s *server) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path) }

// address returns host:port of the server's page.
func (s *server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.pagePort) }

// page returns the server's own page.
func (s *server) page(t *testing.T) page {
	t.Helper()
	status, body, err := get(t.Context(), "http://"+s.address()+"/metrics")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	return parsePage(t, body)
}

// shows waits until the server's own page has all these values.
func (s *server) shows(t *testing.T, wanted ...value) {
	t.Helper()
	await(t, patience, func() string { return s.page(t).wrong(wanted...) })
}

// status returns the status of a response of the API, 0 without one.
func (s *server) status(t *testing.T, path string) int {
	t.Helper()
	status, _, _ := get(t.Context(), s.url(path))
	return status
}

// post sends a request without a body, which must succeed.
func (s *server) post(t *testing.T, path, body string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := postJSON(ctx, s.url(path), body)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, answer)
	return answer
}

// crowd starts n requests.
func (s *server) crowd(t *testing.T, n int, r request) *crowd {
	t.Helper()
	c := startCrowd(t, n, func(ctx context.Context, number int) (outcome, error) { return s.send(ctx, number, r) })
	c.open = s.open
	return c
}

// part returns the id of a process of the server by its title.
func (s *server) part(t *testing.T, title string) (found int) {
	t.Helper()
	for pid, line := range commandLines(t) {
		if session, err := sessionOf(pid); err == nil && session == s.cmd.Process.Pid && strings.Contains(line, title) {
			require.Zero(t, found, "processes of %s with %s in their title", s.name, title)
			found = pid
		}
	}
	require.NotZero(t, found, "processes of %s with %s in their title", s.name, title)
	return found
}

// sessionOf returns the session of a process, the sixth field of its stat, counted after the
// title in brackets.
func sessionOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return strconv.Atoi(fields[3])
}

// signal sends a signal to a part of the server, or to all of its processes.
func (s *server) signal(t *testing.T, signal syscall.Signal, part string) {
	t.Helper()
	pid := -s.cmd.Process.Pid
	if part != "" {
		pid = s.part(t, part)
	}
	require.NoError(t, syscall.Kill(pid, signal), "%s to %s", signal, s.name)
}
