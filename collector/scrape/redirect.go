package scrape

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxHops is how many redirects one scrape follows, maxDrained how much of a redirect's body
// is read to keep its connection.
const maxHops, maxDrained = 3, 2048

// send sends a request and follows redirects if the pool allows them, on the same
// scheme, host and port only: neither credentials nor requests ever go to another
// server. The caller closes the body of the response, and hides the secrets of the scope in a failure.
func (c *Client) send(s *scope, rt http.RoundTripper, req *http.Request) (*http.Response, *Error) {
	s.secrets = s.secrets.WithQuery(req.URL.RawQuery)
	for hop := 0; ; hop++ {
		if c.proxied {
			if err := c.guard.checkHost(req.URL.Hostname()); err != nil {
				return nil, classify(s, stageHeaders, err)
			}
		}
		watched, overhead := c.watch(req)
		resp, err := rt.RoundTrip(watched)
		if err != nil {
			return nil, classify(s, stageHeaders, err)
		}
		if of := overhead(); of != nil {
			resp.Body = &countedBody{resp.Body, of}
		}
		if !c.config.FollowRedirects || req.Method != http.MethodGet || !isRedirect(resp.StatusCode) {
			return resp, nil
		}
		next, failure := nextURL(resp)
		io.CopyN(io.Discard, resp.Body, maxDrained) //nolint:errcheck // Only the connection is at stake.
		closeBody(resp)
		if failure == nil && hop == maxHops {
			failure = failf(
				ReasonRedirect, strconv.Itoa(resp.StatusCode),
				"stopped after %d redirects, the next was to %s; set the address of the page itself", maxHops,
				bare(next),
			)
		}
		if failure != nil {
			return nil, failure
		}
		req = req.WithContext(s)
		req.URL = next
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

func nextURL(resp *http.Response) (*url.URL, *Error) {
	class, from := strconv.Itoa(resp.StatusCode), resp.Request.URL
	next, err := resp.Location()
	if err != nil {
		return nil, failf(
			ReasonRedirect, class, "the server redirects without a valid Location; set the address of the page itself",
		)
	}
	if next.Scheme != from.Scheme || !strings.EqualFold(hostPort(next), hostPort(from)) {
		return nil, failf(
			ReasonRedirect, class,
			"the server redirects to %s, and follow_redirects stays on the same scheme, host and port; set the "+
				"target to that address if it is right",
			bare(next),
		)
	}
	next.User = nil
	return next, nil
}

// hostPort returns the host and port of a URL, which has the port of its scheme by default.
func hostPort(u *url.URL) string {
	standard := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), standard[u.Scheme]))
}

// bare returns the URL without user and query, which may be secret.
func bare(u *url.URL) *url.URL { return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} }

func redirectFailure(resp *http.Response) *Error {
	destination := "elsewhere"
	if next, err := resp.Location(); err == nil {
		destination = bare(next).String()
	}
	return failf(
		ReasonRedirect, strconv.Itoa(resp.StatusCode),
		"the server redirects to %s; give credentials if it wants a login, else set the target to that address, or "+
			"follow_redirects: true for the same host",
		destination,
	)
}
