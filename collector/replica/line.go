package replica

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// ageSlack is how much longer than two intervals and a timeout a page may be
// shown: pages are held for a second, and a busy machine is late.
const ageSlack = 2 * time.Second

// finish takes what a scrape brought down the rest of the line, to the snapshot
// that readers see: parse, relabel, derive, assess. A scrape that failed takes
// the replica's series off the page; those about it stay.
func (r *Replica) finish(p *fetch.Page) {
	raw, err := r.parse(p)
	r.conclude(p, raw, err)
}

// conclude publishes a page that was parsed.
func (r *Replica) conclude(p *fetch.Page, raw *exposition.Block, err error) {
	p.Release()
	var shape *exposition.Shape
	if err == nil {
		shape = raw.Shape()
		r.tally.Count(raw.Shape().Drops())
	}
	before, asleep := r.status, r.slot.Asleep()
	var next snapshot.Snapshot
	if err == nil {
		next.Raw, next.Derived, err = r.derive(p, raw, asleep)
	}
	if err == nil {
		r.sightCanary(p)
		next.Until = p.Came.Add(asleep + 2*r.target.Interval + r.target.Timeout + ageSlack)
	} else {
		shape = nil
	}
	r.status.LeftOut = r.tally.LeaveOut(shape, r.numbers.deriver.LeftOut())
	r.report(p, err)
	_ = r.guard("assess", func() { r.assess(err) })
	r.shown.failed = err
	r.publish(next)
	r.jobs.turn.End()
	r.jobs.turn = nil
	r.announce(&before)
}

// parse reads a page with the labels of the replica.
func (r *Replica) parse(p *fetch.Page) (raw *exposition.Block, err error) {
	r.status.BodyBytes = int64(len(p.Body.Body))
	if p.Err != nil {
		return nil, p.Err
	}
	if panicked := r.guard("parse", func() { raw, err = r.read(p) }); panicked != nil {
		r.reset()
		err = panicked
	}
	if err != nil {
		return nil, err
	}
	r.status.Samples = raw.Shape().Lines() + raw.Shape().LeftOut().Series
	return raw, nil
}

// derive takes the numbers of a page into the window of the derived series, given
// how long the machine slept so far, and renders what is shown of page and window. A
// rule that panics costs the derived series of the page alone.
func (r *Replica) derive(p *fetch.Page, raw *exposition.Block, asleep time.Duration) (shown, derived *exposition.Block, err error) {
	at := p.Came.Sub(r.pool.Origin) + asleep
	if err = r.guard("derive", func() { r.numbers.deriver.Follow(at, raw, r.page.Last()) }); err != nil {
		r.reset()
		return nil, nil, err
	}
	if r.pool.Page.Normalised || len(r.pool.Page.Aliases) > 0 {
		_ = r.guard("derive", func() { derived = r.numbers.deriver.Render(raw) })
	}
	if !r.pool.Page.Raw {
		raw = nil
	}
	return raw, derived, nil
}
