package web

import (
	"net/url"
	"regexp"
)

// userinfoPattern is what is between scheme and host of a URL, which may have an @
// itself, queryPattern what is behind its path. Errors of net/http quote whole URLs.
const (
	userinfoPattern = `(://)[^/\s"?#]*@`
	queryPattern    = `(\bhttps?://[^\s"?#]+)\?[^\s"]*`
)

// scrubber takes out of a text the parts of URLs that may hold secrets.
type scrubber struct{ userinfo, query *regexp.Regexp }

func newScrubber() scrubber {
	return scrubber{regexp.MustCompile(userinfoPattern), regexp.MustCompile(queryPattern)}
}

// text is s without users, passwords and queries of URLs.
func (c scrubber) text(s string) string {
	return c.query.ReplaceAllString(c.userinfo.ReplaceAllString(s, "$1"), "$1")
}

// scrub is for one text.
func scrub(s string) string { return newScrubber().text(s) }

// address is a URL without what may hold secrets.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return scrub(raw)
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}
