package scrape

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxHops is how many redirects one scrape follows.
	maxHops = 3
	// maxDrained is how much of a redirect's body is read to keep its connection.
	maxDrained = 2048
)

// send sends a request and follows redirects if the pool says so, on the same
// scheme, host and port only: neither credentials nor requests ever go to
// another server. The caller closes the body of the response.
func (c *Client) send(rt http.RoundTripper, req *http.Request) (*http.Response, *Error) {
	for hop := 0; ; hop++ {
		if c.proxied {
			if err := c.guard.checkHost(req.URL.Hostname()); err != nil {
				return nil, classify(req.Context(), stageHeaders, err)
			}
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return nil, conceal(req, classify(req.Context(), stageHeaders, err))
		}
		if !c.follow || req.Method != http.MethodGet || !isRedirect(resp.StatusCode) {
			return resp, nil
		}
		next, failure := follow(req.URL, resp)
		io.CopyN(io.Discard, resp.Body, maxDrained) //nolint:errcheck // Only the connection is at stake.
		closeBody(resp)
		if failure == nil && hop == maxHops {
			failure = failf(ReasonRedirect, statusText(resp.StatusCode), "stopped after %d redirects, the next was to %s; set the address of the page itself", maxHops, shown(next))
		}
		if failure != nil {
			return nil, conceal(req, failure)
		}
		again := req.WithContext(req.Context())
		again.URL = next
		req = again
	}
}

func isRedirect(code int) bool {
	switch code {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow gives the address that a redirect may be followed to.
func follow(from *url.URL, resp *http.Response) (*url.URL, *Error) {
	class := statusText(resp.StatusCode)
	next, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, failf(ReasonRedirect, class, "the server redirects without a valid Location; set the address of the page itself")
	}
	if next.Scheme != from.Scheme || !strings.EqualFold(hostPort(next), hostPort(from)) {
		return nil, failf(ReasonRedirect, class, "the server redirects to %s, and follow_redirects stays on the same scheme, host and port; set the target to that address if it is right", shown(next))
	}
	next.User = nil
	return next, nil
}

// hostPort is the host with its port, also where the scheme implies it.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Hostname() + ":" + port
}

// shown writes an address without what may be secret: user and query.
func shown(u *url.URL) string {
	safe := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := safe.String()
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// redirected is the failure of a redirect that is not followed.
func redirected(req *http.Request, resp *http.Response) *Error {
	where := "elsewhere"
	if next, err := req.URL.Parse(resp.Header.Get("Location")); err == nil && resp.Header.Get("Location") != "" {
		where = shown(next)
	}
	return failf(ReasonRedirect, statusText(resp.StatusCode), "the server redirects to %s; set the target to that address, or follow_redirects: true for the same host", where)
}
