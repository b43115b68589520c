package replica

import (
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/identity"
	"github.com/trtllm-exporter/trtllm_exporter/collector/own"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// page is how the replica's pages are read.
type page struct {
	cache *exposition.Cache
	// read is what the last good page says of its server; it is of shape.
	read  *engine.Page
	shape *exposition.Shape
	// identity is what the labels are made of; nil before the first page.
	identity *identity.Identity
	// cut is where the pages before may have been cut.
	cut cut
	// left and leftDerived are what it was last noted of that it leaves series out.
	left        *exposition.Shape
	leftDerived derive.LeftOut
	// marks are what a restart is seen by before its page is published; fell is
	// true when the page before waited for it.
	marks derive.Marks
	fell  bool
}

// numbers are the windows that derived series are computed from.
type numbers struct {
	deriver *derive.Deriver
	// before is what was counted in windows that were given up.
	before derive.Stats
	// restarts are those that were seen so far.
	restarts uint64
}

// stats is what was counted of the replica's windows since it began.
func (n *numbers) stats() derive.Stats {
	s := n.before
	if n.deriver != nil {
		s.Add(n.deriver.Stats())
	}
	return s
}

// reset makes cache and windows for the replica's kind of server.
func (r *Replica) reset() {
	r.numbers.before = r.numbers.stats()
	r.numbers.deriver = derive.NewDeriver(derive.Options{
		Guard:  func(do func()) error { return r.guard("derive", do) },
		Window: r.pool.Window, Interval: r.target.Interval, Engine: r.server.Engine,
		StallAfter: r.pool.StallAfter, Objectives: r.pool.Objectives,
		Aliases: r.pool.Page.Aliases, AliasesOnly: !r.pool.Page.Normalised, RawHidden: !r.pool.Page.Raw,
		Budget: r.pool.Output,
	})
	r.page = page{cache: exposition.NewCache(exposition.Options{
		Watch:      engine.Watch(r.server.Engine),
		Limits:     r.pool.limits(),
		Reserved:   []string{own.Prefix, derive.Prefix},
		SelfMarker: r.pool.Marker,
	})}
	r.shown.known = nil
}

// identify brings the labels up to date with what is known now, given what the
// replica's page says; true when they changed. Answers that come later are for
// the next page.
func (r *Replica) identify(page *engine.Page) bool {
	now := r.page.identity
	if now != nil && now.Facts == r.answers.Facts && now.Page == page {
		return false
	}
	next := identity.Of(r.target, &r.pool.Labels, r.server.Engine, page, r.answers.Facts)
	if next.Equal(now) {
		now.Page, now.Facts = next.Page, next.Facts
		return false
	}
	r.page.identity = next
	r.status.DetectedEngine = string(r.server.PageOf())
	r.status.EngineVersion, r.status.TRTLLMVersion = next.EngineVersion, next.TRTLLMVersion
	r.status.VersionSource = string(next.Source)
	r.page.cache.Relabel(next.Labeler())
	r.numbers.deriver.Identify(next.Derived())
	return true
}

// read parses a page and reads what it says of its server, once for each shape.
// A page that shows the replica's identity in a new light, as the first one does
// by the models it names, is read again with the right labels, so that no page
// is ever mixed.
func (r *Replica) read(raw *exposition.Block, body scrape.Page) error {
	p := &r.page
	if err := r.whole(&body); err != nil {
		return err
	}
	r.identify(p.read)
	err := p.cache.Parse(raw, body.Body, body.ContentType)
	if err != nil || raw.Shape() != p.shape {
		// The text is new, and may be quoted.
		if failed := body.Secret(); failed != nil {
			return failed
		}
	}
	if err != nil {
		return failure(err)
	}
	if raw.Shape() == p.shape {
		if p.read.Refresh(raw) {
			r.shown.known = nil
		}
		return nil
	}
	read := engine.ReadPage(r.server.Engine, raw)
	if r.identify(read) {
		if err := p.cache.Parse(raw, body.Body, body.ContentType); err != nil {
			return failure(err)
		}
		read = engine.ReadPage(r.server.Engine, raw)
		p.identity.Page = read
	}
	if drops := raw.Shape().Drops(); raw.Shape().Lines() == 0 && drops.Total() == 0 && raw.Shape().LeftOut().Series == 0 && !r.server.Engine.EmptyPage() && !exposition.SaysItsEnd(body.ContentType) {
		return &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("%s answered 200 without a sample: Triton does so on any path but /metrics, check the path of the target", r.server.Shown())}
	}
	if p.shape != nil {
		r.tally.Reshaped++
	}
	p.shape, p.read = raw.Shape(), read
	r.shown.known = nil
	return nil
}

// failure gives an error of the parser its reason.
func failure(err error) error {
	reason := scrape.ReasonParse
	switch {
	case errors.Is(err, exposition.ErrSampleLimit):
		reason = scrape.ReasonSampleLimit
	case errors.Is(err, exposition.ErrLabelLimit):
		reason = scrape.ReasonLabelLimit
	case errors.Is(err, exposition.ErrSelfScrape):
		reason = scrape.ReasonSelfScrape
	case errors.Is(err, exposition.ErrContentType):
		reason = scrape.ReasonContentType
	}
	return &scrape.Error{Reason: reason, Err: err}
}
