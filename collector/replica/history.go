package replica

import (
	"cmp"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// History is what a replica knows about its server's past. Its successor after a change of
// configuration inherits it: that change shows nothing about the server.
type History struct {
	// hadPage is true if a page was ever scraped, firstTried is when it was first tried.
	hadPage    bool
	firstTried time.Time
	health     engine.PastHealth
	// verdict is the last one, with an empty state before the first.
	verdict assess.Verdict
	// server is what was found at the address, detected if nobody said which kind it is. Deriver saw its pages, and is
	// nil if there is none to go on from. What the last page and the API said goes with it, memory, and what was kept of
	// the verdict before.
	server   scrape.Server
	detected bool
	deriver  *derive.Deriver
	page     *engine.Page
	answers  engine.Answers
	memory   assess.Memory
	kept     kept
	// asks is how the canary's requests were, api where the server's API was said to be.
	asks canary.Config
	api  string
}

// kept is a verdict of before a change of configuration, and since when it is kept.
type kept struct {
	assess.Verdict

	since time.Time
}

// History returns the history so far, empty for a silent replica. It may be called after Close, and once.
func (r *Replica) History() History {
	if r.target.Silent {
		return History{}
	}
	h := r.history
	h.hadPage, h.firstTried = r.hadPage(), r.firstTried()
	h.health = r.answers.Past(r.api(), r.history.health)
	if h.deriver == nil {
		h.deriver, h.page, h.memory, h.kept = r.deriver, r.reader.last, r.memory, r.kept
		h.answers = r.answers
		h.server, h.detected = r.server, r.target.Auto()
		h.asks, h.api = r.pool.Canary, r.target.APIURL
		if r.jobs.canary.running { // Its answer will be dropped.
			h.memory.Canary.Due()
		}
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
// configuration, if it could not go on with what these had shown, until others are served, or its pages have had time
// to show as much as they had then. If they accuse it again by then, the question that settles it is still open.
func (r *Replica) keepConviction(v *assess.Verdict) {
	past := &r.kept
	if !past.Probes.Accused {
		return
	}
	cleared := time.Since(past.since) > r.pool.StallAfter+2*r.target.Interval && !v.Suspected
	if r.memory.OthersServed() || v.State != assess.Ready || cleared {
		*past = kept{}
		return
	}
	*v = past.Verdict
}

func (r *Replica) hadPage() bool { return r.history.hadPage || !r.status.LastSuccess.IsZero() }

func (r *Replica) firstTried() time.Time { return cmp.Or(r.history.firstTried, r.counters.start) }

// Inherit takes over the history of the previous replica at the same address.
func (r *Replica) Inherit(h History) {
	r.update(func() {
		r.history = h
		r.kept = kept{h.verdict, time.Now()}
		r.recall(h.server, h.detected)
		r.answers.Inherit(h.health, r.api())
		r.setProbes(h.verdict.Probes)
		r.goOn()
	})
}

// recall takes the server for what was detected before, until a page or its API shows that again.
func (r *Replica) recall(s scrape.Server, detected bool) {
	if !detected || !r.target.Auto() || !s.Known() {
		return
	}
	if kind, _ := r.pool.kinds().Named(string(s.Engine.Name)); kind == s.Engine {
		r.server = s
		r.server.Uncertain = true
		r.reset()
	}
}

// goOn goes on with what the previous replica had seen of the server, once its kind is known to be the same.
func (r *Replica) goOn() {
	h := &r.history
	if h.deriver == nil || h.server.Engine != r.server.Engine {
		return
	}
	r.deriver.Continue(h.deriver)
	r.reader.last = h.page
	r.memory = h.memory.Resume(h.asks.AsksAlike(r.pool.Canary))
	if h.api == r.target.APIURL && h.health.IsOf(r.api()) {
		r.answers = h.answers
	} else {
		r.memory.ForgetWord()
	}
	if !r.pool.Canary.Enabled {
		r.memory.Canary = canary.Record{Past: r.memory.Canary.Past}
	}
	r.kept = h.kept
	h.deriver, h.page, h.memory, h.kept = nil, nil, assess.Memory{}, kept{}
}
