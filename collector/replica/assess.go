package replica

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// shown is what was published last, and what that is made with.
type shown struct {
	snapshot snapshot.Snapshot
	// failed is why there is no page.
	failed error
	// known is what follows from page and answers; nil when that has to be seen
	// again.
	known *assess.Known
	about assess.About
	// processes are those of [assess.Evidence].
	processes int
}

// assess judges the replica after a scrape, or after an answer of its API, and
// notes the verdict in its status.
func (r *Replica) assess(failed error) {
	if r.page.identity == nil || failed != nil {
		// Without a page nobody else looks at what the server answered.
		r.identify(r.page.last)
	}
	if !r.target.Silent && r.server.Companion == "" {
		r.learn(failed)
	}
	e := r.evidence(failed)
	v := assess.Judge(&e)
	r.shown.processes = e.Processes
	s := &r.status
	s.APIURL = r.answers.FoundURL(r.api())
	if string(v.State) != s.State {
		s.StateSince = time.Now()
	}
	s.State, s.StateReason, s.Severity, s.Runbook = string(v.State), v.Reason, string(v.Severity), v.Runbook
	s.Suspected, s.Unread = v.Suspected, v.Unread
	r.orderCanary()
}

// learn draws the conclusions from page and answers, when they are others than
// before.
func (r *Replica) learn(failed error) {
	b := r.basis(failed)
	if r.shown.known.RestsOn(&b) {
		return
	}
	k := assess.Know(&b)
	r.shown.known = k
	s := &r.status
	s.Generation, s.GenerationReason, s.EngineBuildVersion = k.Generation, k.GenerationReason, k.BuildVersion()
	s.Models, s.Checks, s.Skew = k.Models, k.Checks, k.Skew()
	s.FactsVersion++
}

// basis is what conclusions are drawn from.
func (r *Replica) basis(failed error) assess.Basis {
	id, expect := r.page.identity, &r.pool.Expect
	b := assess.Basis{
		Engine: r.server.Engine, Topology: id.Topology, EngineVersion: id.EngineVersion, TRTLLMVersion: id.TRTLLMVersion,
		Knowledge: engine.Knowledge{
			Facts: r.answers.Facts, MissingPage: pageMissing(failed), Canary: r.pool.Canary.Enabled, Confirms: r.pool.Canary.Confirm, Iterations: r.pool.IterationStats,
		},
		Expect: expect,
		Declared: engine.Pins{
			EngineVersion: r.target.EngineVersion != "" || expect.EngineVersion != "",
			TRTLLMVersion: r.target.TRTLLMVersion != "" || expect.TRTLLMVersion != "",
		},
	}
	if failed == nil {
		b.Page = r.page.last
	}
	b.Objectives = r.numbers.deriver.Objectives()
	if h := r.answers.Health; h != nil {
		b.Health = h.Health
	}
	return b
}

// evidence is what the replica is judged by.
func (r *Replica) evidence(failed error) assess.Evidence {
	e := assess.Evidence{
		Silent: r.target.Silent, Companion: r.server.Companion, Was: assess.State(r.status.State),
		Scrape: assess.Scrape{
			OK: failed == nil, Seen: r.seen(), MayStart: time.Since(r.begun()) < r.pool.StartBudget,
		},
		API:      assess.API{SamePort: r.server.Engine.SamePort()},
		Mismatch: r.server.Mismatch(), Canary: r.canary.Failing(), Unmet: r.shown.known.Unmet(),
	}
	if h := r.answers.Health; h != nil {
		e.API.Health, e.API.Seen, e.API.Lived = h.Health, h.Found, h.WasLive
	}
	if failed != nil {
		reason := scrape.ReasonOf(failed)
		why, _ := errors.AsType[*scrape.Error](failed)
		denied := why != nil && why.Class == scrape.ClassDenied // Nobody was asked.
		e.Scrape.Error, e.Scrape.Unanswered, e.Scrape.Refused = failed.Error(), reason.Unanswered(), reason == scrape.ReasonConnect && !denied
		e.Scrape.Hint = r.pageHint(failed)
		return e
	}
	c := r.numbers.deriver.Conditions()
	e.Processes = r.numbers.deriver.Processes()
	if last := r.canary.Last(); last != nil {
		e.Late, e.Full = last.Last.Result.Late(), c.Full
	}
	e.Unrouted, e.RefusedFailed = r.page.last.Unrouted(), r.server.Engine.Quirks(r.page.last).RefusedFailed
	if e.Processes == 0 { // What stands still or fails is seen over pages of one process.
		e.Failing, e.Still, e.Came = c.Failing, c.Still, r.status.LastSuccess
		e.Unanswered = r.unanswered(e.Came.Add(-c.Still.For))
	}
	if k := r.shown.known; k != nil {
		e.Unserved, e.Unshown = k.Unserved, k.Unshown()
	}
	return e
}

// pageHint says what a page that fails may come from; empty when nothing is
// known.
func (r *Replica) pageHint(failed error) string {
	if !pageMissing(failed) {
		return ""
	}
	return r.server.Engine.MissingPageHint()
}

// pageMissing reports whether the server has no page: it answered 404.
func pageMissing(err error) bool {
	failure, ok := errors.AsType[*scrape.Error](err)
	return ok && failure.Reason == scrape.ReasonHTTPStatus && failure.Class == strconv.Itoa(http.StatusNotFound)
}

// reassess judges the replica again when its API has answered, and publishes
// the verdict when it is another. While a page is under way its own verdict is
// near, and rests on both.
func (r *Replica) reassess() {
	if r.status.Scrapes == 0 || r.jobs.page.running || r.held != nil {
		return
	}
	before, known := r.status, r.shown.known
	_ = r.guard("assess", func() { r.assess(r.shown.failed) })
	if r.shown.known == known && r.status.State == before.State && r.status.StateReason == before.StateReason {
		return
	}
	r.publish(r.shown.snapshot)
	r.announce(&before)
}

// present publishes a replica that is never scraped.
func (r *Replica) present() {
	before := r.status
	r.assess(nil)
	r.publish(snapshot.Snapshot{})
	r.announce(&before)
}

// publish has readers see the blocks of a page, which are nil when it failed, and
// with them what is known of the replica. Where rules for labels make two series
// equal, the first of Raw, Derived, About and Health stays: so each is made after the
// ones before it, and knows their shapes.
func (r *Replica) publish(next snapshot.Snapshot) {
	_ = r.guard("assess", func() { next.About = r.about(&next) })
	if !r.target.Silent {
		next.Health = r.own(&next)
	}
	next.Status = r.status
	r.shown.snapshot = next
	r.slot.Publish(next)
}

// about renders what is known of the replica besides its page.
func (r *Replica) about(page *snapshot.Snapshot) *exposition.Block {
	return r.shown.about.Block(&assess.Situation{
		Own: r.page.identity.Labels, State: assess.State(r.status.State), Suspected: r.status.Suspected, Known: r.shown.known, Answers: &r.answers, Canary: &r.canary,
		Processes: r.shown.processes,
	}, shape(page.Raw), shape(page.Derived))
}

// own renders what happened at the replica's scrapes.
func (r *Replica) own(with *snapshot.Snapshot) *exposition.Block {
	return r.tally.Block(&r.status, r.numbers.deriver.Stats(), shape(with.Raw), shape(with.Derived), shape(with.About))
}

// shape is that of a block, nil for none.
func shape(b *exposition.Block) *exposition.Shape {
	if b == nil {
		return nil
	}
	return b.Shape()
}
