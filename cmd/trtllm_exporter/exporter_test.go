package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// staticServer answers every path with a page of one counter.
func staticServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "# TYPE nv_inference_request_success counter\nnv_inference_request_success{model=\"m\",version=\"1\"} 1\n")
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// running starts an exporter and returns it with a function that stops it.
func running(t *testing.T, load func() (*config.File, error)) (e *exporter, stop func() error) {
	t.Helper()
	e, err := newExporter(t.Context(), promslog.NewNopLogger(), web.Options{ListenAddresses: []string{"127.0.0.1:0"}, MaxInFlight: 40}, load)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- e.run(ctx, nil) }()
	ended := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = ended() })
	return e, ended
}

// page requests a path of an exporter.
func page(e *exporter, path string) (string, error) {
	body, status, err := ask(http.MethodGet, "http://"+e.server.Addr()+path, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return body, err
}

// ready waits until every target was tried.
func ready(t *testing.T, e *exporter) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := page(e, "/-/ready")
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// twoPools returns a configuration with a pool that stays, and one whose replica has another name
// in every version.
func twoPools(stays, changes string, version int) string {
	return fmt.Sprintf(`global: { scrape_interval: 1s, window: 10s }
pools:
  - pool_id: stays
    static_configs: [ { targets: [%q], labels: { replica_id: r0 } } ]
  - pool_id: changes
    static_configs: [ { targets: [%q], labels: { replica_id: v%d } } ]
`, stays, changes, version)
}

func TestReloadsUnderLoadNeverEmptyThePage(t *testing.T) {
	// P03.
	const reloads = 100
	stays, changes := staticServer(t), staticServer(t)
	var version atomic.Int64
	e, _ := running(t, func() (*config.File, error) {
		return config.Parse("test.yml", []byte(twoPools(stays, changes, int(version.Load()))))
	})
	ready(t, e)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var pages atomic.Int64
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				body, err := page(e, "/metrics")
				if err != nil || !strings.Contains(body, `nv_inference_request_success{engine=`) || !strings.Contains(body, `pool_id="stays",replica_id="r0"`) {
					t.Errorf("a reload showed on the page: %v\n%s", err, body)
					return
				}
				pages.Add(1)
			}
		})
	}
	for i := range reloads {
		version.Store(int64(i + 1))
		require.NoError(t, e.reload())
	}
	last := fmt.Sprintf(`trtllm_exporter_target_up{pool_id="changes",replica_id="v%d"} 1`, reloads)
	require.Eventually(t, func() bool {
		body, err := page(e, "/metrics")
		return err == nil && strings.Contains(body, last)
	}, 20*time.Second, 10*time.Millisecond)
	close(stop)
	readers.Wait()

	body, err := page(e, "/metrics")
	require.NoError(t, err)
	require.NotContains(t, body, fmt.Sprintf(`replica_id="v%d"`, reloads-1))
	require.Contains(t, body, fmt.Sprintf("trtllm_exporter_config_reloads_total{result=\"success\"} %d\n", reloads))
	require.Positive(t, pages.Load())
}

// A reload that read the file before another one must not be applied after it.
func TestTheReloadThatReadsLastCounts(t *testing.T) {
	server := staticServer(t)
	var loads atomic.Int64
	reading, goOn := make(chan struct{}), make(chan struct{})
	e, _ := running(t, func() (*config.File, error) {
		n := int(loads.Add(1))
		f, err := config.Parse("test.yml", []byte(twoPools(server, server, n)))
		if n == 2 {
			close(reading)
			<-goOn
		}
		return f, err
	})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- e.reload() }()
	<-reading
	go func() { second <- e.reload() }()
	select {
	case err := <-second:
		require.NoError(t, err)
		second <- nil
	case <-time.After(200 * time.Millisecond):
	}
	close(goOn)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.Contains(t, e.current.Load().String(), "replica_id: v3")
}

func TestSecondSignalDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	working := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- untilSignal(func(ctx context.Context) error {
			close(working)
			<-ctx.Done()
			require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
			<-release
			return nil
		})
	}()
	<-working

	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))

	require.ErrorIs(t, <-ended, errForced)
	close(release)
}
