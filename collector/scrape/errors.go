package scrape

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Error is the failure of one scrape. Its text never holds a secret.
type Error struct {
	// Err says what happened and what to do about it. It is never nil.
	Err error
	// Reason is one of [Reasons].
	Reason Reason
	// Class narrows the reason: one of the Class constants or the HTTP status code. Often empty.
	Class string
}

// Error returns one line: the reason, what happened and what to do about it. It may be short of its end, since
// it may quote a line of any length.
func (e *Error) Error() string {
	text := string(e.Reason)
	if e.Class != "" {
		text += " (" + e.Class + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return oneLine(text)
}

func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(target.Shortened(text))
}

// parts returns what happened, and what to do about it, empty if the error does not say.
func (e *Error) parts() (what, do string) {
	what = oneLine(e.Err.Error())
	if i := strings.LastIndex(what, "; "); i >= 0 {
		return what[:i], what[i+len("; "):]
	}
	return what, ""
}

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of a failed scrape, ReasonProtocol for other errors.
func ReasonOf(err error) Reason {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Reason
	}
	return ReasonProtocol
}

func failf(reason Reason, class, format string, args ...any) *Error {
	return &Error{Reason: reason, Class: class, Err: fmt.Errorf(format, args...)}
}

func advise(reason Reason, class string, cause error, advice string) *Error {
	return failf(reason, class, "%w; %s", cause, advice)
}

// Reason says in one word why a scrape failed. It is the value of a metric label.
type Reason string

// Reasons that this package returns.
const (
	ReasonTimeout         Reason = "timeout"           // No complete response before the deadline of the scrape.
	ReasonConnect         Reason = "connect"           // The connection was refused, unreachable or denied.
	ReasonReset           Reason = "reset"             // The connection ended before the response did.
	ReasonDNS             Reason = "dns"               // The host name does not resolve.
	ReasonTLS             Reason = "tls"               // The TLS handshake failed; Error.Class says how.
	ReasonProtocol        Reason = "protocol"          // The response is not HTTP, or the request cannot be made.
	ReasonRedirect        Reason = "redirect"          // The server redirects to an address that must not be followed.
	ReasonHTTPStatus      Reason = "http_status"       // A status other than 200; Error.Class is the code.
	ReasonBodyTooLarge    Reason = "body_too_large"    // The body exceeds a limit, compressed or not.
	ReasonHeadersTooLarge Reason = "headers_too_large" // The response headers exceed their limit.
	ReasonDecompress      Reason = "decompress"        // The body does not match its Content-Encoding.
	ReasonTruncated       Reason = "truncated"         // The body is incomplete.
	ReasonContentType     Reason = "content_type"      // The body is HTML, JSON or binary, not a page.
	ReasonEmpty           Reason = "empty"             // The page has no samples.
	// ReasonResource means that the exporter ran out of files, ports or memory, or cannot read a
	// configured file.
	ReasonResource Reason = "resource"
	ReasonMemory   Reason = "memory"   // Other targets use all memory for large bodies or pages.
	ReasonCanceled Reason = "canceled" // The exporter canceled the scrape, for example at shutdown.
)

// Reasons that later stages of a scrape return.
const (
	ReasonParse       Reason = "parse"        // The page is not a valid exposition.
	ReasonSampleLimit Reason = "sample_limit" // The page has more samples than the pool allows.
	ReasonLabelLimit  Reason = "label_limit"  // A series has more or longer labels than the pool allows.
	ReasonSelfScrape  Reason = "self_scrape"  // The page is the exporter's own.
	ReasonPanic       Reason = "panic"        // The page exposed a bug of the exporter.
)

// Reasons lists every reason once.
func Reasons() []Reason {
	return []Reason{
		ReasonTimeout, ReasonConnect, ReasonReset, ReasonDNS, ReasonTLS, ReasonProtocol,
		ReasonRedirect, ReasonHTTPStatus, ReasonBodyTooLarge, ReasonHeadersTooLarge,
		ReasonDecompress, ReasonTruncated, ReasonContentType, ReasonEmpty, ReasonParse,
		ReasonSampleLimit, ReasonLabelLimit, ReasonSelfScrape, ReasonResource, ReasonMemory, ReasonPanic,
		ReasonCanceled,
	}
}

// Unanswered reports whether the reason means that nothing answers at the address.
func (r Reason) Unanswered() bool {
	return r == ReasonConnect || r == ReasonTimeout || r == ReasonReset
}

// Unanswered reports whether nothing answers at the address.
func (e *Error) Unanswered() bool {
	return e != nil && e.Reason.Unanswered() && e.Class != ClassPage && e.Class != ClassLogin
}

// Denied reports whether no request was sent, since the exporter must not use the address or has no token for it.
func (e *Error) Denied() bool { return e != nil && (e.Class == ClassDenied || e.Class == ClassLogin) }

// ServerError reports whether the answer had a status that means a failure of the server.
func (e *Error) ServerError() bool {
	return e != nil && e.Reason == ReasonHTTPStatus && strings.HasPrefix(e.Class, "5")
}

// Withheld reports whether a server answered the scrape and withheld its page, because a credential or a
// certificate is missing, or the path, port or protocol is wrong. A status that may pass, such as 503, does not count.
func (e *Error) Withheld() bool {
	if e == nil || e.Denied() {
		return false
	}
	switch e.Reason { //nolint:exhaustive // The others do not show that a server answered, or whose fault it is.
	case ReasonHTTPStatus:
		return strings.HasPrefix(e.Class, "4")
	case ReasonTLS, ReasonProtocol, ReasonRedirect, ReasonContentType, ReasonParse,
		ReasonBodyTooLarge, ReasonHeadersTooLarge, ReasonDecompress, ReasonSampleLimit, ReasonLabelLimit:
		return true
	}
	return false
}

// Classes of ReasonTLS, ClassDenied of ReasonConnect, ClassSlow of ReasonResource, and ClassLogin of any reason.
const (
	ClassExpired    = "expired"     // The certificate is expired or not valid yet.
	ClassName       = "name"        // The certificate is for another host.
	ClassAuthority  = "authority"   // No known authority signed the certificate.
	ClassVersion    = "version"     // The two sides have no TLS version in common.
	ClassClientCert = "client_cert" // The server requires a client certificate, or refuses ours.
	ClassNotTLS     = "not_tls"     // The server does not speak TLS on this port.
	ClassWantsTLS   = "wants_tls"   // The server speaks only TLS on this port, and was asked without.
	ClassHandshake  = "handshake"   // The handshake failed in another way.
	ClassDenied     = "denied"      // The address is in dial.deny.
	ClassSlow       = "slow"        // Others waited for the connection of a server that had not answered yet.
	ClassLogin      = "login"       // A server of tokens failed, and the server itself was not asked.
	ClassPage       = "page"        // The server answers other requests.
)
