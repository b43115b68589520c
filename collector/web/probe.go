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

// The paths of the probes: of a replica by its name, and of the only replica.
const (
	probesPath = "/-/replicas/"
	probePath  = "/-/replica/"
)

// probeRoute returns the route of a probe; false for other paths.
func (s *Server) probeRoute(r *http.Request) (label string, found route, ok bool) {
	for _, label := range []string{probesPath, probePath} {
		if strings.HasPrefix(r.URL.EscapedPath(), label) {
			return label, route{methods: []string{http.MethodGet, http.MethodHead}, serve: func(w http.ResponseWriter, r *http.Request) {
				status, text := s.probe(r.Context(), r.URL.EscapedPath(), r.Host)
				writeLine(w, status, text)
			}}, true
		}
	}
	return "", route{}, false
}

// Unjudged selects the readiness answer for replicas that the exporter knows too little about.
type Unjudged string

// The answers: that of the server itself at this moment, always ready, or never ready.
const (
	UnjudgedServer  Unjudged = "server"
	UnjudgedReady   Unjudged = "ready"
	UnjudgedUnready Unjudged = "unready"
)

// readinessTimeout bounds the server's own answer; it is shorter than the timeouts of probes.
const readinessTimeout = time.Second

// probe returns the answer for a path as status and text. What the exporter cannot know is never
// held against the replica: the probe passes, or the server is asked.
func (s *Server) probe(ctx context.Context, path, host string) (status int, text string) {
	slot, question, problem := s.probedReplica(path, host)
	switch {
	case problem != "" && s.ready():
		return http.StatusNotFound, problem
	case problem != "": // There may be such a replica soon.
		status = http.StatusOK
		if s.opts.Unjudged == UnjudgedUnready && !strings.HasSuffix(path, "/live") {
			status = http.StatusServiceUnavailable
		}
		return status, "Not judged: not every target was tried yet."
	}
	r := s.readReplica(slot)
	if reason := r.unjudged(time.Now()); reason != "" {
		return s.probeUnjudged(ctx, r, question, "Not judged: "+reason)
	}
	yes, no, fails := "Ready: ", "Not ready: ", r.unready(s.opts.IgnoreCanary)
	if question == "live" {
		yes, no, fails = "Live: ", "Not live: ", r.stuck()
	}
	if fails {
		return http.StatusServiceUnavailable, no + sentence(r.Status.StateReason)
	}
	return http.StatusOK, yes + sentence(r.Status.StateReason)
}

// probeUnjudged returns the answer about a replica that is not judged. A server is not asked
// whether it is live: one that hangs does not answer.
func (s *Server) probeUnjudged(ctx context.Context, r *replica, question, reason string) (status int, text string) {
	switch {
	case question == "live":
		return http.StatusOK, reason
	case s.opts.Unjudged == UnjudgedUnready:
		return http.StatusServiceUnavailable, reason
	case s.opts.Unjudged == UnjudgedReady || r.Target.Silent:
		return http.StatusOK, reason
	}
	// Concurrent probes share one request to the server.
	shared, _, _ := s.probing.Do(r.Key(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readinessTimeout)
		defer cancel()
		ready, known := s.opts.Readiness(ctx, r.Key())
		return [2]bool{ready, known}, nil
	})
	switch shared {
	case [2]bool{true, true}:
		return http.StatusOK, reason + " Its server answers that it is ready."
	case [2]bool{false, true}:
		return http.StatusServiceUnavailable, reason + " Its server answers that it is not ready."
	}
	return http.StatusOK, reason
}

// probedReplica returns the replica that a path names, and the question: ready or live. A problem
// explains why there is none.
func (s *Server) probedReplica(path, host string) (slot *snapshot.Slot, question, problem string) {
	if rest, ok := strings.CutPrefix(path, probePath); ok {
		slots := s.opts.Store.Slots()
		if len(slots) != 1 {
			return nil, "", fmt.Sprintf("%s is for an exporter of one replica, this one has %d: ask %sPOOL/REPLICA/ready", probePath, len(slots), probesPath)
		}
		slot, question = slots[0], rest
	} else if slot, question, problem = s.namedReplica(strings.TrimPrefix(path, probesPath), host); problem != "" {
		return nil, "", problem
	}
	if question != "ready" && question != "live" {
		return nil, "", "The path must end in /ready or /live"
	}
	return slot, question, ""
}

// namedReplica returns the replica of POOL/REPLICA/QUESTION, or that of POOL/QUESTION and the
// host: Envoy probes all servers of a cluster at one path, and can set the host for each.
func (s *Server) namedReplica(rest, host string) (slot *snapshot.Slot, question, problem string) {
	parts := strings.Split(rest, "/")
	question = parts[len(parts)-1]
	var names []string
	switch {
	case len(parts) == 3:
		names = parts[1:2]
		names[0], _ = url.PathUnescape(names[0]) // An invalid one names no replica.
	case len(parts) == 2 && (question == "ready" || question == "live"):
		names = []string{host}
		if name, _, err := net.SplitHostPort(host); err == nil {
			names = append(names, name)
		}
	default:
		return nil, "", "The path is " + probesPath + "POOL/REPLICA/ready or " + probesPath + "POOL/REPLICA/live; without REPLICA the host names it"
	}
	pool, _ := url.PathUnescape(parts[0])
	for _, name := range names {
		if slot := s.opts.Store.Slot(pool + "/" + name); slot != nil {
			return slot, question, ""
		}
	}
	return nil, "", fmt.Sprintf("No replica is named %q; / lists them", pool+"/"+strings.Join(names, " or "))
}

// unjudged explains why too little is known about the replica; empty if enough is known.
func (r *replica) unjudged(now time.Time) string {
	s := &r.Status
	switch {
	case r.Severity == unknown || !r.Target.Silent && s.LastScrape.IsZero():
		return "it was not tried yet."
	case r.overdue(now):
		return "this exporter has not scraped it for " + age(now.Sub(s.LastScrape)) + "."
	case s.Unread:
		return "its page cannot be read (" + s.LastReason + "), which says little about its requests."
	case assess.State(r.State) == assess.Down && !s.LastSuccess.IsZero() && now.Sub(s.LastSuccess) <= 2*r.Target.Interval+r.Target.Timeout:
		return "one scrape failed." // Not more than one can have failed since the last success.
	}
	return ""
}

// unready reports whether requests should go elsewhere. If a ready replica is broken, its canary
// fails.
func (r *replica) unready(ignoreCanary bool) bool {
	state := assess.State(r.State)
	if ignoreCanary && state == assess.Ready {
		return false
	}
	return r.Severity == broken || state == assess.Unknown || state == assess.Starting || state == assess.Draining
}

// stuck reports whether only a restart helps: no request completes, and the server does not exit
// by itself.
func (r *replica) stuck() bool {
	state := assess.State(r.State)
	return state == assess.Stalled || state == assess.Failing
}
