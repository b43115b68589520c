package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

const plainRequest = "GET /metrics HTTP/1.1\r\nHost: exporter\r\n\r\n"

func TestSlowReadersAreClosed(t *testing.T) {
	// X02.
	synctest.Test(t, func(t *testing.T) {
		opts := oneReplica(t).options()
		l := overWire(t, opts)
		var cut sync.WaitGroup
		for range 50 {
			conn := l.connect(t, plainRequest)
			began := time.Now()
			cut.Go(func() {
				one := make([]byte, 1)
				for {
					if _, err := conn.Read(one); err != nil {
						break
					}
					time.Sleep(time.Second)
				}
				_ = conn.Close()
				if elapsed := time.Since(began); elapsed > web.WriteTimeout+2*time.Second {
					t.Errorf("a slow reader was cut after %s", elapsed)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()

		require.Contains(t, samples(t, l.page(t)), pending0)
		require.Less(t, time.Since(began), time.Second)
		cut.Wait()
		synctest.Wait()
		require.InDelta(t, 50, value(t, opts.Registry, "trtllm_exporter_http_aborted_total"), 0)
	})
}

func TestSlowReadersDoNotAffectOthers(t *testing.T) {
	// X02.
	for _, headers := range []string{"", "Accept-Encoding: gzip\r\n", "Accept-Encoding: zstd\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			opts := oneReplica(t).options()
			l := overWire(t, opts)
			request := strings.Replace(plainRequest, "\r\n\r\n", "\r\n"+headers+"\r\n", 1)
			for range 300 {
				conn := l.connect(t, request)
				t.Cleanup(func() { _ = conn.Close() })
			}
			synctest.Wait()
			require.LessOrEqual(
				t,
				value(t, opts.Registry, "trtllm_exporter_page_build_duration_seconds"),
				1.0,
				"all of them share one page",
			)
			for range 100 {
				require.Contains(t, l.page(t), "nv_inference_pending_request_count", headers)
				// A slow reader starts for each one that is served.
				conn := l.connect(t, request)
				t.Cleanup(func() { _ = conn.Close() })
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

func TestOldestSlowReadersAreClosedAboveMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(32 << 20))
	long := strings.Repeat("long ", 1<<14)
	for _, path := range []string{"/metrics", "/targets?format=json", "/replica?target=a/r0"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			slot := f.page("a", "r0", tritonPage(1)+"# HELP x "+long+"\n# TYPE x gauge\nx 1\n")
			if path != "/metrics" {
				slot.Publish(snapshot.Snapshot{Status: target.Status{Models: []target.Model{{Name: long}}}})
			}
			l := overWire(t, f.options())
			var cut [100]time.Duration
			var readers sync.WaitGroup
			for i := range cut {
				conn := l.connect(t, strings.Replace(plainRequest, "/metrics", path, 1))
				began := time.Now()
				readers.Go(func() {
					// The first byte arrives at once; the rest is read after it was closed.
					_, _ = conn.Read(make([]byte, 1))
					for {
						time.Sleep(100 * time.Millisecond)
						if _, err := conn.Read(make([]byte, 1)); err != nil {
							break
						}
					}
					cut[i] = time.Since(began)
					_ = conn.Close()
				})
				time.Sleep(time.Millisecond)
			}
			readers.Wait()
			require.Less(t, cut[0], time.Second, "the oldest")
			require.Greater(t, cut[99], 20*time.Second, "the newest has its whole time")
		})
	}
}

func TestSlowReaderMemoryFollowsMemoryLimit(t *testing.T) {
	for limit, want := range map[int64]int64{math.MaxInt64: 64 << 20, 208 << 20: 26 << 20, 16 << 20: 4 << 20} {
		before := debug.SetMemoryLimit(limit)
		got := web.SharedMemory()
		debug.SetMemoryLimit(before)
		require.Equal(t, want, got)
	}
}

// An HTTP/2 connection has several responses, so the limit of connections does not apply.
func TestOldestSlowReadersAreClosedAboveCountLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(32 << 20))
	synctest.Test(t, func(t *testing.T) {
		opts := oneReplica(t).options()
		l := overWire(t, opts)
		const readers, held = 300, 4 << 20
		atMost := func() int { return held / (16<<10 + len(l.page(t))) }
		l.page(t) // The next page has a line about this one.
		before := atMost()
		for range readers {
			conn := l.connect(t, plainRequest)
			t.Cleanup(func() { _ = conn.Close() })
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		closed := int(value(t, opts.Registry, "trtllm_exporter_http_aborted_total"))
		// The exporter's own counters make the page grow meanwhile.
		require.GreaterOrEqual(t, closed, readers-before-2)
		require.LessOrEqual(t, closed, readers-atMost()+2)
	})
}

func TestIdleReadersAreClosedAboveTheLimit(t *testing.T) {
	for _, sent := range []string{
		"",
		"GET /-/healthy HTTP/1.1\r\nHost: exporter\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nX-Half: ",
	} {
		synctest.Test(t, func(t *testing.T) {
			opts := oneReplica(t).options()
			opts.MaxConnections = 50
			l := overWire(t, opts)
			var closed atomic.Int64
			var reading sync.WaitGroup
			for range 1000 {
				conn := l.connect(t, sent)
				reading.Go(func() {
					_, _ = io.Copy(io.Discard, conn)
					closed.Add(1)
					_ = conn.Close()
				})
			}
			synctest.Wait()
			require.EqualValues(t, 950, closed.Load())
			for range 10 {
				require.Contains(t, samples(t, l.page(t)), pending0)
			}
			time.Sleep(3 * time.Minute)
			reading.Wait()
		})
	}
}

// A request that waits for its response keeps its connection, no matter how many clients connect
// meanwhile.
func TestWaitingReadersAreClosedLast(t *testing.T) {
	for _, sent := range []string{"", "GET /metrics HTTP/1.1\r\nX-Half: "} {
		synctest.Test(t, func(t *testing.T) {
			opts := oneReplica(t).options()
			opts.MaxConnections = 50
			opts.Exposition = func() exposition.Config {
				time.Sleep(2 * time.Second)
				return exposition.DefaultConfig
			}
			l := overWire(t, opts)
			var waits sync.WaitGroup
			waits.Go(func() { l.page(t) })
			time.Sleep(time.Second)
			for range 200 {
				conn := l.connect(t, sent)
				t.Cleanup(func() { _ = conn.Close() })
			}
			waits.Wait()
		})
	}
}

// A client that has just connected, or reads, keeps its connection beside any number that wait for an
// answer, or take nothing of it, and come back at once.
func TestReadersThatTakeNothingCostNoOther(t *testing.T) {
	// X02.
	for _, works := range []time.Duration{0, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			opts := oneReplica(t).options()
			opts.MaxConnections = 50
			opts.Exposition = func() exposition.Config {
				time.Sleep(works)
				return exposition.DefaultConfig
			}
			l := overWire(t, opts)
			ctx, cancel := context.WithCancel(t.Context())
			var hostile sync.WaitGroup
			for i := range 200 {
				hostile.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					for ctx.Err() == nil {
						conn, err := l.DialContext(ctx, "", "")
						if err != nil {
							return
						}
						_, _ = io.WriteString(conn, plainRequest)
						time.Sleep(100 * time.Millisecond)
						_ = conn.Close()
					}
				})
			}
			time.Sleep(time.Second)
			for range 20 {
				conn, err := l.DialContext(t.Context(), "", "")
				require.NoError(t, err)
				time.Sleep(10 * time.Millisecond) // The machine is busy.
				_, err = io.WriteString(conn, plainRequest)
				require.NoError(t, err)
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, response.StatusCode)
				_, err = io.Copy(io.Discard, response.Body)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.NoError(t, conn.Close())
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
			hostile.Wait()
		})
	}
}

func TestDisconnectsAreCountedAndLogged(t *testing.T) {
	// X03.
	synctest.Test(t, func(t *testing.T) {
		opts := oneReplica(t).options()
		var log fixture.Log
		opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		l := overWire(t, opts)
		conn := l.connect(t, plainRequest)
		_, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		require.NoError(t, err)

		require.NoError(t, conn.Close())
		synctest.Wait()

		require.InDelta(t, 1, value(t, opts.Registry, "trtllm_exporter_http_aborted_total"), 0)
		require.Equal(t, 1, strings.Count(log.String(), "level=DEBUG msg=\"Answer was cut off\""))
		require.NotRegexp(t, "level=(WARN|ERROR)", log.String())
	})
}

func TestIncompleteHeadersTimeOut(t *testing.T) {
	// X04.
	synctest.Test(t, func(t *testing.T) {
		l := overWire(t, newFleet(t).options())
		var closed sync.WaitGroup
		for range 1000 {
			conn := l.connect(t, "GET /metrics HTTP/1.1\r\nX-Half: ")
			began := time.Now()
			closed.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
				if elapsed := time.Since(began); elapsed > web.ReadHeaderTimeout+time.Second {
					t.Errorf("half a header was kept for %s", elapsed)
				}
			})
		}
		require.NotEmpty(t, l.page(t))
		closed.Wait()
	})
}

func TestConcurrentReadersAreLimited(t *testing.T) {
	// X01.
	const storm, slots, waiting = 1000, 40, 480
	synctest.Test(t, func(t *testing.T) {
		opts := oneReplica(t).options()
		var working, most, ok, refused atomic.Int64
		held := make(chan struct{})
		opts.Exposition = func() exposition.Config {
			if n := working.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-held
			working.Add(-1)
			return exposition.DefaultConfig
		}
		h := handler(t, opts)
		var readers sync.WaitGroup
		for range storm {
			readers.Go(func() {
				switch w := get(h, "/metrics", "Accept-Encoding", "gzip"); {
				case w.Code == http.StatusOK:
					ok.Add(1)
				case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "1":
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		require.InDelta(t, storm-slots-waiting, refused.Load(), slots, "at once")
		require.Equal(t, http.StatusOK, get(h, "/-/healthy").Code)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, int64(storm-slots), refused.Load(), "nobody waits for longer than three seconds")
		close(held)
		readers.Wait()

		require.Equal(t, int64(slots), most.Load())
		require.Equal(t, int64(slots), ok.Load())
		require.Equal(t, http.StatusOK, get(h, "/metrics").Code)
	})
}

func TestUnknownMethodsAreRefused(t *testing.T) {
	// X05.
	opts := newFleet(t).options()
	h := handler(t, opts)
	require.Equal(t, http.StatusMethodNotAllowed, ask(h, "FOO", "/metrics").Code)
	before, err := testutil.GatherAndCount(opts.Registry)
	require.NoError(t, err)
	for i := range 1000 {
		w := ask(h, fmt.Sprint("METHOD", i), "/metrics")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	after, err := testutil.GatherAndCount(opts.Registry)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestReadersSharePageUntilMaxAge(t *testing.T) {
	for _, maxAge := range []time.Duration{0, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := oneReplica(t)
			opts := f.options()
			opts.Exposition = pageMaxAge(maxAge)
			h := handler(t, opts)
			pending := func() float64 {
				return samples(t, decode(t, "gzip", get(h, "/metrics?target=a/r0", "Accept-Encoding", "gzip").Body))[pending0]
			}
			require.InDelta(t, 1, pending(), 0)
			f.page("a", "r0", tritonPage(2))
			if maxAge > 0 {
				time.Sleep(maxAge - time.Millisecond)
				require.InDelta(t, 1, pending(), 0)
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			require.InDelta(t, 2, pending(), 0)
			require.InDelta(t, 2, value(t, opts.Registry, "trtllm_exporter_page_build_duration_seconds"), 0)
		})
	}
}

func TestReadersNeverSeePartialChange(t *testing.T) {
	f := newFleet(t)
	f.page("a", "r0", tritonPage(0))
	h := handler(t, f.options())
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				f.page("a", "r0", tritonPage(i))
			}
		}
	})
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() {
			for range 100 {
				encoding := []string{"", "gzip", "zstd"}[n%3]
				w := get(h, "/metrics", "Accept-Encoding", encoding)
				got := samples(t, decode(t, encoding, w.Body))
				success := got[`nv_inference_request_success{model="ensemble", pool_id="a", replica_id="r0", version="1"}`]
				if int(success)%7 != int(got[pending0]) {
					t.Errorf("success %v and pending %v are of two scrapes", success, got[pending0])
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

func TestPanicFailsOneRequest(t *testing.T) {
	opts := newFleet(t).options()
	var log fixture.Log
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	sick := true
	opts.Ready = func() bool {
		if sick {
			panic("a bug")
		}
		return true
	}
	base := start(t, opts)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	fetch := func(path string) (int, error) {
		response, err := client.Get(base + path)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}

	_, err := fetch("/-/ready")
	require.Error(t, err)
	code, err := fetch("/metrics")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, strings.Count(log.String(), "a bug"))
	require.InDelta(t, 1, value(t, opts.Registry, "trtllm_exporter_http_panics_total"), 0)

	sick = false
	code, err = fetch("/-/ready")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
}

// value returns the value of a family's only series, the count of a histogram.
func value(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			m := family.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	require.Fail(t, "no family "+name)
	return 0
}
