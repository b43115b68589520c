package web

import (
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// selection is one part of the page that was asked for.
type selection struct {
	query
	id string

	mu     sync.Mutex
	merger exposition.Merger
	// made are the pages that new readers may have, sizes those of the last pages.
	made  map[offer]*page
	sizes map[offer]int
}

func newSelection(q query, id string) *selection {
	return &selection{query: q, id: id, made: make(map[offer]*page), sizes: make(map[offer]int)}
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
func (s *selection) size(o *offer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes[*o]
}

// grew notes how long a page became, with an eighth more for the next.
func (s *selection) grew(o *offer, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[*o] = size + size/8
}

// forget lets go of a page that is too old to be shared: only its readers hold it
// from then on, so that pages which nobody reads take no memory.
func (s *selection) forget(o *offer, pg *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made[*o] == pg {
		delete(s.made, *o)
	}
}
