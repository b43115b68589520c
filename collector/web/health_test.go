package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// healthClient runs a server with the gRPC health protocol, and returns its address and a client.
func healthClient(
	t *testing.T,
	opts web.Options,
	settings ...grpc.DialOption,
) (address string, client healthpb.HealthClient) {
	t.Helper()
	opts.GRPCHealthAddress = "127.0.0.1:0"
	s, err := web.New(t.Context(), opts)
	require.NoError(t, err)
	run(t, s)
	conn, err := grpc.NewClient(
		s.GRPCHealthAddr(),
		append(settings, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return s.GRPCHealthAddr(), healthpb.NewHealthClient(conn)
}

func TestCallAuthorityNamesReplica(t *testing.T) {
	f := newFleet(t)
	f.publish("llama", "r0", serving(), nil)
	f.publish("llama", "r1", failing(), nil)
	for name, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"r0": healthpb.HealthCheckResponse_SERVING, "r1": healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		_, client := healthClient(t, f.options(), grpc.WithAuthority(name))
		got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "replicas/llama/ready"})
		require.NoError(t, err)
		require.Equal(t, want, got.GetStatus(), name)
	}
}

func TestGRPCHealthMatchesProbes(t *testing.T) {
	f := newFleet(t)
	f.publish("llama 70b", "r/0", serving(), nil)
	_, client := healthClient(t, f.options())
	for _, name := range []string{
		"", "replica/ready", "replica/live", "replicas/llama%2070b/r%2F0/ready", "replicas/llama%2070b/r%2F0/live",
	} {
		got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		require.NoError(t, err, name)
		require.Equal(t, healthpb.HealthCheckResponse_SERVING, got.GetStatus(), name)
	}
	f.publish("llama 70b", "r/0", canaryFailing(), nil)
	for name, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"":              healthpb.HealthCheckResponse_NOT_SERVING,
		"replica/ready": healthpb.HealthCheckResponse_NOT_SERVING,
		"replica/live":  healthpb.HealthCheckResponse_SERVING,
	} {
		got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		require.NoError(t, err, name)
		require.Equal(t, want, got.GetStatus(), name)
	}
	for name, want := range map[string]string{
		"nobody":             "Services are named",
		"replicas/a/b/ready": `No replica is named "a/b"`,
		"replica/healthy":    "The path must end in /ready or /live",
		"healthy":            "Services are named",
	} {
		_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		require.Equal(t, codes.NotFound, status.Code(err), name)
		require.Contains(t, err.Error(), want)
	}
	f.publish("llama 70b", "r1", failing(), nil)
	got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(
		t,
		healthpb.HealthCheckResponse_SERVING,
		got.GetStatus(),
		"of several replicas, the empty name is the exporter",
	)
}

func TestIdleConnectionsDoNotBlockProbes(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.publish("a", "r0", serving(), nil)
	opts := f.options()
	opts.MaxConnections = 20
	address, client := healthClient(t, opts)
	for range 5 * opts.MaxConnections {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	got, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: "replica/ready"})
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, got.GetStatus())
}

// Calls that never send their message hold little memory: a sidecar has 40 MiB for them.
func TestUnfinishedHealthCallsHoldLittleMemory(t *testing.T) {
	const connections, allowed = 60, 60 * 40 << 20 / 480
	address, _ := healthClient(t, newFleet(t).options())
	before := memoryUsed()
	var headers bytes.Buffer
	for _, field := range []string{
		":method POST", ":scheme http", ":path /grpc.health.v1.Health/Check", ":authority x",
		"content-type application/grpc", "te trailers", "x " + strings.Repeat("x", 1500),
	} {
		name, value, _ := strings.Cut(field, " ")
		require.NoError(t, hpack.NewEncoder(&headers).WriteField(hpack.HeaderField{
			Name:      name,
			Value:     value,
			Sensitive: true,
		}))
	}
	for range connections {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		framer := http2.NewFramer(conn, conn)
		_, err = io.WriteString(conn, http2.ClientPreface)
		require.NoError(t, errors.Join(err, framer.WriteSettings()))
		for call := range uint32(16) { // The server may close the connection.
			_ = framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID:      2*call + 1,
				BlockFragment: headers.Bytes(),
				EndHeaders:    true,
			})
		}
		_ = framer.WritePing(false, [8]byte{}) // Its acknowledgement follows the headers.
		for frame := http2.Frame(nil); err == nil && (frame == nil || frame.Header().Type != http2.FramePing); {
			frame, err = framer.ReadFrame()
		}
	}
	require.Less(t, memoryUsed(), before+allowed)
}

// memoryUsed returns the memory of the heap and of stacks without garbage.
func memoryUsed() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// servedHealth returns a fleet of one replica that serves, a client of its health, and the context for calls.
func servedHealth(t *testing.T) (*fleet, healthpb.HealthClient, context.Context) {
	t.Helper()
	f := newFleet(t)
	f.publish("a", "r0", serving(), nil)
	_, client := healthClient(t, f.options())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return f, client, ctx
}

func TestWatchSendsHealthChanges(t *testing.T) {
	t.Parallel()
	f, client, ctx := servedHealth(t)
	stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{Service: "replica/ready"})
	require.NoError(t, err)
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		got, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, want, got.GetStatus())
		f.publish("a", "r0", failing(), nil)
	}
	other, err := client.Watch(ctx, &healthpb.HealthCheckRequest{Service: "replicas/a/later/ready"})
	require.NoError(t, err)
	got, err := other.Recv()
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVICE_UNKNOWN, got.GetStatus(), "a name may come to be known")
}

// A call beyond the limit of a connection waits without a word, so watches are refused before.
func TestWatchesLeaveTheConnectionToChecks(t *testing.T) {
	t.Parallel()
	_, client, ctx := servedHealth(t)
	request := &healthpb.HealthCheckRequest{Service: "replica/ready"}
	watch := func() error {
		stream, err := client.Watch(ctx, request)
		require.NoError(t, err)
		_, err = stream.Recv()
		return err
	}
	for n := range 3 {
		require.NoError(t, watch(), "watch %d", n)
	}
	err := watch()
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "a fourth watch: %v", err)
	require.ErrorContains(t, err, "use Check")
	got, err := client.Check(ctx, request)
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, got.GetStatus())
}

func TestGRPCHealthIsOffByDefault(t *testing.T) {
	f := newFleet(t)
	s, err := web.New(t.Context(), f.options())
	require.NoError(t, err)
	defer s.Close()
	require.Empty(t, s.GRPCHealthAddr())
	opts := f.options()
	opts.GRPCHealthAddress = "127.0.0.1:no"
	_, err = web.New(t.Context(), opts)
	require.ErrorContains(t, err, `cannot listen on "127.0.0.1:no"`)
	require.ErrorContains(t, err, "; see --web.grpc-health-address")
	opts = f.options()
	opts.GRPCHealthAddress = "9803"
	_, err = web.New(t.Context(), opts)
	require.ErrorContains(t, err, `cannot listen on "9803": it is not host:port; write it like 127.0.0.1:9802 or :9802`)
}

func TestProbesMayIgnoreCanary(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", canaryFailing(), nil)
	opts := f.options()
	require.Equal(t, http.StatusServiceUnavailable, get(handler(t, opts), "/-/replica/ready").Code)
	opts.IgnoreCanary, opts.Registry = true, prometheus.NewRegistry()
	h := handler(t, opts)
	require.Equal(t, http.StatusOK, get(h, "/-/replica/ready").Code)
	f.publish("a", "r0", stalled(), nil)
	require.Equal(t, http.StatusServiceUnavailable, get(h, "/-/replica/ready").Code, "other problems are not ignored")
}

func TestProbesOfUnjudgedReplicaShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.publish("a", "r0", unread(false, false), nil)
		opts := f.options()
		var asked atomic.Int64
		opts.Readiness = func(context.Context, string) (ready, known bool) {
			asked.Add(1)
			time.Sleep(time.Second / 2)
			return false, true
		}
		h := handler(t, opts)
		var probes sync.WaitGroup
		for range 500 {
			probes.Go(func() {
				if code := get(h, "/-/replica/ready").Code; code != http.StatusServiceUnavailable {
					t.Errorf("the server says that it is not ready, the probe %d", code)
				}
			})
		}
		probes.Wait()
		require.EqualValues(t, 1, asked.Load())
	})
}

func TestUnjudgedReplicaHasReadinessOfServer(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", unread(false, false), nil)
	type answer struct{ ready, known bool }
	for _, c := range []struct {
		name     string
		unjudged web.Unjudged
		server   answer
		code     int
		text     string
	}{
		{
			"ready", "",
			answer{true, true},
			http.StatusOK,
			"Not judged: its page was never read (http_status), which says little about its requests. Its server " +
				"answers that it is ready.\n",
		},
		{
			"not ready", web.UnjudgedServer,
			answer{false, true},
			http.StatusServiceUnavailable,
			"Not judged: its page was never read (http_status), which says little about its requests. Its server " +
				"answers that it is not ready.\n",
		},
		{
			"without an answer", web.UnjudgedServer,
			answer{},
			http.StatusOK,
			"Not judged: its page was never read (http_status), which says little about its requests.\n",
		},
		{
			"without a request", web.UnjudgedReady,
			answer{false, true},
			http.StatusOK,
			"Not judged: its page was never read (http_status), which says little about its requests.\n",
		},
		{
			"unready", web.UnjudgedUnready,
			answer{true, true},
			http.StatusServiceUnavailable,
			"Not judged: its page was never read (http_status), which says little about its requests.\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := f.options()
			opts.Unjudged, opts.Registry = c.unjudged, prometheus.NewRegistry()
			opts.Readiness = func(_ context.Context, key string) (ready, known bool) {
				require.Equal(t, "a/r0", key)
				return c.server.ready, c.server.known
			}
			h := handler(t, opts)
			w := get(h, "/-/replica/ready")
			require.Equal(t, c.code, w.Code)
			require.Equal(t, c.text, w.Body.String())
			require.Equal(t, http.StatusOK, get(h, "/-/replica/live").Code, "a replica that is not judged is live")
		})
	}
}
