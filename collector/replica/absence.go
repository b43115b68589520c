package replica

import (
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// absence is what a failed scrape shows of who is not there.
type absence struct {
	// nobody is true if nobody listens for the server, how says what shows that, empty if the connection itself failed.
	nobody bool
	how    string
	// ended is true if that is because the process ended. A gateway that does not reach a server, a name or a route
	// that is gone, say nothing about its process: what was known of it stays known.
	ended bool
}

// absence returns what a failed scrape shows of who is not there. An address that the exporter must not use shows
// nothing: no request was sent.
func (r *Replica) absence(failed error) absence {
	failure, _ := errors.AsType[*scrape.Error](failed)
	switch {
	case failure.Denied():
		return absence{}
	case hasStatus(failed, http.StatusBadGateway):
		return absence{nobody: true, how: "a gateway does not reach it"}
	case nameless(failed):
		return absence{nobody: true, how: "its name does not resolve"}
	case r.gone(failed):
		return absence{nobody: true, how: "nothing listens at its API", ended: true}
	}
	refused := scrape.ReasonOf(failed) == scrape.ReasonConnect
	return absence{nobody: refused, ended: errors.Is(failed, syscall.ECONNREFUSED)}
}

// gone reports whether something else answers instead of the server, as an agent does that merges the pages of a pod,
// while nothing listens where its API was.
func (r *Replica) gone(failed error) bool {
	failure, _ := errors.AsType[*scrape.Error](failed)
	instead := scrape.ReasonOf(failed) == scrape.ReasonEmpty || failure.ServerError()
	h := r.answers.Health
	return instead && (r.api().Apart() && h != nil && h.Closed() || r.notStarted())
}

// notStarted reports whether no page showed the server yet that the configuration names, and nothing listens where that
// says its API is.
func (r *Replica) notStarted() bool {
	h := r.answers.Health
	named := !r.target.Auto() && r.target.APIURL != "" && r.api().Apart()
	return named && !r.hadPage() && h != nil && h.API == engine.APIRefused && !h.HungUp
}

// nameless reports whether a scrape failed because the host has no address any more, as when its pod is gone: then
// nothing listens there. A resolver that cannot tell says nothing.
func nameless(err error) bool {
	failure, ok := errors.AsType[*net.DNSError](err)
	return ok && failure.IsNotFound
}
