package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// maxSelections bounds how many selections keep a plan and encoded pages.
const maxSelections = 16

// errUnfinished is what the readers of a page see whose maker met a bug.
var errUnfinished = errors.New("the page could not be built")

// pages makes and shares the pages of all selections.
type pages struct {
	store   *snapshot.Store
	own     *ownPage
	config  func() exposition.Config
	metrics *metrics

	scratch sync.Pool

	whole *selection
	mu    sync.Mutex
	// recent are the other selections, the last one asked for first.
	recent []*selection
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
		whole: newSelection(query{}, ""),
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

// selection returns the one of a query, kept while it is among the last asked
// for.
func (p *pages) selection(q query) *selection {
	if q.whole() && len(q.names) == 0 {
		return p.whole
	}
	id := q.key()
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.recent, func(s *selection) bool { return s.id == id })
	if at < 0 {
		at = len(p.recent)
		p.recent = append(p.recent, newSelection(q, id))
	}
	s := p.recent[at]
	copy(p.recent[1:at+1], p.recent[:at])
	p.recent[0] = s
	if len(p.recent) > maxSelections {
		p.recent[maxSelections] = nil
		p.recent = p.recent[:maxSelections]
	}
	return s
}

// encoded returns the page in the offered encoding, made now or shared with
// readers who asked shortly before. A page that is being made is shared by all
// who ask meanwhile.
func (p *pages) encoded(ctx context.Context, s *selection, o *offer) (*page, error) {
	maxAge := time.Duration(p.config().PageMaxAge)
	s.mu.Lock()
	pg := s.made[*o]
	if pg == nil || pg.stale(maxAge) {
		pg = &page{done: make(chan struct{}), err: errUnfinished}
		s.made[*o] = pg
		s.mu.Unlock()
		defer time.AfterFunc(maxAge, func() { s.forget(o, pg) })
		p.build(pg, s, o)
		return pg, pg.err
	}
	s.mu.Unlock()
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
	begin := time.Now()
	sheet := p.lay(s)
	pg.pinned = begin
	format := o.format(sheet.layout)
	pg.contentType = format.ContentType
	pg.body, pg.err = sheet.layout.In(format.Expfmt).Compress(o.encoding, sheet.blocks, sheet.only, s.size(o))
	s.grew(o, len(pg.body))
	p.metrics.buildTime.Observe(time.Since(begin).Seconds())
}

// writeText writes a page as plain text, with the memory of earlier pages.
func (p *pages) writeText(w io.Writer, s *sheet, l *exposition.Layout) error {
	buf, ok := p.scratch.Get().(*[]byte)
	if !ok {
		buf = &[]byte{}
	}
	var err error
	*buf, err = l.WriteText(w, s.blocks, *buf, s.only)
	p.scratch.Put(buf)
	return err
}
