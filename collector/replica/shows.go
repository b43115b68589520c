package replica

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Evidence is what a target has shown of itself, the weakest claim to a replica's name first.
type Evidence int

// What a target may show. A companion is no replica, and neither is a stranger unless the kind of
// server is configured. What never answered may still be loading.
const (
	ShowsCompanion Evidence = iota - 1
	ShowsNothing
	ShowsStranger
	ShowsServer
)

// Read reports whether the target was scraped, whatever came of it. One that is never scraped counts as read.
func (r *Replica) Read() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target.Silent || r.status.Scrapes > 0
}

// Shows returns what the target has shown of itself so far.
func (r *Replica) Shows() Evidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.status.Scrapes == 0:
		return ShowsNothing
	case r.server.Companion != "", r.stranger():
		return ShowsCompanion
	case r.server.Known() && !r.unconfirmed():
		return ShowsServer
	case r.status.Health == target.HealthUp:
		return ShowsStranger
	}
	return ShowsNothing
}

// Tier returns the position in a pool with a router of the server that the target has shown, if any.
func (r *Replica) Tier() engine.Tier {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reader.last == nil {
		return ""
	}
	return r.server.Engine.Tier(r.reader.last)
}

// unconfirmed reports whether neither the page nor an API shows the configured kind of server.
func (r *Replica) unconfirmed() bool {
	return !r.target.Auto() && r.target.Engine != string(engine.Unknown) && r.server.Unrecognized() &&
		!cmp.Or(r.answers.Facts, &engine.Facts{}).Confirmed
}

// companion names the program if it is no LLM server; empty for servers.
func (r *Replica) companion() string {
	if r.server.Companion == "" && r.target.Beside != "" && !r.target.Elsewhere {
		return "another port of " + r.target.Beside
	}
	return r.server.Companion
}
