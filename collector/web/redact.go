package web

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// urlUser is what is between scheme and host of a URL, which may have an @ itself,
// urlQuery what is behind its path. Errors of net/http quote whole URLs.
var (
	urlUser  = regexp.MustCompile(`(://)[^/\s"?#]*@`)
	urlQuery = regexp.MustCompile(`(\bhttps?://[^\s"?#]+)\?[^\s"]*`)
)

// scrub returns a text without users, passwords and queries of URLs.
func scrub(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urlQuery.ReplaceAllString(urlUser.ReplaceAllString(s, "$1"), "$1")
}

// address is a URL without what may hold secrets.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return scrub(raw)
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// scrubbed returns a copy of a status without secrets, which a server's own words or an
// address in them might hold, and with times in milliseconds.
func scrubbed(s target.Status) target.Status {
	s.Health = cmp.Or(s.Health, target.HealthUnknown)
	s.StateReason, s.LastError = scrub(s.StateReason), scrub(s.LastError)
	s.LastScrape, s.LastSuccess, s.StateSince = moment(s.LastScrape), moment(s.LastSuccess), moment(s.StateSince)
	s.LeftOut = mapped(s.LeftOut, scrub)
	s.Checks = mapped(s.Checks, func(l target.CheckList) target.CheckList {
		l.Checks = mapped(l.Checks, func(c target.Check) target.Check {
			c.Reason = scrub(c.Reason)
			return c
		})
		return l
	})
	if s.Canary != nil {
		c := *s.Canary
		c.Reason, c.CancelReason, c.At = scrub(c.Reason), scrub(c.CancelReason), moment(c.At)
		s.Canary = &c
	}
	return s
}

// mapped returns what f makes of each element.
func mapped[E any](list []E, f func(E) E) []E {
	if list == nil {
		return nil
	}
	out := make([]E, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}
