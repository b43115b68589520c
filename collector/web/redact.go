package web

import (
	"cmp"
	"net/url"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// address returns a URL without the parts that may hold secrets.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return target.Scrub(raw)
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// scrubbed returns a copy of a status without secrets, which addresses in error messages may
// hold, and with times in milliseconds.
func scrubbed(s target.Status) target.Status {
	s.Health = cmp.Or(s.Health, target.HealthUnknown)
	s.StateReason, s.LastError = target.Scrub(s.StateReason), target.Scrub(s.LastError)
	s.LastScrape, s.LastSuccess, s.StateSince = milliseconds(s.LastScrape), milliseconds(s.LastSuccess), milliseconds(s.StateSince)
	s.LeftOut = mapped(s.LeftOut, target.Scrub)
	s.Checks = mapped(s.Checks, func(l target.CheckList) target.CheckList {
		l.Checks = mapped(l.Checks, func(c target.Check) target.Check {
			c.Reason = target.Scrub(c.Reason)
			return c
		})
		return l
	})
	if s.Canary != nil {
		c := *s.Canary
		c.Reason, c.CancelReason, c.At = target.Scrub(c.Reason), target.Scrub(c.CancelReason), milliseconds(c.At)
		s.Canary = &c
	}
	return s
}

// mapped returns the results of f for each element.
func mapped[E, F any](list []E, f func(E) F) []F {
	out := make([]F, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}
