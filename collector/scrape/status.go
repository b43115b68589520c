package scrape

import (
	"io"
	"net/http"
	"strconv"
)

const (
	// maxQuoted is how much of an error's body its message repeats.
	maxQuoted = 200
	// maxInspected is how much of it is read, so that a secret that crosses the
	// end of the quote is seen whole.
	maxInspected = 2048
)

func statusText(code int) string { return strconv.Itoa(code) }

// checkStatus says why the status of a page's response is a failure.
func checkStatus(req *http.Request, resp *http.Response) *Error {
	code := resp.StatusCode
	if code == http.StatusOK {
		return nil
	}
	if isRedirect(code) {
		return redirected(req, resp)
	}
	return failf(ReasonHTTPStatus, statusText(code), "the server answered %d %s, body %s; %s",
		code, http.StatusText(code), quoteBody(resp), statusAdvice(code))
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
		return "look at the log of the server"
	}
	return "only 200 is a page; check metrics_path and port"
}

// quoteBody quotes the start of an error's body. What the request sent as a
// secret is blanked, because some servers repeat it.
func quoteBody(resp *http.Response) string {
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return "(compressed)"
	}
	var window [maxInspected]byte
	// The status is the failure; what can be read of the body is enough.
	n, _ := io.ReadFull(resp.Body, window[:])
	secrets := secretsSent(resp)
	text := without(secrets, string(window[:n]))
	if n == len(window) && len(secrets) > 0 {
		// The last bytes may be the start of a secret.
		text = text[:max(0, len(text)-len(secrets[0]))]
	}
	if len(text) > maxQuoted {
		return strconv.Quote(text[:maxQuoted]) + "..."
	}
	return strconv.Quote(text)
}
