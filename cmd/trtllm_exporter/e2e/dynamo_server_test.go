//go:build e2e_dynamo && linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// dynamoSlots is the number of concurrent requests of a worker of tools/dynamo.
	dynamoSlots    = 16
	dynamoInterval = time.Second
	// noticed is how long the frontend may list a lost worker, whose lease lasts ten seconds.
	noticed = patience
)

// deployment is a Dynamo whose parts are started one by one.
type deployment struct {
	frontend, worker, second *server
}

// newDeployment skips the test outside the network namespace of `make e2e-dynamo`, because
// Dynamo opens ports on every interface.
func newDeployment(t *testing.T) *deployment {
	t.Helper()
	dir := os.Getenv("DYNAMO_DIR")
	if dir == "" {
		t.Skip("DYNAMO_DIR names no installed Dynamo: run make e2e-dynamo")
	}
	state := t.TempDir()
	part := func(name string, port int) *server {
		s := &server{
			name:     name,
			whole:    t,
			port:     port,
			pagePort: port,
			program: func() []string {
				script := filepath.Join(repositoryRoot(t), "tools/dynamo/dynamo.sh")
				return []string{script, "run", dir, state, name, strconv.Itoa(port)}
			},
			startsWithin: time.Minute,
		}
		s.serves = func(t *testing.T) bool {
			t.Helper()
			require.False(t, s.ended(), "%s ended by itself", name)
			return s.status(t, "/health") != 0
		}
		s.send = completes(s, nil)
		return s
	}
	return &deployment{frontend: part("frontend", 8000), worker: part("worker", 8081), second: part("worker", 8082)}
}

// pools returns the pools of the frontend f0 and the workers w0 and w1.
func (d *deployment) pools(keys ...string) []string {
	keys = append([]string{"identity_interval: 2s"}, keys...)
	return []string{
		pool("frontends", map[string]string{"f0": d.frontend.address()}, keys...),
		pool("workers", map[string]string{"w0": d.worker.address(), "w1": d.second.address()}, keys...),
	}
}

// healthy requires that the frontend reports that it is healthy.
func (d *deployment) healthy(l *life) {
	status, body, err := get(l.t.Context(), d.frontend.url("/health"))
	require.NoError(l.t, err)
	require.Equal(l.t, http.StatusOK, status)
	require.Contains(l.t, string(body), `"status":"healthy"`)
}

// warm waits until requests succeed: the frontend notices new and lost workers with a delay.
func (d *deployment) warm(l *life) {
	within(l.t, noticed, "requests pass", func() bool {
		for range 4 {
			seen, err := d.frontend.send(l.t.Context(), 0, request{words: 3, tokens: 1})
			if err != nil || seen.failed() || len(seen.tokens) != 1 {
				return false
			}
		}
		return true
	})
}

// allCounted returns the page when the frontend has counted the requests so far, which it does when they end.
func allCounted(l *life) (p page) {
	l.t.Helper()
	await(l.t, patience, func() string {
		before := l.exporter.renewed(l.t)
		p = l.exporter.renewed(l.t)
		const requests, running = "llm_server_requests_total", "llm_server_requests_running"
		return p.wrong(before.more(0, requests, "tier", "frontend"), has(0, running, "tier", "worker"))
	})
	return p
}

// spread waits until the frontend sends requests to both workers.
func (d *deployment) spread(l *life) {
	within(l.t, noticed, "both workers get requests", func() bool {
		open := d.frontend.crowd(l.t, 4, request{words: 3, tokens: 2000}) // They run until both pages were read.
		defer open.leave()
		p := l.exporter.renewed(l.t)
		return p.sum("llm_server_requests_running", "replica_id", "w0") > 0 &&
			p.sum("llm_server_requests_running", "replica_id", "w1") > 0
	})
	running(0, "tier", "worker")(l)
}
