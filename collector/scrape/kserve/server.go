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

// Server is a server and how it is called. Each call opens a connection of its own and
// closes it, as requests over HTTP to an API with its own port do. Safe for concurrent use.
type Server struct {
	// Address is host:port of the gRPC port.
	Address   string
	UserAgent string
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS secures the connections; nil leaves them plain.
	TLS *tls.Config
	// Metadata is sent with each call, and includes credentials.
	Metadata metadata.MD
	// MaxHeader limits the headers of an answer in bytes.
	MaxHeader uint32
}

// Failures without a cause of their own from the connection.
var (
	ErrNotGRPC  = errors.New("the server does not speak gRPC")
	ErrLost     = errors.New("the connection ended before the answer")
	ErrTooLarge = errors.New("the answer is over its limit")

	errEndless = errors.New("the server sends without end")
	errReply   = errors.New("the answer is not the message of its method")
)

// Do calls the method that corresponds to method and path of Triton's HTTP API, and
// answers as that does: with its status and JSON. The deadline of ctx bounds it, limit
// bounds the answer in bytes unless it is 0. An error means that there was no answer; its
// cause is that of the connection, or one of the package's errors.
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

// do calls the method of a route, about a model if one is named.
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
