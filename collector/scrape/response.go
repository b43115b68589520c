package scrape

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxQuoted is how many bytes of a body an error message quotes, maxInspected in how many a title is
// searched.
const maxQuoted, maxInspected = 200, 2048

func checkStatus(s *scope, resp *http.Response) *Error {
	code := resp.StatusCode
	switch {
	case code == http.StatusOK:
		return nil
	case isRedirect(code):
		return redirectFailure(resp)
	}
	return failf(ReasonHTTPStatus, strconv.Itoa(code), "the server answered %d %s, body %s; %s",
		code, http.StatusText(code), quoteBody(s, resp), statusAdvice(code))
}

func statusAdvice(code int) string {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "check basic_auth, authorization or oauth2"
	case code == http.StatusProxyAuthRequired:
		return "check proxy_url and proxy_connect_header"
	case code == http.StatusNotFound:
		return "check metrics_path and port"
	case code >= http.StatusInternalServerError:
		return "check the log of the server"
	}
	return "a page has status 200; check metrics_path and port"
}

// ageOf returns how long ago a server made a response, if a cache says so: none other sends the header.
func ageOf(resp *http.Response) (age time.Duration, cached bool) {
	const bits = 31 // As in RFC 9111.
	seconds, err := strconv.ParseUint(resp.Header.Get("Age"), 10, bits)
	return time.Duration(seconds) * time.Second, err == nil
}

// titleOf matches the title of an HTML page, which says more than the markup that the page begins with.
var titleOf = regexp.MustCompile(`(?i)<title>\s*([^<]{1,100}?)\s*</title>`)

// quoteBody quotes the start of a body, or its title, without the secrets of the request.
func quoteBody(s *scope, resp *http.Response) string {
	if encodingOf(resp) != "" {
		return "(compressed)"
	}
	text := s.secrets.ReadStart(resp.Body, maxInspected)
	if title := titleOf.FindStringSubmatch(text); title != nil {
		return "titled " + strconv.Quote(title[1])
	}
	if len(text) > maxQuoted {
		return strconv.Quote(text[:maxQuoted]) + "..."
	}
	return strconv.Quote(text)
}

// checkContentType rejects media types that cannot be a text page. Everything else passes,
// since servers often get it wrong; the parser decides.
func checkContentType(contentType string) *Error {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return failf(ReasonContentType, "", "the response is HTML (%q); check metrics_path, and whether a proxy "+
			"answers with a login page", contentType)
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return failf(ReasonContentType, "", "the response is JSON (%q), not text; check metrics_path and the server's "+
			"release: the page of a trtllm-serve is /prometheus/metrics, from TensorRT-LLM 1.1 on with "+
			"return_perf_metrics: true", contentType)
	case strings.Contains(media, "protobuf"):
		return failf(ReasonContentType, "", "the response is protobuf (%q); only text is supported: have the "+
			"server honour the Accept header", contentType)
	}
	return nil
}
