package web

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const maxProblems = 12

type problem struct {
	*replica

	// Second is another replica with the problem, or nil. More counts the remaining ones, which
	// Link lists.
	Second *replica
	More   int
	Link   string
}

// problems groups equal problems of replicas, which must be sorted, the worst first. It returns
// replicas with problems beyond the limit as hidden.
func problems(all []*replica) (groups []*problem, hidden []*replica) {
	byKind := map[string]*problem{}
	for _, r := range all {
		if r.Severity != broken && r.Severity != look {
			continue
		}
		kind := strings.Join([]string{r.Word, r.Runbook, anonymousProblem(r)}, "\x00")
		if p := byKind[kind]; p != nil {
			if p.Second == nil {
				p.Second = r
			} else {
				p.More++
			}
			continue
		}
		if len(groups) == maxProblems {
			hidden = append(hidden, r)
			continue
		}
		state := r.State
		if state == stateReady {
			state = r.Severity // The state does not say what is wrong.
		}
		p := &problem{replica: r, Link: filter{State: state}.link()}
		byKind[kind] = p
		groups = append(groups, p)
	}
	return groups, hidden
}

// problemText returns the reason of a verdict without what is fine, and with details of
// unexpected facts.
func problemText(s *target.Status) string {
	var unexpected []string
	for _, c := range target.FindChecks(s.Checks, assess.Expected) {
		if !c.OK {
			unexpected = append(unexpected, c.Reason)
		}
	}
	reason := strings.TrimPrefix(s.StateReason, "the API answers 200; ")
	if len(unexpected) > 0 {
		reason += " (" + strings.Join(unexpected, "; ") + ")"
	}
	return reason
}

// ipv4 matches an IPv4 address with or without a port.
var ipv4 = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`)

// anonymousProblem returns the text of the problem without addresses, so that equal problems have
// equal texts.
func anonymousProblem(r *replica) string {
	reason := problemText(&r.Status)
	for _, raw := range []string{r.Target.MetricsURL, r.Target.APIURL} {
		if u, err := url.Parse(raw); err == nil && u.Host != "" {
			reason = strings.ReplaceAll(reason, u.Host, "*")
			reason = strings.ReplaceAll(reason, u.Hostname(), "*")
		}
	}
	return ipv4.ReplaceAllString(reason, "*")
}

// runbook returns the address of a runbook entry, relative for the exporter's own runbook.
func (s *Server) runbook(entry string) string {
	if entry == "" {
		return ""
	}
	return cmp.Or(s.opts.Runbook, "runbook") + "#" + strings.ToLower(entry)
}
