package scrape

import (
	"context"
	"log/slog"
	"net"
	"syscall"
)

// NewWithDial builds a client over a dialer of the test.
func NewWithDial(cfg Config, logger *slog.Logger, dialer func(control func(context.Context, string, string, syscall.RawConn) error) func(context.Context, string, string) (net.Conn, error)) (*Client, error) {
	return newClient(cfg, logger, func(control controlFunc) dialFunc { return dialer(control) })
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
