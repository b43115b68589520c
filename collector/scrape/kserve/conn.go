package kserve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Options configure the connection to a server.
type Options struct {
	// Address is host:port of the gRPC port.
	Address string
	// UserAgent precedes grpc-go's own.
	UserAgent string
	// Dial opens the connection; required.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS secures the connection; nil leaves it plain.
	TLS credentials.TransportCredentials
	// Metadata returns the metadata of one call, including credentials; nil for none.
	Metadata func(ctx context.Context) (metadata.MD, error)
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

// unmarshalFailed begins what grpc-go reports of a message that it cannot read
// (rpc_util.go).
const unmarshalFailed = "grpc: failed to unmarshal the received message: "

// pingAfter detects connections that died silently.
const pingAfter = time.Minute

// Conn is one connection to one server, made by the first call and again after it broke.
// Safe for concurrent use.
type Conn struct {
	options Options

	mu     sync.Mutex
	client *grpc.ClientConn
	closed bool
	// calls is how many calls are under way.
	calls int
	// attempts counts the connections, failure is why the last try to make the present
	// one failed.
	attempts int
	failure  error
	// allowance is how much more the server may send.
	allowance atomic.Int64
}

// Open prepares a connection without making it.
func Open(o Options) *Conn { return &Conn{options: o} }

// Close closes the connection for good; calls that run fail.
func (c *Conn) Close() {
	c.closeIf(func() bool {
		c.closed = true
		return true
	})
}

// CloseUnused is Close unless a call is under way; it reports whether it closed.
func (c *Conn) CloseUnused() bool {
	return c.closeIf(func() bool {
		c.closed = c.closed || c.calls == 0
		return c.calls == 0
	})
}

// CloseIdle closes the connection unless a call is under way; the next call makes
// another.
func (c *Conn) CloseIdle() { c.closeIf(func() bool { return c.calls == 0 }) }

// finish ends a call that was given the connection. A connection that did not come about
// in time is closed, so that the next call makes a new one instead of sharing its fate.
func (c *Conn) finish() {
	c.closeIf(func() bool {
		c.calls--
		return c.calls == 0 && c.client != nil && isPending(c.client.GetState())
	})
}

// closeIf closes the connection if condition, which is called under the lock, allows
// that. It returns what condition did.
func (c *Conn) closeIf(condition func() bool) bool {
	c.mu.Lock()
	allowed := condition()
	var client *grpc.ClientConn
	if allowed {
		client, c.client = c.client, nil
	}
	c.mu.Unlock()
	if client != nil {
		_ = client.Close()
	}
	return allowed
}

// Do calls the method that corresponds to method and path of Triton's HTTP API, and
// answers as that does: with its status and JSON. The deadline of ctx bounds it, limit
// bounds the answer in bytes unless it is 0. An error means that there was no answer; its
// cause is that of the connection, or one of the package's errors.
func (c *Conn) Do(ctx context.Context, method, path string, limit int64) (code int, answer []byte, err error) {
	route, name, ok := find(method, path)
	if !ok {
		return http.StatusNotFound, errorBody("this request has no gRPC method"), nil
	}
	call, err := route.call(name)
	if err != nil {
		return 0, nil, err
	}
	if err = c.invoke(ctx, call, limit); err == nil {
		return route.answer(call.reply)
	}
	if code, text, ok := refusal(err); ok {
		return code, errorBody(text), nil
	}
	return 0, nil, err
}

// invoke sends a request and reads the reply.
func (c *Conn) invoke(ctx context.Context, call invocation, limit int64) error {
	ctx, client, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer c.finish()
	if limit <= 0 {
		limit = math.MaxInt32
	}
	c.allow(limit)
	err = client.Invoke(ctx, rpcPath(call.rpc), call.request, call.reply, grpc.MaxCallRecvMsgSize(int(limit)))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return c.explain(client, call.rpc, err)
}

// begin adds the metadata of a call to its context and gives it the connection. The
// caller calls finish when the call is over.
func (c *Conn) begin(ctx context.Context) (context.Context, *grpc.ClientConn, error) {
	if c.options.Metadata != nil {
		md, err := c.options.Metadata(ctx)
		if err != nil {
			return nil, nil, err
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	client, err := c.connection()
	return ctx, client, err
}

// allow lets the server send the bytes of an answer, and what the protocol adds.
func (c *Conn) allow(bytes int64) {
	const protocol = 256 << 10
	c.allowance.Store(max(c.allowance.Load(), bytes+protocol+int64(c.options.MaxHeader)))
}

// connection returns the connection for one more call, and makes it when there is none.
func (c *Conn) connection() (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.client != nil:
		c.calls++
		return c.client, nil
	}
	secure := c.options.TLS
	if secure == nil {
		secure = insecure.NewCredentials()
	}
	c.attempts++
	a := &attempt{secure, c, c.attempts}
	// The dialer resolves the name, because it has to check the address.
	client, err := grpc.NewClient("passthrough:///"+c.options.Address,
		grpc.WithTransportCredentials(a), grpc.WithContextDialer(a.dial), grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithMaxHeaderListSize(c.options.MaxHeader), grpc.WithUserAgent(c.options.UserAgent),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter}),
	)
	if err != nil {
		return nil, fmt.Errorf("gRPC address %q: %w", c.options.Address, err)
	}
	c.client, c.failure = client, nil
	c.calls++
	return client, nil
}

// explain returns the cause of a failed call; what the server reported itself stays a
// gRPC status. A broken connection is closed, so that the next call makes a new one at
// once instead of waiting for grpc-go to retry.
func (c *Conn) explain(client *grpc.ClientConn, rpc protoreflect.Name, err error) error {
	reported := status.Convert(err)
	if why, ok := strings.CutPrefix(reported.Message(), unmarshalFailed); ok {
		return fmt.Errorf("%s: %w: %s", rpc, errReply, why)
	}
	var (
		failure error
		closed  bool
	)
	broken := isBroken(reported)
	c.closeIf(func() bool {
		failure, closed = c.failure, c.closed
		return broken && c.client == client
	})
	switch {
	case closed:
		return net.ErrClosed
	case reported.Code() == codes.DeadlineExceeded:
		// The server's clock may be a moment ahead of ours.
		return context.DeadlineExceeded
	case reported.Code() == codes.ResourceExhausted && strings.Contains(reported.Message(), "larger than max"):
		return ErrTooLarge
	case !broken:
		return err
	case failure != nil:
		return failure
	case strings.Contains(reported.Message(), "server preface"):
		return ErrNotGRPC
	}
	return fmt.Errorf("%w: %s", ErrLost, reported.Message())
}

// isBroken reports whether a call failed with its connection. The server uses the same
// code for what it refuses itself, and the state of the connection lags behind, so the
// words of grpc-go decide (internal/transport, picker_wrapper.go).
func isBroken(reported *status.Status) bool {
	if reported.Code() != codes.Unavailable {
		return false
	}
	for _, prefix := range []string{
		"connection error", "last connection error", "error reading from server", "closing transport", "transport is closing",
		"the connection is draining", "the stream is rejected because server is draining", "SubConn state is not Ready",
	} {
		if strings.HasPrefix(reported.Message(), prefix) {
			return true
		}
	}
	return false
}
