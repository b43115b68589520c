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
	made   map[offer]*page
	// packers keep what they compressed for the pages before.
	packers map[offer]*exposition.Packer
}

func newSelection(q query, id string) *selection {
	return &selection{query: q, id: id, made: make(map[offer]*page), packers: make(map[offer]*exposition.Packer)}
}

// page is one encoded page. Everything but done and holders is set before done is
// closed and never changes after.
type page struct {
	// holders are its readers, and its selection while it may have more; they belong
	// to the selection's lock.
	holders     int
	done        chan struct{}
	pinned      time.Time
	contentType string
	body        *exposition.Packed
	err         error
}

// take gives a page to a reader who waited for it, or leaves it where that failed.
func (s *selection) take(pg *page, err error) (*page, error) {
	if err != nil {
		s.leave(pg)
		return nil, err
	}
	return pg, nil
}

// leave says that a reader is done with a page.
func (s *selection) leave(pg *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pg.release()
}

// release takes a holder away; without one the page's memory is used for others.
func (pg *page) release() {
	pg.holders--
	if pg.holders == 0 && pg.body != nil {
		pg.body.Release()
	}
}

// stale says whether a finished page is too old to be shared.
func (pg *page) stale(maxAge time.Duration) bool {
	select {
	case <-pg.done:
		return pg.err != nil || time.Since(pg.pinned) >= maxAge
	default:
		return false
	}
}

// packer is the one of a page.
func (s *selection) packer(key offer) *exposition.Packer {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.packers[key]
	if p == nil {
		p = &exposition.Packer{}
		s.packers[key] = p
	}
	return p
}

// forget drops the pages that are too old to be served.
func (s *selection) forget(maxAge time.Duration) {
	for key, pg := range s.made {
		if pg.stale(maxAge) {
			delete(s.made, key)
			pg.release()
		}
	}
}
