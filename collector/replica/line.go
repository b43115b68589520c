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
//
// While the window of the derived series moves, nobody may read what was
// published before: see [snapshot.Slot.Update].
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
	r.slot.Update(func() (next snapshot.Snapshot) {
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
		_ = r.guard("assess", func() {
			r.assess(err)
			next.About = r.about(&next)
		})
		next.Health, next.Status = r.own(&next), r.status
		r.shown.failed, r.shown.blocks = err, next
		return next
	})
	r.jobs.turn.End()
	r.jobs.turn = nil
	r.announce(&before)
}

// parse reads a page with the labels of the replica. On success the caller
// holds the block's one reference.
func (r *Replica) parse(p *fetch.Page) (*exposition.Block, error) {
	r.status.BodyBytes = int64(len(p.Body.Body))
	if p.Err != nil {
		return nil, p.Err
	}
	raw := r.page.Cache.Block()
	var err error
	if panicked := r.guard("parse", func() { err = r.read(raw, p) }); panicked != nil {
		r.reset()
		err = panicked
	}
	if err != nil {
		raw.Release()
		return nil, err
	}
	r.status.Samples = raw.Shape().Lines() + raw.Shape().LeftOut().Series
	return raw, nil
}

// derive takes the numbers of a page into the window of the derived series, given
// how long the machine slept so far.
func (r *Replica) derive(p *fetch.Page, raw *exposition.Block, asleep time.Duration) (shown, derived *exposition.Block, err error) {
	at := p.Came.Sub(r.pool.Origin) + asleep
	if err = r.guard("derive", func() { derived = r.numbers.deriver.Follow(at, raw, r.page.Last()) }); err != nil {
		r.reset()
		return nil, nil, err
	}
	if !r.pool.Page.Normalised && len(r.pool.Page.Aliases) == 0 {
		derived.Release()
		derived = nil
	}
	if !r.pool.Page.Raw {
		raw.Release()
		raw = nil
	}
	return raw, derived, nil
}
