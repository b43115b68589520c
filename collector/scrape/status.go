package scrape

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxQuoted is how much of an error's body its message repeats.
	maxQuoted = 200
	// maxInspected is how much of it is read, so that a secret that crosses the
	// end of the quote is seen whole.
	maxInspected = 2048
	// minSecret is the shortest text that is taken for a secret.
	minSecret = 4
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
	text := string(window[:n])
	var secrets []string
	if resp.Request != nil {
		secrets = secretsOf(resp.Request)
	}
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	if n == len(window) && len(secrets) > 0 {
		// The last bytes may be the start of a secret.
		text = text[:max(0, len(text)-len(secrets[0]))]
	}
	if len(text) > maxQuoted {
		return strconv.Quote(text[:maxQuoted]) + "..."
	}
	return strconv.Quote(text)
}

// secretsOf lists what of a request must not be shown, longest first: the
// values of all headers that the configuration added.
func secretsOf(req *http.Request) []string {
	var secrets []string
	add := func(text string) {
		if len(text) >= minSecret {
			secrets = append(secrets, text)
		}
	}
	for name, values := range req.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Type", "User-Agent", HopHeader, timeoutHeader:
			continue
		}
		for _, value := range values {
			add(value)
			_, credential, _ := strings.Cut(value, " ")
			add(credential)
			if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
				add(string(plain))
				_, password, _ := strings.Cut(string(plain), ":")
				add(password)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}
