package web

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The bounds of the list of problems; all are reached by a filter.
const (
	problemsShown = 12
	namesShown    = 2
)

// problem is what is wrong with one replica, or with several alike.
type problem struct {
	*replica

	// Others are further replicas with the same problem, More how many are not
	// named, at Link.
	Others []*replica
	More   int
	Link   string
}

// problems are those of replicas that come the worst first, with equal ones
// together; more are the replicas whose problems are beyond the bound.
func problems(all []*replica) (shown []*problem, more []*replica) {
	byKind := map[string]*problem{}
	for _, r := range all {
		if r.Severity != broken && r.Severity != look {
			continue
		}
		key := strings.Join([]string{r.Word, r.Runbook, anonymous(r)}, "\x00")
		if same := byKind[key]; same != nil {
			same.add(r)
			continue
		}
		if len(shown) == problemsShown {
			more = append(more, r)
			continue
		}
		p := &problem{replica: r, Link: filter{State: stateOf(r)}.link()}
		byKind[key] = p
		shown = append(shown, p)
	}
	return shown, more
}

// wrong is the reason without what is fine about a replica that is ready, and
// with how it is not as its pool expects, of which the reason says only in what.
func wrong(s *target.Status) string {
	var how []string
	for _, c := range target.FindChecks(s.Checks, assess.Expected) {
		if !c.OK {
			how = append(how, c.Reason)
		}
	}
	reason := strings.TrimPrefix(s.StateReason, "the API answers 200; ")
	if len(how) > 0 {
		reason += " (" + strings.Join(how, "; ") + ")"
	}
	return reason
}

// add names a further replica with the same problem.
func (p *problem) add(r *replica) {
	if len(p.Others)+1 < namesShown {
		p.Others = append(p.Others, r)
		return
	}
	p.More++
}

// stateOf is the filter that finds replicas like this one: by severity where the
// state does not say what is wrong.
func stateOf(r *replica) string {
	if r.State == stateReady {
		return r.Severity
	}
	return r.State
}

// ipv4 is an IPv4 address with a port.
var ipv4 = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`)

// anonymous is a reason without what only this replica has in it, so that equal
// problems are seen to be equal.
func anonymous(r *replica) string {
	reason := wrong(&r.Status)
	for _, raw := range []string{r.Target.MetricsURL, r.Target.APIURL} {
		if u, err := url.Parse(raw); err == nil && u.Host != "" {
			reason = strings.ReplaceAll(reason, u.Host, "*")
			reason = strings.ReplaceAll(reason, u.Hostname(), "*")
		}
	}
	return ipv4.ReplaceAllString(reason, "*")
}

// runbook is the address of an entry, relative to the pages where it is our own; empty
// where there is none.
func (s *Server) runbook(entry string) string {
	if entry == "" {
		return ""
	}
	return cmp.Or(s.opts.Runbook, "runbook") + "#" + strings.ToLower(entry)
}

// serveRunbook shows the runbook of this version.
func (s *Server) serveRunbook(w http.ResponseWriter, _ *http.Request) {
	s.render(w, http.StatusOK, "runbook.html", &struct {
		frame
		Entries []alerts.Entry
	}{s.frame("Runbook – trtllm_exporter", time.Now()), alerts.Runbook()})
}

// spans are what Markdown of the runbook marks in a line: code, emphasis and links to
// files, which are not served.
var spans = regexp.MustCompile("`([^`]*)`|\\*\\*?([^*]+)\\*\\*?|\\[([^\\]]*)\\]\\([^)]*\\)")

// marked is a line of the runbook as HTML; names of alerts lead to their sections.
func marked(text string) template.HTML {
	out := spans.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(span string) string {
		m := spans.FindStringSubmatch(span)
		switch {
		case alerts.EntryOf(m[1]) != nil:
			return `<a href="runbook#` + strings.ToLower(m[1]) + `"><code>` + m[1] + `</code></a>`
		case m[1] != "":
			return "<code>" + m[1] + "</code>"
		}
		return "<em>" + m[2] + m[3] + "</em>"
	})
	return template.HTML(out) //nolint:gosec // All but the tags above is escaped.
}
