package kserve_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

const prefix = "/inference.GRPCInferenceService/"

// call is a call that a server received.
type call struct {
	rpc     string
	request []byte
	md      metadata.MD
}

// server is a gRPC server in this process that answers bytes with bytes.
type server struct {
	address string

	mu    sync.Mutex
	calls []call
}

// raw passes messages unchanged.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

// serve starts a server that answers a method with bytes or an error.
func serve(t *testing.T, answer func(ctx context.Context, rpc string, request []byte) ([]byte, error)) *server {
	t.Helper()
	return serveCalls(t, func(stream grpc.ServerStream, rpc string, request []byte) error {
		reply, err := answer(stream.Context(), rpc, request)
		if err != nil {
			return err
		}
		return stream.SendMsg(reply)
	})
}

// serveStreams starts a server that has the metadata of a model, and answers with a
// stream.
func serveStreams(t *testing.T, about []byte, answer func(stream grpc.ServerStream) error) *server {
	t.Helper()
	return serveCalls(t, func(stream grpc.ServerStream, rpc string, _ []byte) error {
		if rpc == "ModelMetadata" {
			return stream.SendMsg(about)
		}
		return answer(stream)
	})
}

// serveCalls starts a server that answers each call with a function.
func serveCalls(t *testing.T, answer func(stream grpc.ServerStream, rpc string, request []byte) error) *server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{address: listener.Addr().String()}
	grpcServer := grpc.NewServer(
		grpc.ForceServerCodec(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			method, _ := grpc.MethodFromServerStream(stream)
			md, _ := metadata.FromIncomingContext(stream.Context())
			s.mu.Lock()
			s.calls = append(s.calls, call{method, request, md})
			s.mu.Unlock()
			return answer(stream, method[len(prefix):], request)
		}),
	)
	var serving sync.WaitGroup
	serving.Go(func() { _ = grpcServer.Serve(listener) })
	t.Cleanup(func() {
		grpcServer.Stop()
		serving.Wait()
	})
	return s
}

// received returns the calls so far.
func (s *server) received() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call{}, s.calls...)
}

// calling returns a server at an address, called without credentials.
func calling(address string) *kserve.Server {
	return &kserve.Server{Address: address, Dial: (&net.Dialer{}).DialContext, MaxHeader: 64 << 10}
}

// ask sends a request with a deadline.
func ask(t *testing.T, s *kserve.Server, method, path string, limit int64) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code, body, err := s.Do(ctx, method, path, limit)
	return code, string(body), err
}

// The messages of the tests, built by hand.

func str(n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), s)
}

func num(n protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(v))
}

func msg(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), join(parts...))
}

func packed(n protowire.Number, vs ...int64) []byte {
	var body []byte
	for _, v := range vs {
		body = protowire.AppendVarint(body, uint64(v))
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), body)
}

func join(parts ...[]byte) []byte {
	out := []byte{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// same answers every method with the same bytes.
func same(reply []byte) func(context.Context, string, []byte) ([]byte, error) {
	return func(context.Context, string, []byte) ([]byte, error) { return reply, nil }
}

// fails answers every method with an error.
func fails(err error) func(context.Context, string, []byte) ([]byte, error) {
	return func(context.Context, string, []byte) ([]byte, error) { return nil, err }
}
