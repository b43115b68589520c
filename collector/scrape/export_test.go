package scrape

import (
	"context"
	"log/slog"
	"net"
	"syscall"
	"time"
)

// NewWithDial builds a client over a dialer of the test.
func NewWithDial(cfg Config, logger *slog.Logger, dialer func(control func(context.Context, string, string, syscall.RawConn) error) func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return NewResources().client(cfg, logger, func(control controlFunc) dialFunc { return dialer(control) })
}

// Bounded are resources of so many bytes for large bodies and so many
// connections.
func Bounded(bytes int64, connections int) *Resources {
	m := newMemory()
	m.bound = func() int64 { return bytes }
	parsing := newParsing()
	parsing.bound = func() int64 { return bytes / parseShare }
	return &Resources{memory: m, parsing: parsing, files: newFiles(connections), alone: func() int64 { return 0 }}
}

// BoundOne bounds one body to so many bytes.
func BoundOne(r *Resources, bytes int64) { r.alone = func() int64 { return bytes } }

// BoundedClient is a client of these resources over a dialer of the test.
func BoundedClient(r *Resources, cfg Config, logger *slog.Logger, dial func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return r.client(cfg, logger, func(controlFunc) dialFunc { return dial })
}

// Classify gives the failure of an error of the transport.
func Classify(ctx context.Context, inBody bool, err error) *Error {
	if inBody {
		return classify(ctx, stageBody, err)
	}
	return classify(ctx, stageHeaders, err)
}

// CheckContentType gives the failure of a content type, nil for none.
func CheckContentType(contentType string) *Error { return checkContentType(contentType) }

// LaneOver is a lane whose connection is there, as a descriptor that it closes.
func LaneOver(c *Client, fd int, timeout time.Duration) *Lane {
	c.resources.files.enter(nil)
	return &Lane{
		client: c, request: []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
		keep: true, most: freeBody, timeout: timeout, fd: fd, rest: shortRest,
	}
}

// Connected says whether a lane has a connection that it keeps.
func (l *Lane) Connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fd >= 0
}
