package scrape

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

type failedScrape struct {
	reason Reason
	class  string
	// text describes what happened, advice is what the error suggests to do.
	text, advice string
}

// failedScrapeOf parses the error of a scrape: "tls (expired): text; advice".
func failedScrapeOf(s *target.Status) failedScrape {
	c := failedScrape{reason: Reason(s.LastReason)}
	head, description, found := strings.Cut(s.LastError, ": ")
	if !found {
		description = s.LastError
	}
	if _, class, ok := strings.Cut(head, " ("); ok {
		c.class = strings.TrimSuffix(class, ")")
	}
	c.text = description
	if i := strings.LastIndex(description, "; "); i >= 0 {
		c.text, c.advice = description[:i], description[i+2:]
	}
	return c
}

// mayBeAnotherProtocol reports whether another protocol may have caused the failure.
func (c *failedScrape) mayBeAnotherProtocol() bool {
	switch c.reason { //nolint:exhaustive // The other reasons show what answers.
	case ReasonProtocol, ReasonReset, ReasonTimeout, ReasonTruncated:
		return true
	case ReasonHTTPStatus:
		// TLS servers answer a plain request with 400.
		return c.class == "400"
	}
	return false
}

func (c *failedScrape) explain(f *Diagnosis, u *url.URL, proto protocol) {
	port := u.Port()
	if c.class == ClassWantsTLS {
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
	if c.reason == ReasonTLS {
		c.byClass(f, u)
	} else {
		f.What, f.Do = c.byReason(u)
	}
	if c.reason == ReasonHTTPStatus && (c.class == "401" || c.class == "403") {
		f.Flags = "--token-file FILE"
	}
	if f.What == "" {
		f.What, f.Do = c.text, c.advice
	}
	if f.Do == "" {
		f.Do = "look at what answers: curl -s " + u.String()
	}
}

func (c *failedScrape) byReason(u *url.URL) (problem, advice string) {
	port := u.Port()
	switch c.reason { //nolint:exhaustive // The error text explains the others.
	case ReasonDNS:
		return fmt.Sprintf("the name %s does not resolve", u.Hostname()),
			"check its spelling, or how this machine resolves names: getent hosts " + u.Hostname()
	case ReasonConnect:
		switch {
		case strings.Contains(c.text, "connection refused"):
			return "nothing listens on port " + port,
				"start the server, wait until its models are loaded, or name the port of its metrics"
		case c.class != ClassDenied:
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
		switch c.class {
		case "401", "403":
			return "the server wants credentials (status " + c.class + ")",
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

func (c *failedScrape) byClass(f *Diagnosis, u *url.URL) {
	switch c.class {
	case ClassNotTLS:
		f.What, f.Try = u.Port()+" does not speak TLS", "http://"+u.Host+u.Path
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
