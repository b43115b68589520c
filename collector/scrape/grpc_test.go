package scrape_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// bytesCodec passes messages unchanged.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

// readyReply returns a ServerReadyResponse of a ready server.
func readyReply() []byte { return []byte{0x08, 0x01} }

// grpcServer is a server in this process that answers every call with ready, or with
// another reply, and remembers the metadata of its last call.
type grpcServer struct {
	address string

	mu    sync.Mutex
	md    metadata.MD
	reply []byte
}

func startGRPC(t *testing.T, options ...grpc.ServerOption) *grpcServer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &grpcServer{address: listener.Addr().String(), reply: readyReply()}
	options = append(
		options,
		grpc.ForceServerCodec(bytesCodec{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			s.mu.Lock()
			s.md, _ = metadata.FromIncomingContext(stream.Context())
			reply := s.reply
			s.mu.Unlock()
			return stream.SendMsg(reply)
		}),
	)
	server := grpc.NewServer(options...)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return s
}

// last returns the metadata of the last call.
func (s *grpcServer) last() metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.md
}

// answer changes the reply.
func (s *grpcServer) answer(reply []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = reply
}

// askReady requests the readiness of a server over gRPC.
func askReady(t *testing.T, cfg scrape.Config, base string) (int, error) {
	t.Helper()
	client, err := scrape.New(cfg, quiet())
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	status, _, _, err := client.Do(ctx, http.MethodGet, base+"/v2/health/ready", nil, 0)
	require.Zero(t, scrape.Used(client), "the call leaves no connection")
	return status, err
}

func TestGRPCUsesPoolCredentials(t *testing.T) {
	password := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(password, []byte("from-a-file"), 0o600))
	for _, c := range []struct {
		name     string
		cfg      func(*scrape.Config)
		key, has string
	}{
		{"a bearer token from a file", func(c *scrape.Config) {
			c.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: password}
		}, "authorization", "Bearer from-a-file"},
		{"a user and password", func(c *scrape.Config) {
			c.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: "p"}
		}, "authorization", "Basic dTpw"},
		{"the header of a restricted protocol", func(c *scrape.Config) {
			c.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{
				"Triton-Grpc-Protocol-Key": {Values: []string{"value"}},
			}}
		}, "triton-grpc-protocol-key", "value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startGRPC(t)
			cfg := scrape.DefaultConfig
			c.cfg(&cfg)
			status, err := askReady(t, cfg, "grpc://"+s.address)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, []string{c.has}, s.last().Get(c.key))
		})
	}
}

func TestRepeatedSecretOverGRPCIsHidden(t *testing.T) {
	// Z03.
	const token = "eyJhbGciOiJIUzI1NiJ9-secret"
	bearer := scrape.DefaultConfig
	bearer.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: token}
	basic := scrape.DefaultConfig
	basic.BasicAuth = &promconfig.BasicAuth{Username: "u", Password: token}
	header := scrape.DefaultConfig
	header.Headers = &promconfig.Headers{
		Headers: map[string]promconfig.Header{"Triton-Grpc-Protocol-Key": {Secrets: []promconfig.Secret{token}}},
	}
	open := scrape.DefaultConfig
	open.Headers = &promconfig.Headers{Headers: map[string]promconfig.Header{"X-Tenant": {Values: []string{token}}}}
	for _, c := range []struct {
		name string
		cfg  scrape.Config
		want string
	}{
		{"a token", bearer, "<secret>"},
		{"a password", basic, "<secret>"},
		{"a secret header", header, "<secret>"},
		{"a header that is not a secret", open, token},
		{"what was not sent", scrape.DefaultConfig, token},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startGRPC(t)
			// ServerMetadataResponse, whose first field is the name.
			s.answer(append([]byte{0x0a, byte(len(token))}, token...))
			client, err := scrape.New(c.cfg, quiet())
			require.NoError(t, err)
			t.Cleanup(client.Close)
			_, _, body, err := client.Do(t.Context(), http.MethodGet, "grpc://"+s.address+"/v2", nil, 0)
			require.NoError(t, err)
			require.Contains(t, string(body), `"name":"`+c.want+`"`)
		})
	}
}

// refuses makes a server refuse every call, repeating its metadata, after it called before.
func refuses(before func()) grpc.ServerOption {
	return grpc.StreamInterceptor(
		func(_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
			before()
			md, _ := metadata.FromIncomingContext(stream.Context())
			return grpcstatus.Error(codes.Unauthenticated, "no access for "+strings.Join(md.Get("authorization"), ""))
		},
	)
}

func TestOpenErrorOverGRPCShowsNoSecret(t *testing.T) {
	s := startGRPC(t, refuses(func() {}))
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: "hunter2hunter2"}
	})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		resp, err := client.Open(t.Context(), method, "grpc://"+s.address+map[string]string{
			http.MethodGet: "/v2/models/llm", http.MethodPost: "/v2/models/llm/generate_stream",
		}[method], []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Contains(t, string(text), "no access for <secret>")
		require.NotContains(t, string(text), "hunter2")
	}
}

func TestGRPCAnswerIsBounded(t *testing.T) {
	s := startGRPC(t)
	name := strings.Repeat("x", 100)
	s.answer(append([]byte{0x0a, byte(len(name))}, name...))
	for _, c := range []struct {
		process int64
		pool    scrape.Size
		ok      bool
	}{{0, 0, true}, {1024, 0, true}, {64, 0, false}, {0, 1024, true}, {0, 64, false}} {
		shared := scrape.Bounded(1<<20, 10)
		scrape.BoundOne(shared, c.process)
		cfg := scrape.DefaultConfig
		cfg.Limits.Body = c.pool
		client, err := shared.Client(cfg, quiet())
		require.NoError(t, err)
		t.Cleanup(client.Close)
		_, _, _, called := client.Do(t.Context(), http.MethodGet, "grpc://"+s.address+"/v2", nil, 0)
		resp, opened := client.Open(t.Context(), http.MethodGet, "grpc://"+s.address+"/v2", nil)
		for _, err := range []error{called, opened} {
			if !c.ok {
				requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over its limit")
				continue
			}
			require.NoError(t, err)
		}
		if opened == nil {
			require.NoError(t, resp.Body.Close())
		}
	}
}

func TestRepeatedSecretOverGRPCIsHiddenAfterRotation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "hunter2hunter2")
	s := startGRPC(t, refuses(func() { write(t, file, "the next one") }))
	client := newClient(t, func(c *scrape.Config) {
		c.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: file}
	})
	_, _, body, err := client.Do(t.Context(), http.MethodGet, "grpc://"+s.address+"/v2", nil, 0)
	require.NoError(t, err)
	require.Contains(t, string(body), "no access for <secret>")
	require.NotContains(t, string(body), "hunter2")
}

func TestGRPCFailureReasons(t *testing.T) {
	plain, cut := startGRPC(t), startGRPC(t)
	cut.answer(readyReply()[:1])
	nobody := fixture.FreeAddress(t, "127.0.0.1")

	denied := scrape.DefaultConfig
	denied.Dial.Deny = []string{"127.0.0.0/8"}
	missing := scrape.DefaultConfig
	missing.Authorization = &promconfig.Authorization{
		Type:            "Bearer",
		CredentialsFile: filepath.Join(t.TempDir(), "none"),
	}
	for _, c := range []struct {
		name   string
		cfg    scrape.Config
		base   string
		reason scrape.Reason
		text   string
	}{
		{"nothing listens", scrape.DefaultConfig, "grpc://" + nobody, scrape.ReasonConnect, ""},
		{"a denied address", denied, "grpc://" + plain.address, scrape.ReasonConnect, ""},
		{"TLS to a plain port", scrape.DefaultConfig, "grpcs://" + plain.address, scrape.ReasonTLS, ""},
		{"unreadable credentials", missing, "grpc://" + plain.address, scrape.ReasonResource, ""},
		{"a truncated reply", scrape.DefaultConfig, "grpc://" + cut.address, scrape.ReasonProtocol, ""},
		{"no port", scrape.DefaultConfig, "grpc://127.0.0.1", scrape.ReasonProtocol, ""},
		{
			"an HTTP server", scrape.DefaultConfig,
			strings.NewReplacer("http:", "grpc:", "/metrics", "").Replace(serve(t, nil, replies(answer("200 OK", "", ""))).url),
			scrape.ReasonProtocol, "check api_port",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := askReady(t, c.cfg, c.base)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.reason, scrape.ReasonOf(err), "%v", err)
		})
	}
	_, err := askReady(t, scrape.DefaultConfig, "grpc://"+nobody)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestGRPCDeadlineOfSilentTLSPort(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	_, _, _, err := client.Do(ctx, http.MethodGet, "grpcs://"+talks(t, "", "")+"/v2/health/ready", nil, 0)
	requireFailure(t, err, scrape.ReasonTimeout, "", "before the response headers arrived")
	require.Zero(t, scrape.Used(client))
}

func TestGRPCReadsAuthoritiesPerConnection(t *testing.T) {
	trusted := newAuthority(t)
	s := startGRPC(t, grpc.Creds(credentials.NewTLS(trusted.server(t, nil))))
	file := filepath.Join(t.TempDir(), "ca.pem")
	write(t, file, newAuthority(t).pem)
	cfg := scrape.DefaultConfig
	cfg.TLS.CAFile = file
	client, err := scrape.New(cfg, quiet())
	require.NoError(t, err)
	defer client.Close()
	ask := func() (int, error) {
		status, _, _, err := client.Do(t.Context(), http.MethodGet, "grpcs://"+s.address+"/v2/health/ready", nil, 0)
		return status, err
	}
	_, err = ask()
	requireFailure(t, err, scrape.ReasonTLS, scrape.ClassAuthority, "")
	write(t, file, trusted.pem)
	status, err := ask()
	require.NoError(t, err, "the file is read again")
	require.Equal(t, http.StatusOK, status)
}
