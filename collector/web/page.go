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

// errUnfinished is returned to the readers of a page whose builder panicked.
var errUnfinished = errors.New("the page could not be built")

// pages builds and shares the pages of all selections.
type pages struct {
	store   *snapshot.Store
	own     *ownPage
	config  func() exposition.Config
	metrics *metrics

	scratch sync.Pool
	// building limits the pages that are built at once, shared the bytes of those that are kept for
	// other readers.
	building chan struct{}
	shared   *semaphore.Weighted
	// plan is the planner of all replicas.
	plan planner

	mu    sync.Mutex
	made  map[wanted]*page
	sizes map[offer]int
	// conflicts are those of the last whole page.
	conflicts   exposition.MergeStats
	differences differences
}

// offer is what a client accepts: one encoding, and a format that depends on the names on the page.
type offer struct {
	// legacy is the format of a page whose names all use the classic character set, utf8 that of
	// other pages.
	legacy, utf8 exposition.Format
	encoding     exposition.Encoding
}

// format returns the format for a page.
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

// negotiate parses what a client accepts.
func (p *pages) negotiate(header http.Header) offer {
	openMetrics := p.config().OpenMetrics
	return offer{
		legacy:   exposition.Negotiate(header, openMetrics, false),
		utf8:     exposition.Negotiate(header, openMetrics, true),
		encoding: exposition.NegotiateEncoding(strings.Join(header.Values("Accept-Encoding"), ",")),
	}
}

// encoded returns a page in the offered encoding. Readers share a page while it is being built, and
// for a short time after that.
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

// build fills a page and releases its readers, even if it panics.
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

// writeText writes a page as plain text. It reuses buffers.
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
