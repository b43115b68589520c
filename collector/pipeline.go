package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// taken is what one scrape brought: the block and when it came, by the
// monotonic clock since the pool's origin.
type taken struct {
	raw *exposition.Block
	at  time.Duration
}

// page takes one page of the replica down the first part of the line: scrape,
// parse, relabel. On success the caller holds the block's one reference.
func (r *replica) page(ctx context.Context) (got taken, err error) {
	r.status.BodyBytes = 0
	if err := r.locate(ctx); err != nil {
		return got, err
	}
	buf := borrowBody()
	defer buf.giveBack()
	body, err := r.fetch(ctx, buf)
	if err != nil {
		return got, err
	}
	at := time.Since(r.pool.origin)
	r.recognise(ctx, body.Body)
	r.first(ctx)
	raw := r.cache.Block()
	defer func() {
		if err != nil {
			raw.Release()
		}
	}()
	if err := r.parse(raw, body); err != nil {
		return got, err
	}
	r.status.Samples = raw.Shape().Lines()
	if r.status.Samples == 0 && droppedFrom(raw) == 0 && !r.emptyAllowed() {
		return got, &scrape.Error{Reason: scrape.ReasonEmpty, Err: fmt.Errorf("%s answered 200 without a sample: Triton does so on any path but /metrics, check the path of the target", r.url)}
	}
	r.tally.count(raw.Shape().Drops())
	r.learn(raw)
	return taken{raw: raw, at: at}, nil
}

// finish takes a page down the rest of the line, to the snapshot that holds the
// references: derive, and what is known of the replica after it. Failed is why
// there is no page. While the window of the derived series moves, nobody may
// read what was published before: see [snapshot.Slot.Update].
func (r *replica) finish(start time.Time, got taken, failed error) (next snapshot.Snapshot) {
	if failed == nil {
		failed = r.guard("derive", func() {
			next.Derived = r.deriver.Follow(got.at, got.raw, r.seen)
			next.Raw = got.raw
			r.hide(&next)
		})
		if failed != nil {
			r.reset()
			next = snapshot.Snapshot{}
		}
	}
	r.report(start, failed)
	if p := r.guard("state", func() {
		r.judge(failed)
		r.describe(failed)
		next.About = r.about.block()
	}); p != nil {
		r.about, r.lore = &about{}, nil
	}
	next.Status = r.status
	next.Health = r.health.block(&r.status, &r.tally, r.stats())
	return next
}

// fetch asks for the page, and asks anew when another kind of server turns out
// to stand there.
func (r *replica) fetch(ctx context.Context, buf *bodyBuffer) (scrape.Page, error) {
	page, err := r.pool.client.Scrape(ctx, r.url, buf.memory)
	buf.grown(page.Body)
	if r.moved(ctx, page.Body, err) {
		page, err = r.pool.client.Scrape(ctx, r.url, buf.memory)
		buf.grown(page.Body)
	}
	r.status.BodyBytes = int64(len(page.Body))
	return page, err
}

// parse reads the page with the labels of the replica's identity. A page that
// shows the identity in a new light, as the first one does by the models it
// names, is read again with the right labels, so that no page is ever mixed.
func (r *replica) parse(raw *exposition.Block, page scrape.Page) error {
	r.identify(r.seen)
	if err := r.cache.Parse(raw, page.Body, page.ContentType); err != nil {
		return failure(err)
	}
	if r.seen != nil && raw.Shape() == r.seen.Shape() {
		return nil
	}
	read := engine.ReadPage(r.engine, raw)
	if r.identify(read) {
		if err := r.cache.Parse(raw, page.Body, page.ContentType); err != nil {
			return failure(err)
		}
		read = engine.ReadPage(r.engine, raw)
	}
	if r.seen != nil {
		r.tally.reshaped++
	}
	r.seen, r.lore = read, nil
	return nil
}

// hide takes the vocabularies off the page that the configuration leaves out.
func (r *replica) hide(next *snapshot.Snapshot) {
	if !r.pool.page.Raw {
		next.Raw.Release()
		next.Raw = nil
	}
	if !r.pool.page.Normalised && len(r.pool.page.Aliases) == 0 {
		next.Derived.Release()
		next.Derived = nil
	}
}

// emptyAllowed says whether a page without samples is a good one.
func (r *replica) emptyAllowed() bool { return r.engine.EmptyPage() }

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

// droppedFrom is how many series of the page were left out.
func droppedFrom(raw *exposition.Block) uint64 {
	d := raw.Shape().Drops()
	return d.Total()
}
