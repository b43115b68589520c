package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// staticServer answers every path with a page with one counter.
func staticServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "# TYPE nv_inference_request_success counter\n"+
			"nv_inference_request_success{model=\"m\",version=\"1\"} 1\n")
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// running starts an exporter and returns it with a function that stops it.
func running(t *testing.T, load func() (*config.File, error)) (e *exporter, stop func() error) {
	t.Helper()
	return runningWith(t, promslog.NewNopLogger(), new(secret.Store), web.Options{}, load)
}

// runningWith is running with a log, a store of secrets, and options.
func runningWith(
	t *testing.T, log *slog.Logger, secrets *secret.Store, opts web.Options, load func() (*config.File, error),
) (e *exporter, stop func() error) {
	t.Helper()
	opts.ListenAddresses, opts.MaxInFlight = []string{"127.0.0.1:0"}, 40
	e, err := newExporter(t.Context(), log, secrets, opts, load)
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

// A reload whose file was read before another one must not be applied after it.
func TestLastReloadWins(t *testing.T) {
	server := staticServer(t)
	var loads atomic.Int64
	reading, goOn := make(chan struct{}), make(chan struct{})
	e, _ := running(t, func() (*config.File, error) {
		n := int(loads.Add(1))
		f, err := config.Parse("test.yml", fmt.Appendf(nil, "pools: [ { pool_id: p, static_configs: [ { targets: "+
			"[%q], labels: { replica_id: v%d } } ] } ]\n", server, n))
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

func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		defer close(release)
		time.AfterFunc(time.Hour, cancel)
		began := time.Now()
		err := bounded(ctx, func(context.Context) error {
			<-release
			return nil
		})
		require.ErrorContains(t, err, "not everything ended within 10s")
		require.Equal(t, time.Hour+10*time.Second, time.Since(began))
		require.ErrorIs(t, bounded(ctx, func(context.Context) error { return io.EOF }), io.EOF)
	})
}

// endless is a program that reports the first signal and continues.
const endless = "endless"

func workEndlessly() {
	_ = untilSignal(func(ctx context.Context) error {
		fmt.Println("working")
		<-ctx.Done()
		fmt.Println("canceled")
		select {}
	})
}

func TestSecondSignalDoesNotWait(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{endless}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	for _, want := range []string{"working", "canceled"} {
		require.True(t, lines.Scan(), "a line with %q", want)
		require.Equal(t, want, lines.Text())
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return len(ended) == 1
	}, 30*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, <-ended, "signal: terminated")
}
