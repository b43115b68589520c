package kserve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

// someConfig returns a ModelConfigResponse with a field of every kind.
func someConfig() []byte {
	return msg(1,
		str(1, "tensorrt_llm"), str(17, "tensorrtllm"), num(4, 64),
		msg(3, msg(1, num(1, 1))),
		msg(5, str(1, "input_ids"), num(2, 8), packed(4, -1, 8)),
		msg(7, str(1, "tensorrt_llm_0"), num(2, 1), num(4, 2), num(3, 0), num(3, 1)),
		msg(11, packed(1, 4, 8), num(2, 1000), msg(6, num(4, 32), num(1, 1)), msg(7, num(1, 2), msg(2, num(4, 5)))),
		msg(14, str(1, "gpt_model_type"), msg(2, str(1, "inflight_fused_batching"))),
		msg(14, str(1, "unset"), msg(2)), msg(14, str(1, "valueless")),
		msg(15, msg(1, str(1, "preprocessing"), num(2, -1), msg(3, str(1, "QUERY"), str(2, "text_input")))),
		msg(19, num(1, 1)), num(99, 7), str(100, "a field of a later release"),
	)
}

const someConfigJSON = `{
	"name": "tensorrt_llm", "backend": "tensorrtllm", "max_batch_size": 64,
	"version_policy": {"latest": {"num_versions": 1}},
	"input": [{"name": "input_ids", "data_type": "TYPE_INT32", "format": "FORMAT_NONE", "dims": [-1, 8]}],
	"instance_group": [{"name": "tensorrt_llm_0", "count": 1, "kind": "KIND_CPU", "gpus": [0, 1]}],
	"dynamic_batching": {"preferred_batch_size": [4, 8], "max_queue_delay_microseconds": 1000,
		"default_queue_policy": {"max_queue_size": 32, "timeout_action": "DELAY"},
		"priority_queue_policy": {"2": {"max_queue_size": 5, "timeout_action": "REJECT"}}},
	"parameters": {"gpt_model_type": {"string_value": "inflight_fused_batching"}, "unset": {}, "valueless": {}},
	"ensemble_scheduling": {"step": [{"model_name": "preprocessing", "model_version": -1, "input_map": {"QUERY": "text_input"}}]},
	"model_transaction_policy": {"decoupled": true}
}`

func TestAnswersAreThoseOfTheHTTPAPI(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		rpc                string
		request, reply     []byte
		code               int
		json               string
	}{
		{"a live server", "GET", "/v2/health/live", "ServerLive", nil, num(1, 1), 200, ""},
		{"a server that is not live", "GET", "/v2/health/live", "ServerLive", nil, nil, 400, ""},
		{"a ready server", "GET", "/v2/health/ready", "ServerReady", nil, num(1, 1), 200, ""},
		{"a server that is not ready", "GET", "/v2/health/ready", "ServerReady", nil, num(1, 0), 400, ""},
		{"a ready model", "GET", "/v2/models/tensorrt_llm/ready", "ModelReady", str(1, "tensorrt_llm"), num(1, 1), 200, ""},
		{
			"metadata", "GET", "/v2", "ServerMetadata", nil,
			join(str(1, "triton"), str(2, "2.51.0"), str(3, "statistics"), str(3, "model_repository")),
			200, `{"name":"triton","version":"2.51.0","extensions":["statistics","model_repository"]}`,
		},
		{
			"the repository index", "POST", "/v2/repository/index", "RepositoryIndex", nil,
			join(msg(1, str(1, "a"), str(2, "1"), str(3, "READY")), msg(1, str(1, "b"), str(2, "1"), str(3, "UNAVAILABLE"), str(4, "unloaded"))),
			200, `[{"name":"a","version":"1","state":"READY"},{"name":"b","version":"1","state":"UNAVAILABLE","reason":"unloaded"}]`,
		},
		{"an empty repository", "POST", "/v2/repository/index", "RepositoryIndex", nil, nil, 200, `[]`},
		{"a model's config", "GET", "/v2/models/a%20b/config", "ModelConfig", str(1, "a b"), someConfig(), 200, someConfigJSON},
		{"no config", "GET", "/v2/models/a/config", "ModelConfig", str(1, "a"), nil, 200, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", same(join(c.reply)))
			code, body, err := ask(t, open(t, kserve.Options{Address: s.address}), c.method, c.path, 0)
			require.NoError(t, err)
			require.Equal(t, c.code, code)
			if c.json == "" {
				require.Empty(t, body)
			} else {
				require.JSONEq(t, c.json, body)
			}
			require.Len(t, s.asked(), 1)
			require.Equal(t, prefix+c.rpc, s.asked()[0].rpc)
			require.Equal(t, join(c.request), join(s.asked()[0].request))
		})
	}
}

// A server that sends frames without end that answer nothing is disconnected.
func TestAServerThatSendsWithoutEndIsCutOff(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	sent := make(chan int, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		const settings, pong = "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x08\x06\x01\x00\x00\x00\x0012345678"
		_, err = io.WriteString(conn, settings)
		pongs, n := strings.Repeat(pong, 1000), 0
		for err == nil {
			n += len(pongs)
			_, err = io.WriteString(conn, pongs)
		}
		sent <- n
	}()
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err = open(t, kserve.Options{Address: listener.Addr().String()}).Do(ctx, http.MethodGet, "/v2/health/ready", 1<<20)
	require.ErrorIs(t, err, kserve.ErrLost)
	require.Less(t, <-sent, 64<<20)
}

func TestRequestsWithoutAMethodAreNotFound(t *testing.T) {
	conn := open(t, kserve.Options{Address: "127.0.0.1:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("nobody may be asked")
	}})
	for _, path := range []string{"/", "/v1/models", "/v2/models//config", "/v2/models/a/b/config", "/v2/models/%zz/config", "/v2/models/%ff/config", "/metrics"} {
		code, body, err := ask(t, conn, http.MethodGet, path, 0)
		require.NoError(t, err, path)
		require.Equal(t, http.StatusNotFound, code, path)
		require.Contains(t, body, "no gRPC method", path)
	}
}

func TestRefusalsHaveTheStatusOfTheHTTPAPI(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{"restricted protocol", status.Error(codes.Unavailable, "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"), 403},
		{"shutting down", status.Error(codes.Unavailable, "GRPC server is shutting down and has stopped accepting new requests."), 503},
		{"unknown model", status.Error(codes.NotFound, "Request for unknown model: 'x' is not found"), 404},
		{"no such service", status.Error(codes.Unimplemented, "unknown service"), 404},
		{"bad request", status.Error(codes.InvalidArgument, "no"), 400},
		{"no credentials", status.Error(codes.Unauthenticated, "no"), 401},
		{"wrong credentials", status.Error(codes.PermissionDenied, "no"), 403},
		{"too many", status.Error(codes.ResourceExhausted, "no"), 429},
		{"broken", status.Error(codes.Internal, "no"), 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", fails(c.err))
			code, body, err := ask(t, open(t, kserve.Options{Address: s.address}), http.MethodGet, "/v2", 0)
			require.NoError(t, err)
			require.Equal(t, c.code, code)
			require.Contains(t, body, status.Convert(c.err).Message()[:2])
		})
	}
}

func TestBadRepliesAreErrors(t *testing.T) {
	for name, reply := range map[string][]byte{
		"cut":                     {0x0a, 0x7f, 'x'},
		"no tag":                  {0xff},
		"text that is no UTF-8":   str(1, "\xff\xfe"),
		"a number for text":       num(1, 4),
		"a group that never ends": {0x0b},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "127.0.0.1:0", same(reply))
			_, _, err := ask(t, open(t, kserve.Options{Address: s.address}), http.MethodGet, "/v2", 0)
			require.ErrorContains(t, err, "ServerMetadata: ")
		})
	}
	t.Run("a list cut in the middle of a number", func(t *testing.T) {
		s := serve(t, "127.0.0.1:0", same(msg(1, msg(11, []byte{0x0a, 0x01, 0xff}))))
		_, _, err := ask(t, open(t, kserve.Options{Address: s.address}), http.MethodGet, "/v2/models/a/config", 0)
		require.Error(t, err)
	})
}

func TestAnswersOverTheLimitAreRefused(t *testing.T) {
	s := serve(t, "127.0.0.1:0", same(str(1, strings.Repeat("x", 2048))))
	conn := open(t, kserve.Options{Address: s.address})
	_, _, err := ask(t, conn, http.MethodGet, "/v2", 1024)
	require.ErrorIs(t, err, kserve.ErrTooLarge)
	code, _, err := ask(t, conn, http.MethodGet, "/v2", 4096)
	require.NoError(t, err, "the connection goes on")
	require.Equal(t, http.StatusOK, code)
}

func TestTheDeadlineBoundsACall(t *testing.T) {
	s := serve(t, "127.0.0.1:0", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := open(t, kserve.Options{Address: s.address}).Do(ctx, http.MethodGet, "/v2", 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAServerThatComesBackIsAskedAtOnce(t *testing.T) {
	first := serve(t, "127.0.0.1:0", same(num(1, 1)))
	conn := open(t, kserve.Options{Address: first.address})
	code, _, err := ask(t, conn, http.MethodGet, "/v2/health/ready", 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)

	first.grpc.Stop()
	for range 3 {
		_, _, err = ask(t, conn, http.MethodGet, "/v2/health/ready", 0)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "the cause of a refused connection is kept")

	serve(t, first.address, same(num(1, 1)))
	code, _, err = ask(t, conn, http.MethodGet, "/v2/health/ready", 0)
	require.NoError(t, err, "no back-off delays it")
	require.Equal(t, http.StatusOK, code)
}

func TestAServerThatCouldNotBeReachedInTimeIsAskedAtOnceWhenItCan(t *testing.T) {
	s := serve(t, "127.0.0.1:0", same(num(1, 1)))
	var reachable atomic.Bool
	conn := open(t, kserve.Options{Address: s.address, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if reachable.Load() {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := conn.Do(ctx, http.MethodGet, "/v2/health/ready", 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	reachable.Store(true)
	begun := time.Now()
	code, _, err := ask(t, conn, http.MethodGet, "/v2/health/ready", 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.Less(t, time.Since(begun), 5*time.Second)
}

func TestOneConnectionServesManyQuestions(t *testing.T) {
	s := serve(t, "127.0.0.1:0", same(num(1, 1)))
	var mu sync.Mutex
	dials := 0
	conn := open(t, kserve.Options{Address: s.address, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		dials++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() { _, _, _ = ask(t, conn, http.MethodGet, "/v2/health/ready", 0) })
	}
	asking.Wait()
	require.Len(t, s.asked(), 20)
	require.Equal(t, 1, dials)
}

func TestAServerWithoutGRPCIsReported(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(listener) })
	t.Cleanup(func() {
		_ = web.Close()
		serving.Wait()
	})
	_, _, err = ask(t, open(t, kserve.Options{Address: listener.Addr().String()}), http.MethodGet, "/v2", 0)
	require.ErrorIs(t, err, kserve.ErrNotGRPC)
}

func TestMetadataIsSentWithEveryCall(t *testing.T) {
	s := serve(t, "127.0.0.1:0", same(num(1, 1)))
	fail := errors.New("no token")
	conn := open(t, kserve.Options{Address: s.address, UserAgent: "exporter/1", Metadata: func(context.Context) (metadata.MD, error) {
		return metadata.Pairs("triton-grpc-protocol-key", "secret"), fail
	}})
	_, _, err := ask(t, conn, http.MethodGet, "/v2", 0)
	require.ErrorIs(t, err, fail)
	fail = nil
	_, _, err = ask(t, conn, http.MethodGet, "/v2/health/live", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"secret"}, s.asked()[0].md.Get("triton-grpc-protocol-key"))
	require.Contains(t, s.asked()[0].md.Get("user-agent")[0], "exporter/1")
}

func TestAClosedConnectionAnswersNothing(t *testing.T) {
	s := serve(t, "127.0.0.1:0", same(num(1, 1)), grpc.MaxConcurrentStreams(4))
	conn := open(t, kserve.Options{Address: s.address})
	_, _, err := ask(t, conn, http.MethodGet, "/v2/health/live", 0)
	require.NoError(t, err)
	conn.Close()
	_, _, err = ask(t, conn, http.MethodGet, "/v2/health/live", 0)
	require.ErrorIs(t, err, net.ErrClosed)
}
