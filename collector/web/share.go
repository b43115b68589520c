package web

import (
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// selection is the part of the page that a request asks for.
type selection struct {
	query

	plan *planner
}

// planner plans pages of one selection, one at a time.
type planner struct {
	mu     sync.Mutex
	merger exposition.Merger
}

// selection returns the selection of a query. Only the planner of all replicas is kept: one of some
// replicas would keep their pages in memory until the same part is requested again.
func (p *pages) selection(q query) *selection {
	if q.whole() {
		return &selection{q, &p.plan}
	}
	return &selection{q, new(planner)}
}

// wanted identifies a page by the key of its selection and its encoding.
type wanted struct {
	key string
	offer
}

// page is a compressed page that its readers share. All fields but done are set before done is
// closed, and never change after.
type page struct {
	done        chan struct{}
	pinned      time.Time
	contentType string
	body        []byte
	err         error
}

// stale reports whether a finished page is too old to be shared.
func (pg *page) stale(maxAge time.Duration) bool {
	select {
	case <-pg.done:
		return pg.err != nil || time.Since(pg.pinned) >= maxAge
	default:
		return false
	}
}

// size returns the expected size of the next page.
func (p *pages) size(s *selection, o *offer) int {
	if !s.all() {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sizes[*o]
}

// grew records the size of a whole page, compressed and as text; the next one gets an eighth more
// memory.
func (p *pages) grew(s *selection, o *offer, size int, text int64) {
	if s.all() {
		p.metrics.pageBytes.Set(float64(text))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sizes[*o] = size + size/8
	}
}

// pageRoom approximates the memory of a page besides its body.
const pageRoom = 1 << 10

// keep shares a page until it is too old, if there is memory for it. After that only its readers
// hold it.
func (p *pages) keep(w wanted, pg *page, maxAge time.Duration) {
	size := int64(len(pg.body) + len(w.key) + pageRoom)
	if !p.shared.TryAcquire(size) {
		p.forget(w, pg)
		return
	}
	time.AfterFunc(maxAge, func() {
		p.forget(w, pg)
		p.shared.Release(size)
	})
}

// forget stops sharing a page.
func (p *pages) forget(w wanted, pg *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made[w] == pg {
		delete(p.made, w)
	}
}
