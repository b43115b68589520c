package scrape

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// maxOverhead is how much more than headers and bodies a server may send for a request: frames of the
// protocol, of which a server can send any number that belong to no answer and end never.
const maxOverhead = 256 << 10

// errEndless is the failure of a connection whose server sends too much that is no answer.
var errEndless = failf(ReasonProtocol, "", "the server sends frames without end that belong to no answer; check "+
	"what listens on this port")

// overhead is how much more a server may send over a connection besides the bodies of its answers. It is
// safe for concurrent use.
type overhead struct {
	// allowed counts down; it is meaningless until limited.
	allowed atomic.Int64
	limited atomic.Bool
}

// begin allows for the answer to one more request.
func (o *overhead) begin(headers int64) {
	o.allowed.Store(maxOverhead + headers)
	o.limited.Store(true)
}

// received counts what came over the connection, and returns an error if that is too much.
func (o *overhead) received(n int) error {
	if o.allowed.Add(int64(-n)) < 0 && o.limited.Load() {
		return errEndless
	}
	return nil
}

// delivered counts a part of a body. A frame may be many times as long as its part.
func (o *overhead) delivered(n int) { o.allowed.Add(16 * int64(n)) }

// watch adds a trace to a request that notes its credentials when they are sent and finds the connection it is
// sent over, and returns where to count the body of the answer.
func (c *Client) watch(req *http.Request) (watched *http.Request, of func() *overhead) {
	var found atomic.Pointer[overhead]
	trace := &httptrace.ClientTrace{WroteHeaderField: c.elsewhere.Note, GotConn: func(got httptrace.GotConnInfo) {
		if counted := countedBelow(got.Conn); counted != nil {
			counted.overhead.begin(int64(c.config.Limits.Headers))
			found.Store(&counted.overhead)
		}
	}}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), found.Load
}

// countedBelow returns the connection to the server or proxy under one with TLS.
func countedBelow(conn net.Conn) *countedConn {
	for {
		switch c := conn.(type) {
		case *countedConn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// countedBody counts a body as it is read.
type countedBody struct {
	io.ReadCloser

	of *overhead
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.of.delivered(n)
	return n, err
}
