package replica

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// History is what a replica knows about its server's past. Its successor after a change of
// configuration inherits it; otherwise a stopped server would look as if it had never started.
type History struct {
	// hadPage is true if a page was ever scraped, firstTried is when it was first tried.
	hadPage    bool
	firstTried time.Time
	health     engine.PastHealth
	// verdict is the last one, with an empty state before the first. Inherited is when it was passed on.
	verdict   assess.Verdict
	inherited time.Time
	// canary is what the canary knows of the process, by requests as asks says.
	canary canary.Past
	asks   canary.Config
}

// History returns the history so far, empty for a silent replica. It may be called after Close.
func (r *Replica) History() History {
	if r.target.Silent {
		return History{}
	}
	h := History{
		hadPage:    r.hadPage(),
		firstTried: r.firstTried(),
		health:     r.answers.Past(r.api(), r.history.health),
		verdict:    r.history.verdict,
		canary:     r.memory.Canary.Past,
		asks:       r.pool.Canary,
	}
	if s := &r.status; s.State != "" {
		h.verdict = assess.Verdict{
			State:    assess.State(s.State),
			Reason:   s.StateReason,
			Severity: assess.Severity(s.Severity),
			Runbook:  s.Runbook,
			Probes:   r.probes(),
		}
	}
	return h
}

// keepConviction keeps a verdict by which pages or a question spoke against the replica before a change of
// configuration, which showed nothing about the server, until others are served, or its pages have had time to show
// as much as they had then. If they accuse it again by then, the question that settles it is still open.
func (r *Replica) keepConviction(v *assess.Verdict) {
	past := &r.history.verdict
	if !past.Probes.Accused {
		return
	}
	cleared := time.Since(r.history.inherited) > r.pool.StallAfter+2*r.target.Interval && !v.Suspected
	if r.memory.OthersServed() || v.State != assess.Ready || cleared {
		*past = assess.Verdict{}
		return
	}
	*v = *past
}

func (r *Replica) hadPage() bool { return r.history.hadPage || !r.status.LastSuccess.IsZero() }

func (r *Replica) firstTried() time.Time { return cmp.Or(r.history.firstTried, r.counters.start) }

// Inherit takes over the history of the previous replica at the same address.
func (r *Replica) Inherit(h History) {
	r.update(func() {
		r.history = h
		r.history.inherited = time.Now()
		r.answers.Inherit(h.health, r.api())
		r.setProbes(h.verdict.Probes)
		if h.asks == r.pool.Canary {
			r.memory.Canary.Past = h.canary
		}
	})
}
