package scrape

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
)

// BriefIdleTimeout is how long a connection is kept for the next question of a round.
const BriefIdleTimeout = briefIdleTimeout

// NewWithDial builds a client over a dialer of the test.
func NewWithDial(cfg Config, logger *slog.Logger, dialer func(control func(context.Context, string, string, syscall.RawConn) error) func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return NewResources().client(cfg, logger, func(control controlFunc) dialFunc { return dialer(control) })
}

// Bounded are resources of so many bytes for large bodies, as much again for huge
// ones, and so many connections.
func Bounded(body int64, connections int) *Resources { return newResources(body, 0, connections) }

// BoundOne bounds one body to so many bytes.
func BoundOne(r *Resources, most int64) { r.alone = most }

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

// Inflated is a compressed body as a page has it.
func Inflated(c *Client, body []byte) ([]byte, error) {
	room := reservation{of: c.resources}
	defer room.release()
	resp := &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	got, failure := c.readBody(context.Background(), resp, &room, nil, int64(c.limits.Body))
	if failure != nil {
		return nil, failure
	}
	return got, nil
}

// Used is how many connections to targets a client has, with those that share them.
func Used(c *Client) int64 { return c.resources.Connections().Used }
