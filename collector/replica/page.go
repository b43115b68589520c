package replica

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// page is how the replica's pages are read.
type page struct {
	// cache parses, and labels the series.
	cache *exposition.Cache
	// last is what the last good page says of its server, nil before there was one;
	// it is of shape.
	last  *engine.Page
	shape *exposition.Shape
	// cut is where the pages before may have been cut.
	cut cut
	// identity is what the labels are made of; nil before the first page.
	identity *assess.Identity
	// fell is true when the page before waited because its process began again.
	fell bool
}

// numbers are the windows that derived series are computed from.
type numbers struct {
	deriver *derive.Deriver
	// stats are what interrupted them, of other kinds of servers too.
	stats derive.Stats
	// restarts are those that were seen so far.
	restarts uint64
}

// reset makes cache and windows for the replica's kind of server.
func (r *Replica) reset() {
	r.numbers.deriver = derive.NewDeriver(derive.Options{
		Window: r.pool.Window, Interval: r.target.Interval, Engine: r.server.Engine,
		StallAfter: r.pool.StallAfter, FailingMin: r.pool.FailingMin, Objectives: r.pool.Objectives,
		Aliases: r.pool.Page.Aliases, AliasesOnly: !r.pool.Page.Normalised, NoWindowGauges: !r.pool.Page.WindowGauges, RawHidden: !r.pool.Page.Raw,
		Budget: r.pool.Output, Stats: &r.numbers.stats,
	})
	r.page = page{cache: exposition.NewCache(exposition.Options{
		Limits:     r.pool.limits(),
		Reserved:   []string{selfmetrics.Prefix, derive.Prefix},
		SelfMarker: r.pool.Marker,
		Watch:      engine.Watch(r.server.Engine),
		Reserve:    r.room,
	})}
	r.shown.known = nil
}

// room has the replica's page take so much memory, if there is so much.
func (r *Replica) room(c exposition.Cost) error {
	if err := r.pages.Reserve(c.Bytes()); err != nil {
		return fmt.Errorf("%w; it has %d series of %d names", err, c.Series, c.Names)
	}
	return nil
}

// identify brings the labels up to date with what is known now, given what the
// replica's page says; true when they changed. Answers that come later are for
// the next page.
func (r *Replica) identify(page *engine.Page) bool {
	r.answers.Reconcile(r.api(), page)
	now := r.page.identity
	if now != nil && now.Facts == r.answers.Facts && now.Page == page {
		return false
	}
	next := assess.NewIdentity(r.target, &r.pool.Labels, r.server.Engine, page, r.answers.Facts)
	if next.Equal(now) {
		now.Page, now.Facts = next.Page, next.Facts
		return false
	}
	r.page.identity = next
	r.status.DetectedEngine = string(r.server.PageKind())
	r.status.EngineVersion, r.status.TRTLLMVersion = next.EngineVersion, next.TRTLLMVersion
	r.status.VersionSource, r.status.Worker = string(next.Source), next.Labels.Get(assess.LabelTier) == string(engine.TierWorker)
	r.page.cache.SetLabeler(next.Labeler())
	r.numbers.deriver.Identify(next.Identity)
	return true
}
