package kserve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

func TestCallsMatchHTTPAPI(t *testing.T) {
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
		{
			"a ready model", "GET", "/v2/models/tensorrt_llm/ready", "ModelReady", str(1, "tensorrt_llm"),
			num(1, 1), 200, "",
		},
		{
			"metadata", "GET", "/v2", "ServerMetadata", nil,
			join(str(1, "triton"), str(2, "2.51.0"), str(3, "statistics"), str(3, "model_repository")),
			200, `{"name":"triton","version":"2.51.0","extensions":["statistics","model_repository"]}`,
		},
		{
			"the repository index", "POST", "/v2/repository/index", "RepositoryIndex", nil,
			join(msg(1, str(1, "a"), str(2, "1"), str(3, "READY")), msg(1, str(1, "b"), str(2, "1"), str(3, "UNAVAILABLE"), str(4, "unloaded"))),
			200,
			`[{"name":"a","version":"1","state":"READY"},{"name":"b","version":"1","state":"UNAVAILABLE","reason":"unloaded"}]`,
		},
		{"an empty repository", "POST", "/v2/repository/index", "RepositoryIndex", nil, nil, 200, `[]`},
		{
			"a model's config", "GET", "/v2/models/a%20b/config", "ModelConfig", str(1, "a b"), everyConfig(), 200,
			everyConfigJSON,
		},
		{"no config", "GET", "/v2/models/a/config", "ModelConfig", str(1, "a"), nil, 200, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, same(join(c.reply)))
			code, body, err := ask(t, calling(s.address), c.method, c.path, 0)
			require.NoError(t, err)
			require.Equal(t, c.code, code)
			if c.json == "" {
				require.Empty(t, body)
			} else {
				require.JSONEq(t, c.json, body)
			}
			require.Len(t, s.received(), 1)
			require.Equal(t, prefix+c.rpc, s.received()[0].rpc)
			require.Equal(t, join(c.request), join(s.received()[0].request))
		})
	}
}

// A server that sends frames without end that answer nothing is disconnected.
func TestEndlessResponseIsCutOff(t *testing.T) {
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
	_, _, err = calling(listener.Addr().String()).Do(ctx, http.MethodGet, "/v2/health/ready", 1<<20)
	require.ErrorIs(t, err, kserve.ErrLost)
	require.Less(t, <-sent, 64<<20)
}

func TestUnknownRequestsAreNotFound(t *testing.T) {
	s := &kserve.Server{Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no server may be called")
	}}
	for _, path := range []string{
		"/", "/v1/models", "/v2/models//config", "/v2/models/a/b/config", "/v2/models/%zz/config",
		"/v2/models/%ff/config", "/metrics",
	} {
		code, body, err := ask(t, s, http.MethodGet, path, 0)
		require.NoError(t, err, path)
		require.Equal(t, http.StatusNotFound, code, path)
		require.Contains(t, body, "no gRPC method", path)
	}
}

func TestRefusalsHaveHTTPStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{
			"restricted protocol",
			status.Error(codes.Unavailable, "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"),
			403,
		},
		{
			"shutting down",
			status.Error(codes.Unavailable, "GRPC server is shutting down and has stopped accepting new requests."),
			503,
		},
		{"unknown model", status.Error(codes.NotFound, "Request for unknown model: 'x' is not found"), 404},
		{"no such service", status.Error(codes.Unimplemented, "unknown service"), 404},
		{"bad request", status.Error(codes.InvalidArgument, "no"), 400},
		{"no credentials", status.Error(codes.Unauthenticated, "no"), 401},
		{"wrong credentials", status.Error(codes.PermissionDenied, "no"), 403},
		{"too many", status.Error(codes.ResourceExhausted, "no"), 429},
		{"broken", status.Error(codes.Internal, "no"), 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, fails(c.err))
			code, body, err := ask(t, calling(s.address), http.MethodGet, "/v2", 0)
			require.NoError(t, err)
			require.Equal(t, c.code, code)
			require.Contains(t, body, status.Convert(c.err).Message()[:2])
		})
	}
}

func TestAnswersOverLimitAreRefused(t *testing.T) {
	s := calling(serve(t, same(str(1, strings.Repeat("x", 2048)))).address)
	_, _, err := ask(t, s, http.MethodGet, "/v2", 1024)
	require.ErrorIs(t, err, kserve.ErrTooLarge)
	code, _, err := ask(t, s, http.MethodGet, "/v2", 4096)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
}

// An answer that is no message of its method is an error, also where the library panics on it.
func TestMalformedAnswersAreErrors(t *testing.T) {
	twoKeys := msg(1, msg(14, str(1, "k"), num(1, 1), msg(2, str(1, "v"))))
	for name, reply := range map[string][]byte{
		"truncated":                      {0x0a, 0x7f},
		"a map entry with two keys":      twoKeys,
		"a map entry with two odd keys":  msg(1, msg(9, str(1, "k"), num(1, 1))),
		"a priority with two other keys": msg(1, msg(11, msg(7, num(1, 1), str(1, "k")))),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ask(t, calling(serve(t, same(reply)).address), http.MethodGet, "/v2/models/m/config", 0)
			require.ErrorContains(t, err, "ModelConfig: the answer is not the message of its method")
		})
	}
}

func TestDeadlineBoundsCall(t *testing.T) {
	s := serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := calling(s.address).Do(ctx, http.MethodGet, "/v2", 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestMetadataIsSentWithEveryCall(t *testing.T) {
	server := serve(t, same(num(1, 1)))
	s := calling(server.address)
	s.UserAgent, s.Metadata = "exporter/1", metadata.Pairs("triton-grpc-protocol-key", "secret")
	_, _, err := ask(t, s, http.MethodGet, "/v2/health/live", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"secret"}, server.received()[0].md.Get("triton-grpc-protocol-key"))
	require.Contains(t, server.received()[0].md.Get("user-agent")[0], "exporter/1")
}
