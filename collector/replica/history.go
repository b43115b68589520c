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
	// found is nil if a replica has gone on from it.
	found *found
}

// found is what a replica has found out about its server.
type found struct {
	// server is what was found at the address, detected is true if nobody said which kind it is.
	server   scrape.Server
	detected bool
	// deriver saw its pages, of which page is the last one.
	deriver *derive.Deriver
	page    *engine.Page
	answers engine.Answers
	memory  assess.Memory
	kept    kept
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
	if h.found == nil {
		h.found = r.found()
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

// found returns what the replica has found out, to go on from.
func (r *Replica) found() *found {
	f := &found{
		server:   r.server,
		detected: r.target.Auto(),
		deriver:  r.deriver,
		page:     r.reader.last,
		answers:  r.answers,
		memory:   r.memory,
		kept:     r.kept,
		asks:     r.pool.Canary,
		api:      r.target.APIURL,
	}
	if r.jobs.canary.running { // Its answer will be dropped.
		f.memory.Canary.Due()
	}
	return f
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
		r.recall()
		r.answers.Inherit(h.health, r.api())
		r.setProbes(h.verdict.Probes)
		r.goOn()
	})
}

// recall takes the server for what was detected before, until a page or its API shows that again.
func (r *Replica) recall() {
	f := r.history.found
	if f == nil || !f.detected || !r.target.Auto() || !f.server.Known() {
		return
	}
	if kind, _ := r.pool.kinds().Named(string(f.server.Engine.Name)); kind == f.server.Engine {
		r.server = f.server
		r.server.Uncertain = true
		r.reset()
	}
}

// goOn goes on with what the previous replica had seen of the server, once its kind is known to be the same.
func (r *Replica) goOn() {
	f := r.history.found
	if f == nil || f.server.Engine != r.server.Engine {
		return
	}
	r.deriver.Continue(f.deriver)
	r.reader.last = f.page
	r.memory = f.memory.Resume(f.asks.AsksAlike(r.pool.Canary))
	if f.api == r.target.APIURL && r.history.health.IsOf(r.api()) {
		r.answers = f.answers
	} else {
		r.memory.ForgetWord()
	}
	if !r.pool.Canary.Enabled {
		r.memory.Canary = canary.Record{Past: r.memory.Canary.Past}
	}
	r.kept = f.kept
	r.history.found = nil
}
