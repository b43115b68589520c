package replica

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// History is what a replica knows about its server's past. Its successor after a change of
// configuration inherits it; otherwise a stopped server would look as if it had never started.
type History struct {
	// hadPage is true if a page was ever scraped, firstTried is when it was first tried.
	hadPage    bool
	firstTried time.Time
	health     engine.PastHealth
}

// History returns the history so far, empty for a silent replica. It may be called after Close.
func (r *Replica) History() History {
	if r.target.Silent {
		return History{}
	}
	return History{r.hadPage(), r.firstTried(), r.answers.Past(r.api(), r.history.health)}
}

func (r *Replica) hadPage() bool { return r.history.hadPage || !r.status.LastSuccess.IsZero() }

func (r *Replica) firstTried() time.Time { return cmp.Or(r.history.firstTried, r.counters.start) }

// Inherit takes over the history of the previous replica at the same address.
func (r *Replica) Inherit(h History) {
	r.update(func() {
		r.history = h
		r.answers.Inherit(h.health, r.api())
	})
}
