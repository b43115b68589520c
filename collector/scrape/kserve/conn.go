package kserve

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// conn is the connection of a call. It limits what the server may send: endless frames that
// belong to no answer would keep a CPU busy.
type conn struct {
	net.Conn

	server *Server
	client *grpc.ClientConn
	// allowance is how much more the server may send.
	allowance atomic.Int64
}

// connect opens a connection. It does not leave that to grpc-go, which has a deadline of its
// own and passes on only the text of an error.
func (s *Server) connect(ctx context.Context) (*conn, error) {
	raw, err := s.Dial(ctx, "tcp", s.Address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, server: s}
	c.allow(0)
	opened, secured := net.Conn(c), insecure.NewCredentials()
	if s.TLS != nil {
		if opened, _, err = credentials.NewTLS(s.TLS).ClientHandshake(ctx, s.Address, c); err != nil {
			_ = c.Close()
			return nil, err
		}
		secured = overTLS{secured}
	}
	dials := make(chan net.Conn, 1)
	dials <- opened
	close(dials)
	c.client, err = grpc.NewClient(
		"passthrough:///"+s.Address,
		grpc.WithTransportCredentials(secured),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec())),
		grpc.WithMaxHeaderListSize(s.MaxHeader),
		grpc.WithUserAgent(s.UserAgent),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if opened, ok := <-dials; ok {
				return opened, nil
			}
			return nil, ErrLost
		}),
	)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("gRPC address %q: %w", s.Address, err)
	}
	return c, nil
}

// overTLS tells grpc-go that the connection it gets uses TLS already.
type overTLS struct {
	credentials.TransportCredentials
}

func (overTLS) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (o overTLS) Clone() credentials.TransportCredentials { return o }

func (c *conn) close() {
	_ = c.client.Close()
	_ = c.Close()
}

// allow lets the server send an answer of that many bytes, and the overhead of the protocol.
func (c *conn) allow(bytes int64) {
	const protocol = 256 << 10
	c.allowance.Store(max(c.allowance.Load(), bytes+protocol+int64(c.server.MaxHeader)))
}

func (c *conn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.allowance.Add(int64(-n)) < 0 && err == nil {
		return n, errEndless
	}
	return n, err
}

// unmarshalFailed begins the error of grpc-go about a message that it cannot read (rpc_util.go).
const unmarshalFailed = "grpc: failed to unmarshal the received message: "

// explain returns the cause of a failed call, a gRPC status if the server reported it.
func explain(ctx context.Context, rpc protoreflect.Name, err error) error {
	reported := status.Convert(err)
	switch cause, unread := strings.CutPrefix(reported.Message(), unmarshalFailed); {
	case ctx.Err() != nil:
		return ctx.Err()
	case unread:
		return fmt.Errorf("%s: %w: %s", rpc, errReply, cause)
	case reported.Code() == codes.DeadlineExceeded:
		// The server's clock may be a moment ahead of ours.
		return context.DeadlineExceeded
	case reported.Code() == codes.ResourceExhausted && strings.Contains(reported.Message(), "larger than max"):
		return ErrTooLarge
	case !isBroken(reported):
		return err
	case strings.Contains(reported.Message(), "server preface"):
		return ErrNotGRPC
	}
	return fmt.Errorf("%w: %s", ErrLost, reported.Message())
}

// isBroken reports whether a call failed because its connection did. Servers use the same code
// when they refuse a call, so the texts of grpc-go decide (internal/transport, picker_wrapper.go).
func isBroken(reported *status.Status) bool {
	prefixes := []string{
		"connection error",
		"last connection error", "error reading from server", "closing transport", "transport is closing",
		"the connection is draining", "the stream is rejected because server is draining", "SubConn state is not Ready",
	}
	return reported.Code() == codes.Unavailable &&
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(reported.Message(), prefix) })
}
