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
)

// Options say how a server is reached.
type Options struct {
	// Address is host:port of the gRPC port.
	Address string
	// Agent is the name in front of grpc-go's own in the user agent.
	Agent string
	// Dial opens the connection; required.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS secures the connection; nil leaves it plain.
	TLS credentials.TransportCredentials
	// Metadata gives the metadata of one call, credentials among it; nil for
	// none.
	Metadata func(ctx context.Context) (metadata.MD, error)
	// HeaderLimit bounds the headers of an answer in bytes.
	HeaderLimit uint32
}

// The failures that have no cause of their own from the connection.
var (
	// ErrNotGRPC: what listens there does not speak gRPC.
	ErrNotGRPC = errors.New("what answers is not gRPC")
	// ErrLost: the connection ended before the answer did.
	ErrLost = errors.New("the connection ended before the answer")
	// ErrTooLarge: the answer is over its limit.
	ErrTooLarge = errors.New("the answer is over its limit")
	// errEndless: the server sends more than it was asked for.
	errEndless = errors.New("the server sends without end")
	// errReply: the answer is not the message that the method answers with.
	errReply = errors.New("the answer is no such message")
)

// unreadable begins what grpc-go says of a message that it cannot read
// (rpc_util.go).
const unreadable = "grpc: failed to unmarshal the received message: "

// pingAfter finds connections that died silently.
const pingAfter = time.Minute

// Conn is one connection to one server, made at the first question and again
// after it broke. Safe for concurrent use.
type Conn struct {
	options Options

	mu     sync.Mutex
	client *grpc.ClientConn
	closed bool
	// calls is how many questions are under way.
	calls int
	// made counts the connections, failed is why the last attempt at the present one
	// did not succeed.
	made   int
	failed error
	// room is how much more the server may send.
	room atomic.Int64
}

// Open prepares a connection without making it.
func Open(o Options) *Conn { return &Conn{options: o} }

// Close ends the connection; questions that run fail.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.client != nil {
		_ = c.client.Close()
		c.client = nil
	}
}

// Leave is Close unless a question is under way; false then.
func (c *Conn) Leave() bool {
	c.mu.Lock()
	used := c.calls > 0
	c.closed = c.closed || !used
	c.mu.Unlock()
	if !used {
		c.Close()
	}
	return !used
}

// Rest ends the connection unless a question is under way; the next one makes
// another.
func (c *Conn) Rest() {
	c.mu.Lock()
	unused := c.client
	if c.calls > 0 {
		unused = nil
	} else {
		c.client = nil
	}
	c.mu.Unlock()
	if unused != nil {
		_ = unused.Close()
	}
}

// over says that a question that was given the connection is answered. One that did
// not come about in time is thrown away, so that the next question makes a new one
// instead of hearing what became of this.
func (c *Conn) over() {
	c.mu.Lock()
	c.calls--
	unmade := c.client
	if c.calls > 0 || unmade == nil || !failing(unmade.GetState()) {
		unmade = nil
	} else {
		c.client = nil
	}
	c.mu.Unlock()
	if unmade != nil {
		_ = unmade.Close()
	}
}

// Do asks what method and path ask Triton's HTTP API, and answers as that does:
// with its status and JSON. The deadline of ctx bounds it, limit bounds the
// answer in bytes unless it is 0. An error says that there was no answer; its
// cause is that of the connection, or one of the package's errors.
func (c *Conn) Do(ctx context.Context, method, path string, limit int64) (code int, answer []byte, err error) {
	route, name, ok := find(method, path)
	if !ok {
		return http.StatusNotFound, problem("this question has no gRPC method"), nil
	}
	asked, err := route.call(name)
	if err != nil {
		return 0, nil, err
	}
	if err = c.invoke(ctx, asked, limit); err == nil {
		return route.answer(asked.reply)
	}
	if code, text, refused := refusal(err); refused {
		return code, problem(text), nil
	}
	return 0, nil, err
}

// invoke sends a request and reads the reply. A connection that is broken
// afterwards is thrown away, so that the next question makes a new one at once
// instead of waiting for grpc-go to try again.
func (c *Conn) invoke(ctx context.Context, asked call, limit int64) error {
	if c.options.Metadata != nil {
		md, err := c.options.Metadata(ctx)
		if err != nil {
			return err
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	client, err := c.connection()
	if err != nil {
		return err
	}
	defer c.over()
	if limit <= 0 {
		limit = math.MaxInt32
	}
	c.expect(limit)
	err = client.Invoke(ctx, "/"+service+"/"+string(asked.rpc), asked.request, asked.reply, grpc.MaxCallRecvMsgSize(int(limit)))
	why, unread := strings.CutPrefix(status.Convert(err).Message(), unreadable)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case unread:
		return fmt.Errorf("%s: %w: %s", asked.rpc, errReply, why)
	}
	return c.explain(client, err)
}

// expect lets the server send so much for a question, besides what the protocol takes.
func (c *Conn) expect(bytes int64) {
	const protocol = 256 << 10
	c.room.Store(max(c.room.Load(), bytes+protocol+int64(c.options.HeaderLimit)))
}

// connection is the connection, made when there is none, for one question, which
// says when it is over.
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
	c.made++
	at := &attempt{c, c.made}
	// The name is resolved by the dialer, which looks at the address then.
	client, err := grpc.NewClient("passthrough:///"+c.options.Address,
		grpc.WithTransportCredentials(&watched{secure, at}),
		grpc.WithContextDialer(at.dial), grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithMaxHeaderListSize(c.options.HeaderLimit), grpc.WithUserAgent(c.options.Agent),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter}),
	)
	if err != nil {
		return nil, fmt.Errorf("gRPC address %q: %w", c.options.Address, err)
	}
	c.client, c.failed = client, nil
	c.calls++
	return client, nil
}

// explain gives the cause of a failed call. What the server said itself stays
// a gRPC status.
func (c *Conn) explain(client *grpc.ClientConn, err error) error {
	said := status.Convert(err)
	c.mu.Lock()
	failed, closed := c.failed, c.closed
	lost := broken(said)
	if lost && c.client == client {
		c.client = nil
	}
	c.mu.Unlock()
	if lost {
		_ = client.Close()
	}
	switch {
	case closed:
		return net.ErrClosed
	case said.Code() == codes.DeadlineExceeded:
		// The server's clock may be a moment ahead of ours.
		return context.DeadlineExceeded
	case said.Code() == codes.ResourceExhausted && strings.Contains(said.Message(), "larger than max"):
		return ErrTooLarge
	case !lost:
		return err
	case failed != nil:
		return failed
	case strings.Contains(said.Message(), "server preface"):
		return ErrNotGRPC
	}
	return fmt.Errorf("%w: %s", ErrLost, said.Message())
}

// broken reports whether a call failed with its connection. The server has the
// same code for what it refuses itself, and the state of the connection lags
// behind, so the words of grpc-go decide (internal/transport, picker_wrapper.go).
func broken(said *status.Status) bool {
	if said.Code() != codes.Unavailable {
		return false
	}
	for _, begin := range []string{
		"connection error", "last connection error", "error reading from server", "closing transport", "transport is closing",
		"the connection is draining", "the stream is rejected because server is draining", "SubConn state is not Ready",
	} {
		if strings.HasPrefix(said.Message(), begin) {
			return true
		}
	}
	return false
}
