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

// New returns a client with its own resources.
func New(cfg Config, logger *slog.Logger) (*Client, error) { return NewResources().Client(cfg, logger) }

// NewWithDial returns a client that uses the test's dialer.
func NewWithDial(
	cfg Config, logger *slog.Logger,
	dialer func(
		control func(context.Context, string, string, syscall.RawConn) error,
	) func(context.Context, string, string) (net.Conn, error),
) (*Client, error) {
	return NewResources().client(cfg, logger, func(control controlFunc) dialFunc { return dialer(control) })
}

// Bounded returns resources with a limit of bytes for large bodies, as much again for huge
// ones, and a limit of connections.
func Bounded(body int64, connections int) *Resources { return newResources(body, 0, connections) }

func BoundOne(r *Resources, size int64) { r.maxBody = size }

// BoundedClient returns a client with these resources and the test's dialer.
func BoundedClient(
	r *Resources, cfg Config, logger *slog.Logger, dial func(context.Context, string, string) (net.Conn, error),
) (*Client, error) {
	return r.client(cfg, logger, func(controlFunc) dialFunc { return dial })
}

func Classify(ctx context.Context, inBody bool, err error) *Error {
	if inBody {
		return classify(ctx, stageBody, err)
	}
	return classify(ctx, stageHeaders, err)
}

func CheckContentType(contentType string) *Error { return checkContentType(contentType) }

func Inflated(c *Client, body []byte) ([]byte, error) {
	memory := reservation{resources: c.resources}
	defer memory.release()
	resp := &http.Response{
		Header:        http.Header{"Content-Encoding": {"gzip"}},
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(bytes.NewReader(body)),
	}
	got, failure := c.readBody(&scope{Context: context.Background()}, resp, &memory, nil, int64(c.config.Limits.Body))
	if failure != nil {
		return nil, failure
	}
	return got, nil
}

// Used returns the number of connections of all clients of the resources.
func Used(c *Client) int64 { return c.resources.Connections().Used }
