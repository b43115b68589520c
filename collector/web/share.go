package web

import (
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// selection is one part of the page that was asked for.
type selection struct {
	query

	plan *planner
}

// planner plans pages of the same replicas one after the other.
type planner struct {
	mu     sync.Mutex
	merger exposition.Merger
}

// selection returns the one of a query. The plan of all replicas is kept; that of
// some of them would keep their pages for as long as nobody asks for the same.
func (p *pages) selection(q query) *selection {
	if q.whole() {
		return &selection{q, &p.plan}
	}
	return &selection{q, new(planner)}
}

// wanted is a page by the key of its selection, and how it is to be written.
type wanted struct {
	key string
	offer
}

// page is one compressed page, which all its readers share. Everything but done is
// set before done is closed and never changes after.
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

// size returns how much memory the next page is likely to take.
func (p *pages) size(s *selection, o *offer) int {
	if !s.all() {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sizes[*o]
}

// grew notes the length of a whole page, compressed and as text; the next one gets an
// eighth more memory.
func (p *pages) grew(s *selection, o *offer, size int, text int64) {
	if s.all() {
		p.metrics.pageBytes.Set(float64(text))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sizes[*o] = size + size/8
	}
}

// pageRoom is about what a page takes besides its text.
const pageRoom = 1 << 10

// keep has a page shared until it is too old, if there is room for it. From then on
// only its readers hold it, so that pages which nobody reads take no memory.
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

// forget has a page shared no longer.
func (p *pages) forget(w wanted, pg *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made[w] == pg {
		delete(p.made, w)
	}
}
