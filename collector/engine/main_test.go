package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a server with fixed responses by path, and 404 elsewhere.
type answers map[string]string

// The answers that are not a text.
const (
	hangs      = "hangs"
	refuses    = "refuses"
	restricted = "restricted"
	notReady   = "not ready"
	// denies is how Triton answers that it is not ready, or not live.
	denies = "denies"
)

// Do implements engine.Client.
func (a answers) Do(ctx context.Context, _, address string, _ []byte, limit int64) (int, http.Header, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, nil, err
	}
	text, ok := a[u.EscapedPath()]
	if !ok {
		text, ok = a["*"]
	}
	switch {
	case !ok:
		return http.StatusNotFound, http.Header{}, []byte(`{"error":"Not Found"}`), nil
	case text == hangs:
		<-ctx.Done()
		return 0, nil, nil, ctx.Err()
	case text == refuses:
		return 0, nil, nil, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	case text == notReady:
		return http.StatusServiceUnavailable, http.Header{}, nil, nil
	case text == denies:
		return http.StatusBadRequest, http.Header{}, nil, nil
	case text == restricted:
		return http.StatusForbidden, http.Header{}, []byte(
			`{"error":"This API is restricted, expecting header 'admin-key'"}`,
		), nil
	case int64(len(text)) > limit:
		return http.StatusOK, http.Header{}, nil, errors.New("the body is over the limit")
	}
	// An empty answer has no body, as with the client of package scrape.
	return http.StatusOK, http.Header{}, append([]byte(nil), text...), nil
}

// network is a client of real servers.
type network struct{ *http.Client }

// newNetwork returns a client whose connections are closed at the end.
func newNetwork(t *testing.T) network {
	t.Helper()
	n := network{&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}}
	t.Cleanup(n.CloseIdleConnections)
	return n
}

// Do implements engine.Client.
func (n network) Do(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := n.Client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	return resp.StatusCode, resp.Header, text, err
}

// engineOf returns the engine of a kind, or of Unknown.
func engineOf(t *testing.T, kind engine.Name) *engine.Kind {
	t.Helper()
	if kind == engine.Unknown {
		return engine.None()
	}
	e, ok := engine.ByName(string(kind))
	require.True(t, ok, "%s is a kind", kind)
	return e
}

// named returns loaded models whose configs are not known.
func named(names ...string) (all []engine.ModelFacts) {
	for _, name := range names {
		all = append(all, engine.ModelFacts{Name: name, State: engine.ModelReady})
	}
	return all
}

// readPage reads a page as the collector does.
func readPage(t *testing.T, kind engine.Name, body []byte) *engine.Page {
	t.Helper()
	e := engineOf(t, kind)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	block, err := cache.Parse(bytes.Clone(body), "", nil)
	require.NoError(t, err)
	return engine.ReadPage(e, block)
}

// replica returns a simulated server after a while of work.
func replica(t *testing.T, spec simulate.Spec, worked time.Duration) *simulate.Replica {
	t.Helper()
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	r.Advance(worked)
	return r
}

// listening opens the ports of a simulated server until the test ends.
func listening(t *testing.T, r *simulate.Replica) *simulate.Replica {
	t.Helper()
	require.NoError(t, r.Listen(t.Context()))
	t.Cleanup(r.Close)
	return r
}

// samples lists sample pages that are not part of the project, by pattern.
func samples(t *testing.T, pattern string) []string {
	t.Helper()
	folder := os.Getenv("TRTLLM_EXPORTER_SHARED")
	if folder == "" {
		dir, err := os.Getwd()
		require.NoError(t, err)
		for ; folder == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if info, err := os.Stat(filepath.Join(dir, "shared", "samples")); err == nil && info.IsDir() {
				folder = filepath.Join(dir, "shared")
			}
		}
	}
	if folder == "" {
		t.Skip("the folder of shared samples is not there: set TRTLLM_EXPORTER_SHARED")
	}
	files, err := filepath.Glob(filepath.Join(folder, "samples", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// sampleName returns the name of a sample without folder and extension.
func sampleName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".prom") }

// recorder is a client that records its requests.
type recorder struct {
	engine.Client

	mu     sync.Mutex
	paths  []string
	limits []int64
	// bodies are by method and path.
	bodies map[string]string
}

// Do implements engine.Client.
func (r *recorder) Do(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	if u, err := url.Parse(address); err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paths, r.limits = append(r.paths, u.Path), append(r.limits, limit)
		if r.bodies == nil {
			r.bodies = make(map[string]string)
		}
		r.bodies[method+" "+u.Path] = string(body)
	}
	return r.Client.Do(ctx, method, address, body, limit)
}
