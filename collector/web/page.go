package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// errUnfinished is what the readers of a page see whose maker met a bug.
var errUnfinished = errors.New("the page could not be built")

// pages makes and shares the pages of all selections.
type pages struct {
	store   *snapshot.Store
	own     *ownPage
	config  func() exposition.Config
	metrics *metrics

	scratch sync.Pool
	// building bounds the pages that are made at once, shared the bytes of those that
	// are kept for others who want the same.
	building chan struct{}
	shared   *semaphore.Weighted
	// plan is that of all replicas.
	plan planner

	mu    sync.Mutex
	made  map[wanted]*page
	sizes map[offer]int
	// conflicts are those of the last whole page.
	conflicts   exposition.MergeStats
	differences differences
}

// offer is what a client takes; it names one encoding of a selection. Which of the
// two formats a page is in depends on the names that are on it.
type offer struct {
	// legacy is the format of a page whose names are all of the old character
	// set, utf8 that of any other.
	legacy, utf8 exposition.Format
	encoding     exposition.Encoding
}

// format is the one that suits the page.
func (o *offer) format(l *exposition.Layout) *exposition.Format {
	if l.NeedsUTF8() {
		return &o.utf8
	}
	return &o.legacy
}

func newPages(store *snapshot.Store, own *ownPage, config func() exposition.Config, m *metrics) *pages {
	return &pages{
		store: store, own: own, config: config, metrics: m,
		building: make(chan struct{}, runtime.GOMAXPROCS(0)), shared: semaphore.NewWeighted(heldOf(debug.SetMemoryLimit(-1))),
		made: make(map[wanted]*page), sizes: make(map[offer]int),
	}
}

// negotiate reads what a client takes.
func (p *pages) negotiate(header http.Header) offer {
	openMetrics := p.config().OpenMetrics
	return offer{
		legacy:   exposition.Negotiate(header, openMetrics, false),
		utf8:     exposition.Negotiate(header, openMetrics, true),
		encoding: exposition.NegotiateEncoding(strings.Join(header.Values("Accept-Encoding"), ",")),
	}
}

// encoded returns the page in the offered encoding, made now or shared with
// readers who asked shortly before. A page that is being made is shared by all
// who ask meanwhile.
func (p *pages) encoded(ctx context.Context, s *selection, o *offer) (*page, error) {
	maxAge, w := time.Duration(p.config().PageMaxAge), wanted{s.key(), *o}
	p.mu.Lock()
	pg := p.made[w]
	if pg == nil || pg.stale(maxAge) {
		pg = &page{done: make(chan struct{}), err: errUnfinished}
		p.made[w] = pg
		p.mu.Unlock()
		defer p.keep(w, pg, maxAge)
		p.build(pg, s, o)
		return pg, pg.err
	}
	p.mu.Unlock()
	select {
	case <-pg.done:
		return pg, pg.err
	case <-ctx.Done():
		return pg, ctx.Err()
	}
}

// build fills a page and lets its readers go on, also when it fails.
func (p *pages) build(pg *page, s *selection, o *offer) {
	defer close(pg.done)
	p.building <- struct{}{}
	defer func() { <-p.building }()
	begin := time.Now()
	plan := p.lay(s)
	pg.pinned = begin
	format := o.format(plan.layout)
	pg.contentType = format.ContentType
	var length int64
	pg.body, length, pg.err = plan.layout.WithFormat(format.Expfmt).Compress(o.encoding, plan.blocks, plan.only, p.size(s, o))
	p.grew(s, o, len(pg.body), length)
	p.metrics.buildTime.Observe(time.Since(begin).Seconds())
}

// writeText writes a page as plain text, with the memory of earlier pages.
func (p *pages) writeText(w io.Writer, s *pagePlan, l *exposition.Layout) error {
	buf, ok := p.scratch.Get().(*[]byte)
	if !ok {
		buf = &[]byte{}
	}
	var err error
	*buf, err = l.WriteText(w, s.blocks, *buf, s.only)
	p.scratch.Put(buf)
	return err
}
