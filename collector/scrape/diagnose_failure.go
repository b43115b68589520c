package scrape

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// failureOf returns why the last scrape failed. A page that is too old has not arrived in time.
func failureOf(s *target.Status) *Error {
	if failure, ok := errors.AsType[*Error](s.LastFailure); ok {
		return failure
	}
	return &Error{Reason: Reason(s.LastReason), Err: errors.New(s.LastError)}
}

// mayBeAnotherProtocol reports whether another protocol may have caused the failure.
func (e *Error) mayBeAnotherProtocol() bool {
	switch e.Reason { //nolint:exhaustive // The other reasons show what answers.
	case ReasonProtocol, ReasonReset, ReasonTimeout, ReasonTruncated:
		return true
	case ReasonHTTPStatus:
		// TLS servers answer a plain request with 400.
		return e.Class == "400"
	}
	return false
}

func (e *Error) explain(f *Diagnosis, u *url.URL, proto protocol) {
	port := u.Port()
	if e.Class == ClassWantsTLS {
		proto = protocolTLS
	}
	switch proto {
	case protocolTLS:
		f.What = port + " speaks TLS, but the request was plain HTTP"
		f.Try = "https://" + u.Host + u.Path
		f.Do = "use " + f.Try + ", with --tls.ca-file FILE if it uses a private CA"
		return
	case protocolHTTP2:
		f.What, f.Do = port+" is a gRPC port, which serves no metrics", "name the port of the metrics"
		return
	case protocolForeign:
		f.What, f.Do = port+" answers, but speaks neither HTTP nor TLS", "name the port of the metrics"
		return
	case protocolSilent:
		f.What = port + " accepts connections but does not answer"
		f.Do = "check the server's log: it may hang, or this may be another of its ports"
		return
	case protocolUnknown, protocolHTTP:
	}
	switch {
	case e.Class == ClassLogin: // The server was not asked.
	case e.Reason == ReasonTLS:
		e.byClass(f, u)
	default:
		f.What, f.Do = e.byReason(u)
	}
	if e.Reason == ReasonHTTPStatus && (e.Class == "401" || e.Class == "403") {
		f.Flags = "--token-file FILE"
	}
	if f.What == "" {
		f.What, f.Do = e.parts()
	}
	if f.Do == "" {
		f.Do = "look at what answers: curl -s " + u.String()
	}
}

func (e *Error) byReason(u *url.URL) (problem, advice string) {
	port := u.Port()
	switch e.Reason { //nolint:exhaustive // The error text explains the others.
	case ReasonDNS:
		return fmt.Sprintf("the name %s does not resolve", u.Hostname()),
			"check its spelling, or how this machine resolves names: getent hosts " + u.Hostname()
	case ReasonConnect:
		switch {
		case strings.Contains(e.Err.Error(), "connection refused"):
			return "nothing listens on port " + port,
				"start the server, wait until its models are loaded, or name the port of its metrics"
		case !e.Denied():
			return u.Hostname() + " cannot be reached",
				"check the address, routes and network policies between here and there"
		}
	case ReasonTimeout:
		return "no answer within the timeout", "check the address and firewalls in between, or give a longer --timeout"
	case ReasonParse:
		return "the answer is not a page of metrics", "look at what answers: curl -s " + u.String()
	case ReasonEmpty:
		return "the page is empty", "check the path: some servers answer every wrong path with an empty page"
	case ReasonSelfScrape:
		return "this is the exporter's own /metrics", "use the address of the LLM server"
	case ReasonHTTPStatus:
		switch e.Class {
		case "401", "403":
			return "the server wants credentials (status " + e.Class + ")",
				"give --user and --password-file, --token-file, or --config.file with the credentials of the pool"
		case "404":
			if strings.Trim(u.Path, "/") == "" {
				return "none of the usual paths has metrics (status 404)",
					"name the port of the metrics, or turn them on at the server"
			}
			return "there is no page at " + u.RequestURI() + " (status 404)",
				"check the path, or leave it out to have it detected"
		}
	}
	return "", ""
}

func (e *Error) byClass(f *Diagnosis, u *url.URL) {
	switch e.Class {
	case ClassNotTLS:
		f.What, f.Try = u.Port()+" does not speak TLS", engine.BaseURL("http", u.Host)+u.Path
		f.Do = "use " + f.Try
	case ClassAuthority:
		f.What, f.Flags = "no known authority signed the server's certificate", "--tls.ca-file FILE"
		f.Do = "give --tls.ca-file with the authority, or tls_config.ca_file in the file"
	case ClassName:
		f.What, f.Flags = "the server's certificate is not for "+u.Hostname(), "--tls.server-name NAME"
		f.Do = "give --tls.server-name with a name of the certificate, or tls_config.server_name in the file"
	case ClassExpired:
		f.What, f.Do = "the server's certificate has expired, or is not valid yet", "renew it, or set the clocks"
	case ClassClientCert:
		f.What, f.Flags = "the server wants a certificate of its client", "--tls.cert-file FILE --tls.key-file FILE"
		f.Do = "give --tls.cert-file and --tls.key-file, or tls_config.cert_file and key_file in the file"
	}
}
