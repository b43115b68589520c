package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// The paths of the probes: of one replica by its names, and of the only one.
const (
	probesPath = "/-/replicas/"
	probePath  = "/-/replica/"
)

// probeRoute is the route of a path below one of those of the probes; false for
// any other path.
func (s *Server) probeRoute(r *http.Request) (label string, found route, ok bool) {
	for _, label := range []string{probesPath, probePath} {
		if _, below := strings.CutPrefix(r.URL.EscapedPath(), label); below {
			return label, route{methods: []string{http.MethodGet, http.MethodHead}, serve: s.serveProbe}, true
		}
	}
	return "", route{}, false
}

// Unjudged is what the probes answer of a replica of which the exporter knows too
// little to speak for or against it.
type Unjudged string

// The answers: what the server itself says when it is asked now, or always yes or
// no.
const (
	UnjudgedServer  Unjudged = "server"
	UnjudgedReady   Unjudged = "ready"
	UnjudgedUnready Unjudged = "unready"
)

// askingTime is how long a server may take for its own answer, which is less than
// probes wait.
const askingTime = time.Second

// serveProbe says to a kubelet or a balancer whether a replica serves.
func (s *Server) serveProbe(w http.ResponseWriter, r *http.Request) {
	status, text := s.probe(r.Context(), r.URL.EscapedPath(), r.Host)
	say(w, status, text)
}

// probe is the answer for a path, as status and text. What this exporter cannot
// know is never held against the replica: it passes, or the server is asked.
func (s *Server) probe(ctx context.Context, path, host string) (status int, text string) {
	slot, question, problem := s.probed(path, host)
	switch {
	case problem != "" && !s.ready():
		return s.unnamed(path), "Not judged: not every target was tried yet."
	case problem != "":
		return http.StatusNotFound, problem
	}
	subject := s.readReplica(slot)
	now := time.Now()
	if why := subject.notJudged(now); why != "" {
		return s.unjudged(ctx, subject, question, "Not judged: "+why)
	}
	reason := sentence(subject.Status.StateReason)
	yes, no, fails := "Ready: ", "Not ready: ", subject.unready(s.opts.IgnoreCanary)
	if question == "live" {
		yes, no, fails = "Live: ", "Not live: ", subject.stuck()
	}
	if fails {
		return http.StatusServiceUnavailable, no + reason
	}
	return http.StatusOK, yes + reason
}

// unnamed is the status for a path that names no replica, as long as it may come to
// be one.
func (s *Server) unnamed(path string) int {
	if s.opts.Unjudged == UnjudgedUnready && !strings.HasSuffix(path, "/live") {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// unjudged is the answer about a replica that is not judged. Whether it is live is
// not asked of a server: a server that hangs says nothing.
func (s *Server) unjudged(ctx context.Context, r *replica, question, why string) (status int, text string) {
	switch {
	case question == "live":
		return http.StatusOK, why
	case s.opts.Unjudged == UnjudgedUnready:
		return http.StatusServiceUnavailable, why
	case s.opts.Unjudged == UnjudgedReady || r.Target.Silent:
		return http.StatusOK, why
	}
	ready, known := s.askServer(ctx, r.Key())
	switch {
	case !known:
		return http.StatusOK, why
	case ready:
		return http.StatusOK, why + " Its server says that it is ready."
	}
	return http.StatusServiceUnavailable, why + " Its server says that it is not ready."
}

// askServer asks the server of a replica whether it is ready. All probes that want to
// know it at a time put one question.
func (s *Server) askServer(ctx context.Context, key string) (ready, known bool) {
	type answer struct{ ready, known bool }
	asked, _, _ := s.asking.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askingTime)
		defer cancel()
		ready, known := s.opts.Readiness(ctx, key)
		return answer{ready, known}, nil
	})
	said, _ := asked.(answer)
	return said.ready, said.known
}

// probed is the replica that a path names, with what is asked; problem says why
// there is none. Where a path has no name of a replica, the host is it.
func (s *Server) probed(path, host string) (slot *snapshot.Slot, question, problem string) {
	if rest, ok := strings.CutPrefix(path, probePath); ok {
		slots := s.opts.Store.Slots()
		if len(slots) != 1 {
			return nil, "", fmt.Sprintf("%s is for an exporter of one replica, this one has %d: ask %sPOOL/REPLICA/ready", probePath, len(slots), probesPath)
		}
		slot, question = slots[0], rest
	} else if slot, question, problem = s.named(strings.TrimPrefix(path, probesPath), host); problem != "" {
		return nil, "", problem
	}
	if question != "ready" && question != "live" {
		return nil, "", "The path ends in /ready or /live"
	}
	return slot, question, ""
}

// named is the replica of POOL/REPLICA/QUESTION, or of POOL/QUESTION and the host:
// Envoy asks all servers of a cluster for one path, and can name another host for
// each of them.
func (s *Server) named(rest, host string) (slot *snapshot.Slot, question, problem string) {
	parts := strings.Split(rest, "/")
	pool, err := url.PathUnescape(parts[0])
	var names []string
	switch {
	case err == nil && len(parts) == 3:
		name, err := url.PathUnescape(parts[1])
		if err == nil {
			names = []string{name}
		}
	case err == nil && len(parts) == 2 && (parts[1] == "ready" || parts[1] == "live"):
		names = []string{host}
		if name, _, err := net.SplitHostPort(host); err == nil {
			names = append(names, name)
		}
	default:
		return nil, "", "The path is " + probesPath + "POOL/REPLICA/ready or " + probesPath + "POOL/REPLICA/live; without REPLICA the host names it"
	}
	for _, name := range names {
		if slot := s.slot(pool + "/" + name); slot != nil {
			return slot, parts[len(parts)-1], ""
		}
	}
	return nil, "", fmt.Sprintf("No replica is named %q; / lists them", pool+"/"+strings.Join(names, " or "))
}

// notJudged says why the exporter knows too little of a replica to speak against
// it; empty when it knows enough.
func (r *replica) notJudged(now time.Time) string {
	s, state := &r.Status, assess.State(r.State)
	switch {
	case r.Severity == unknown || !r.Target.Silent && s.LastScrape.IsZero():
		return "it was not tried yet."
	case r.late(now):
		return "this exporter has not asked it for " + age(now.Sub(s.LastScrape)) + "."
	case s.Unread:
		return "its page cannot be read (" + s.LastReason + "), which says little of its requests."
	case state == assess.Down && r.onceMissed(now):
		return "one scrape was missed."
	}
	return ""
}

// onceMissed says that the replica was fine so lately that not more than one
// scrape can have failed since.
func (r *replica) onceMissed(now time.Time) bool {
	last := r.Status.LastSuccess
	return !last.IsZero() && now.Sub(last) <= 2*r.Target.Interval+r.Target.Timeout
}

// unready says that requests should go elsewhere. A replica that is ready and does
// not serve is one whose canary fails.
func (r *replica) unready(ignoreCanary bool) bool {
	state := assess.State(r.State)
	if ignoreCanary && state == assess.Ready {
		return false
	}
	return r.Severity == broken || state == assess.Unknown || state == assess.Starting || state == assess.Draining
}

// stuck says that only a restart helps: no request is served and the server does
// not end by itself.
func (r *replica) stuck() bool {
	state := assess.State(r.State)
	return state == assess.Stalled || state == assess.Failing
}
