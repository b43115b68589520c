package scrape

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/oauth2"
)

// stage is how far a scrape got: some errors mean something else while the body is read.
type stage int

const (
	stageHeaders stage = iota
	stageBody
)

// classify turns an error of the transport into a failure with a reason. The context is checked
// first: whatever breaks after the deadline is a timeout, no matter what the connection reports.
func classify(ctx context.Context, s stage, err error) *Error {
	if reclaimed := reclaimedFrom(ctx); reclaimed != nil {
		return reclaimed
	}
	if login, ok := errors.AsType[loginError](err); ok && !errors.Is(ctx.Err(), context.Canceled) {
		failure := *classify(ctx, s, login.error)
		failure.Class = ClassLogin
		return &failure
	}
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure
	}
	if failure := classifyContext(ctx, s, err); failure != nil {
		return failure
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		// The response is left out because it may repeat the client secret.
		code := strconv.Itoa(refused.Response.StatusCode)
		return failf(
			ReasonHTTPStatus, code,
			"oauth2.token_url answered %s, error %q; check client_id, client_secret and scopes", code,
			refused.ErrorCode,
		)
	}
	if strings.HasSuffix(err.Error(), "readLoopPeekFailLocked: %!w(<nil>)") {
		// This is how net/http reports data that arrives before the request is sent.
		return failf(ReasonProtocol, "", "the server sent data before the request; %s", adviceNotHTTP)
	}
	for _, c := range causes(ctx, s) {
		if c.matches(err) {
			return advise(c.reason, c.class, err, c.advice)
		}
	}
	return advise(ReasonProtocol, "", err, "check that an HTTP server listens on this port")
}

func classifyContext(ctx context.Context, s stage, err error) *Error {
	phase := "before the response headers arrived"
	if s == stageBody {
		phase = "before the body was complete"
	}
	cause := ctx.Err()
	switch {
	case errors.Is(cause, context.Canceled) || cause == nil && errors.Is(err, context.Canceled):
		return failf(ReasonCanceled, "", "the scrape was canceled %s: %w", phase, context.Canceled)
	case cause == nil && (errors.Is(err, context.DeadlineExceeded) || isTimeout(err)):
		cause = err
	case cause == nil:
		return nil
	}
	return failf(
		ReasonTimeout, "", "timed out %s: %w; raise scrape_timeout or check the load of the server", phase, cause,
	)
}

// isTimeout reports whether err is a timeout of the dialer, the resolver or the handshake.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// cause is a recognized error of the transport, with advice on how to fix it.
type cause struct {
	reason  Reason
	class   string
	matches func(err error) bool
	advice  string
}

const (
	adviceAuthority = "set tls_config.ca_file to the authority of the server"
	adviceConnect   = "check that the server runs and that port and network policy are right"
	adviceNotHTTP   = "check port and scheme: the server speaks HTTPS, or no HTTP at all"
)

// causes lists the causes in the order in which they are tried. Most errors of net/http and
// crypto/tls have no type and are recognized by their text. Texts that repeat bytes from the
// server come first, so that the server cannot choose another reason.
func causes(ctx context.Context, s stage) []cause {
	return []cause{
		{
			ReasonResource, "",
			isAny(syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL),
			"raise the limit of open files (ulimit -n), memory or local ports of the exporter",
		},
		{ReasonResource, "", hasType[*fs.PathError], "make the configured file readable"},
		{ReasonDNS, "", hasType[*net.DNSError], "check the host name of the target and the resolver of the exporter"},

		{ReasonTLS, ClassExpired, isExpired, "renew the certificate of the server, or set the clocks"},
		{ReasonTLS, ClassName, hasType[x509.HostnameError], "set tls_config.server_name to a name of the certificate"},
		{ReasonTLS, ClassAuthority, hasType[x509.UnknownAuthorityError], adviceAuthority},
		{ReasonTLS, ClassAuthority, hasType[x509.SystemRootsError], adviceAuthority},
		{ReasonTLS, ClassAuthority, hasType[x509.CertificateInvalidError], adviceAuthority},
		{ReasonTLS, ClassNotTLS, hasType[tls.RecordHeaderError], "the port does not speak TLS; set scheme: http"},
		{ReasonTLS, ClassHandshake, hasType[*tls.CertificateVerificationError], "check the certificate of the server"},

		{ReasonProtocol, "", hasText("malformed HTTP"), adviceNotHTTP},
		{
			ReasonHeadersTooLarge, "", hasText("response headers exceeded", "header list larger than"),
			"raise limits.headers if such headers are expected",
		},
		{
			ReasonReset, "", hasText("GOAWAY", "stream error", "client connection lost"),
			"the server ended the HTTP/2 connection; it may be restarting",
		},

		{
			ReasonTLS, ClassHandshake, hasText("unable to use specified"),
			"replace the file named in tls_config by a valid one",
		},
		{
			ReasonTLS, ClassVersion, func(err error) bool { return strings.Contains(alertOf(err), "protocol version") },
			"the server has no TLS 1.2 or later; update it",
		},
		{
			ReasonTLS, ClassClientCert, func(err error) bool { return wantsCertificate(ctx, err) },
			"set tls_config.cert_file and key_file to a certificate that the server trusts",
		},
		{ReasonTLS, ClassHandshake, hasText("tls: "), "check tls_config against the server"},

		{
			ReasonConnect, "",
			isAny(syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM),
			adviceConnect,
		},
		{
			ReasonTruncated, "", func(err error) bool { return s == stageBody && errors.Is(err, io.ErrUnexpectedEOF) },
			"the body ended before its Content-Length or last chunk; check the server or a proxy in between",
		},
		{
			ReasonReset, "",
			isAny(syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed),
			"the server ended the connection; it may be restarting",
		},
		{
			ReasonReset, "", hasText("server closed idle connection"),
			"the server ended the connection; it may be restarting",
		},
		{ReasonConnect, "", isDial, adviceConnect},
		{ReasonReset, "", hasType[*net.OpError], "the connection failed; the server may be restarting"},
	}
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isAny(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

func hasText(texts ...string) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
}

func isExpired(err error) bool {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && invalid.Reason == x509.Expired
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}

// alertOf returns the text of an alert of crypto/tls, which has no exported type for it.
func alertOf(err error) string {
	_, alert, _ := strings.Cut(err.Error(), "tls: ")
	return alert
}

// wantsCertificate reports whether the server ended the handshake because of the client
// certificate: most servers report nothing after they requested one.
func wantsCertificate(ctx context.Context, err error) bool {
	if !strings.Contains(err.Error(), "remote error") {
		return false
	}
	alert, s := alertOf(err), scopeOf(ctx)
	return strings.Contains(alert, "certificate") || strings.HasPrefix(alert, "access denied") ||
		alert != "" && s != nil && s.certificateRequested.Load()
}
