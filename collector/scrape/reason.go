package scrape

// Reason is one word for why a scrape failed; the list is closed, so that it
// can be the value of a metric label.
type Reason string

// The reasons that this package finds itself.
const (
	// ReasonTimeout: no whole answer before the deadline of the scrape.
	ReasonTimeout Reason = "timeout"
	// ReasonConnect: the connection was refused, unreachable or denied.
	ReasonConnect Reason = "connect"
	// ReasonReset: the connection ended before the answer did.
	ReasonReset Reason = "reset"
	// ReasonDNS: the name of the host does not resolve.
	ReasonDNS Reason = "dns"
	// ReasonTLS: the TLS handshake failed; Error.Class says how.
	ReasonTLS Reason = "tls"
	// ReasonProtocol: the answer is not HTTP, or the request cannot be made.
	ReasonProtocol Reason = "protocol"
	// ReasonRedirect: the server redirects to where the scrape must not follow.
	ReasonRedirect Reason = "redirect"
	// ReasonHTTPStatus: a status other than 200; Error.Class is the code.
	ReasonHTTPStatus Reason = "http_status"
	// ReasonBodyTooLarge: the body is over a limit, before or after gzip.
	ReasonBodyTooLarge Reason = "body_too_large"
	// ReasonHeadersTooLarge: the response headers are over their limit.
	ReasonHeadersTooLarge Reason = "headers_too_large"
	// ReasonDecompress: the body is not what its Content-Encoding says.
	ReasonDecompress Reason = "decompress"
	// ReasonTruncated: the body ended before its end.
	ReasonTruncated Reason = "truncated"
	// ReasonContentType: the body is HTML, JSON or binary, not a page.
	ReasonContentType Reason = "content_type"
	// ReasonEmpty: the page has no samples.
	ReasonEmpty Reason = "empty"
	// ReasonResource: the exporter has no file descriptor, port or memory left,
	// or cannot read a file that the configuration names.
	ReasonResource Reason = "resource"
	// ReasonMemory: the bodies of other targets have all memory that large bodies
	// may have.
	ReasonMemory Reason = "memory"
	// ReasonCanceled: the exporter gave the scrape up, as at shutdown.
	ReasonCanceled Reason = "canceled"
)

// The reasons that later stages of a scrape find.
const (
	// ReasonParse: the page is not a valid exposition.
	ReasonParse Reason = "parse"
	// ReasonSampleLimit: the page has more samples than the pool allows.
	ReasonSampleLimit Reason = "sample_limit"
	// ReasonLabelLimit: a series has more or longer labels than the pool allows.
	ReasonLabelLimit Reason = "label_limit"
	// ReasonSelfScrape: the page is the exporter's own.
	ReasonSelfScrape Reason = "self_scrape"
	// ReasonSecret: the page repeats credentials of the request.
	ReasonSecret Reason = "secret"
	// ReasonPanic: the exporter has a bug that this page found.
	ReasonPanic Reason = "panic"
)

// Reasons lists every reason once, so that a counter can start at 0 for each.
func Reasons() []Reason {
	return []Reason{
		ReasonTimeout, ReasonConnect, ReasonReset, ReasonDNS, ReasonTLS, ReasonProtocol,
		ReasonRedirect, ReasonHTTPStatus, ReasonBodyTooLarge, ReasonHeadersTooLarge,
		ReasonDecompress, ReasonTruncated, ReasonContentType, ReasonEmpty, ReasonParse,
		ReasonSampleLimit, ReasonLabelLimit, ReasonSelfScrape, ReasonResource, ReasonMemory, ReasonSecret, ReasonPanic,
		ReasonCanceled,
	}
}

// Unanswered reports whether the reason shows that nobody answers at the address. All
// others are of an answer that is no page, or are the exporter's own.
func (r Reason) Unanswered() bool {
	return r == ReasonConnect || r == ReasonTimeout || r == ReasonReset
}

// The classes of ReasonTLS, and ClassDenied of ReasonConnect.
const (
	// ClassExpired: the certificate is expired or not valid yet.
	ClassExpired = "expired"
	// ClassName: the certificate is for another host.
	ClassName = "name"
	// ClassAuthority: no known authority signed the certificate.
	ClassAuthority = "authority"
	// ClassVersion: the two sides have no TLS version in common.
	ClassVersion = "version"
	// ClassClientCert: the server refuses our certificate or wants one.
	ClassClientCert = "client_cert"
	// ClassNotTLS: the server does not speak TLS on this port.
	ClassNotTLS = "not_tls"
	// ClassHandshake: the handshake failed in another way.
	ClassHandshake = "handshake"
	// ClassDenied: the address is in dial.deny.
	ClassDenied = "denied"
)
