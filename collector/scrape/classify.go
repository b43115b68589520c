package scrape

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"golang.org/x/oauth2"
)

// stage says how far a scrape came, because the same error of the connection
// means another thing before and inside the body.
type stage int

const (
	stageHeaders stage = iota
	stageBody
)

// classify turns an error of the transport into a failure with a reason. The
// scrape's own deadline is looked at first: what breaks because of it is a
// timeout, whatever the connection says. Errors of net/http have no types, so
// some are known by their text (net/http/transport.go, response.go).
func classify(ctx context.Context, at stage, err error) *Error {
	if taken := takenFrom(ctx); taken != nil {
		return taken
	}
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure
	}
	if ended := classifyContext(ctx, at, err); ended != nil {
		return ended
	}
	for _, known := range []func(context.Context, stage, error) *Error{
		classifyResource, classifyDNS, classifyCertificate, classifyToken, classifyHTTP, classifyAlert, classifyConnection,
	} {
		if failure := known(ctx, at, err); failure != nil {
			return failure
		}
	}
	return advise(ReasonProtocol, "", err, "check that an HTTP server answers on this port")
}

func classifyContext(ctx context.Context, at stage, err error) *Error {
	where := "before the response headers were there"
	if at == stageBody {
		where = "before the body was there"
	}
	cause := ctx.Err()
	switch {
	case errors.Is(cause, context.Canceled) || cause == nil && errors.Is(err, context.Canceled):
		return failf(ReasonCanceled, "", "the scrape was given up %s: %w", where, context.Canceled)
	case cause != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		if cause == nil {
			cause = err
		}
		return timedOut(where, cause)
	}
	return nil
}

func timedOut(where string, cause error) *Error {
	return failf(ReasonTimeout, "", "the deadline came %s: %w; raise scrape_timeout or look at the server's load", where, cause)
}

// isTimeout is true for deadlines of the dialer, the resolver and the handshake.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func classifyResource(_ context.Context, _ stage, err error) *Error {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL,
	} {
		if errors.Is(err, errno) {
			return advise(ReasonResource, "", err, "raise the limit of open files (ulimit -n), memory or local ports of the exporter")
		}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return advise(ReasonResource, "", err, "make the file that the configuration names readable")
	}
	return nil
}

func classifyDNS(_ context.Context, _ stage, err error) *Error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return advise(ReasonDNS, "", err, "check the host name of the target and the resolver of the exporter")
	}
	return nil
}

// classifyToken knows the refusals of an OAuth2 token endpoint; its answer is
// left out, as it may repeat the client secret.
func classifyToken(_ context.Context, _ stage, err error) *Error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return nil
	}
	code := statusText(refused.Response.StatusCode)
	return failf(ReasonHTTPStatus, code, "oauth2.token_url answered %s, error %.60q; check client_id, client_secret and scopes", code, refused.ErrorCode)
}

// classifyHTTP looks for what repeats bytes of the server first, so that the
// server cannot choose another reason.
func classifyHTTP(_ context.Context, _ stage, err error) *Error {
	text := err.Error()
	switch {
	case strings.HasSuffix(text, "readLoopPeekFailLocked: %!w(<nil>)"):
		// This is how net/http says that the bytes came before the request.
		return failf(ReasonProtocol, "", "the server sent data before the request; check port and scheme: what answers is not HTTP, or is HTTPS")
	case strings.Contains(text, "malformed HTTP"):
		return advise(ReasonProtocol, "", err, "check port and scheme: what answers is not HTTP, or is HTTPS")
	case strings.Contains(text, "response headers exceeded"),
		strings.Contains(text, "header list larger than"):
		return advise(ReasonHeadersTooLarge, "", err, "raise limits.headers if they are meant")
	case strings.Contains(text, "GOAWAY"), strings.Contains(text, "stream error"),
		strings.Contains(text, "client connection lost"):
		return advise(ReasonReset, "", err, "the server ended the HTTP/2 connection; it may be restarting")
	}
	return nil
}

func classifyConnection(_ context.Context, at stage, err error) *Error {
	for _, errno := range []syscall.Errno{
		syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, errno) {
			return advise(ReasonConnect, "", err, "check that the server runs and that port and network policy are right")
		}
	}
	if at == stageBody && errors.Is(err, io.ErrUnexpectedEOF) {
		return advise(ReasonTruncated, "", err, "the body ended before its Content-Length or last chunk; look at the server or a proxy in between")
	}
	if isReset(err) {
		return advise(ReasonReset, "", err, "the server ended the connection; it may be restarting")
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect") {
		return advise(ReasonConnect, "", err, "check that the server runs and that port and network policy are right")
	}
	if errors.As(err, &op) {
		return advise(ReasonReset, "", err, "the connection failed; the server may be restarting")
	}
	return nil
}

func isReset(err error) bool {
	for _, cause := range []error{
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return strings.Contains(err.Error(), "server closed idle connection")
}
