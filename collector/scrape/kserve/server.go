package kserve

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Server calls one server. Each call opens and closes its own connection, like HTTP requests
// to an API with a port of its own. It is safe for concurrent use.
type Server struct {
	// Address is the host:port of the gRPC API.
	Address   string
	UserAgent string
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS configures the connections; nil disables TLS.
	TLS *tls.Config
	// Metadata is sent with each call, including the credentials.
	Metadata metadata.MD
	// MaxHeader limits the size of the response headers in bytes.
	MaxHeader uint32
}

// Errors that do not come from the connection itself.
var (
	ErrNotGRPC  = errors.New("the server does not speak gRPC")
	ErrLost     = errors.New("the connection ended before the answer")
	ErrTooLarge = errors.New("the answer is over its limit")

	errEndless = errors.New("the server sends without end")
	errReply   = errors.New("the answer is not the message of its method")
)

// Do calls the gRPC method that corresponds to method and path of Triton's HTTP API, and
// returns the status and JSON of that API. The answer may have up to limit bytes, or any
// number if limit is 0. An error means that there was no answer: it wraps an error of the
// connection or one of this package.
func (s *Server) Do(ctx context.Context, method, path string, limit int64) (code int, answer []byte, err error) {
	r, model, ok := find(method, path)
	if !ok {
		return http.StatusNotFound, errorBody(noMethod), nil
	}
	c, err := s.connect(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.close()
	if limit <= 0 {
		limit = math.MaxInt32
	}
	return c.do(metadata.NewOutgoingContext(ctx, s.Metadata), r, model, limit)
}

// do calls the gRPC method of a route, with the name of a model if there is one.
func (c *conn) do(ctx context.Context, r route, model string, limit int64) (code int, answer []byte, err error) {
	m := method(r.rpc)
	request, reply := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if model != "" {
		request.Set(m.Input().Fields().ByName("name"), protoreflect.ValueOfString(model))
	}
	c.allow(limit)
	if err = c.client.Invoke(ctx, rpcPath(r.rpc), request, reply, grpc.MaxCallRecvMsgSize(int(limit))); err == nil {
		return r.answer(reply)
	}
	err = explain(ctx, r.rpc, err)
	if code, text, ok := refusal(err); ok {
		return code, errorBody(text), nil
	}
	return 0, nil, err
}
