package scrape

import (
	"errors"
	"fmt"
)

const (
	// pagesShare is the part of the memory limit, without what the process has anyway,
	// that is for what is kept of large pages.
	pagesShare = 2
	// ordinaryPage is how much a page may take without counting as a large one.
	ordinaryPage = 1 << 20
)

// ErrNoRoom is a page for which there is no memory.
var ErrNoRoom = errors.New("no memory for the page")

// Pages is what is kept of the pages of one target. It is not safe for concurrent
// use; its zero value bounds nothing.
type Pages struct {
	of   *budget
	held int64
}

// Pages returns what a target may keep of its pages, which is nothing yet.
func (r *Resources) Pages() Pages { return Pages{of: r.pages} }

// Hold has a page take so many bytes in place of the one before. It fails, and changes
// nothing, where all large pages together would take more than the memory limit has
// for them.
func (p *Pages) Hold(bytes int64) error {
	if p.of == nil {
		return nil
	}
	if bytes <= ordinaryPage {
		bytes = 0
	}
	if more := bytes - p.held; more > 0 && !p.of.try(more) {
		return fmt.Errorf("%w: it would take about %s of memory, and large pages have %s of the memory limit of the exporter together; raise that (GOMEMLIMIT, or the limit of the container) or reduce the metrics that the server exposes",
			ErrNoRoom, rounded(bytes), rounded(p.of.bound))
	} else if more < 0 {
		p.of.release(-more)
	}
	p.held = bytes
	return nil
}

// Release gives back what is held.
func (p *Pages) Release() { _ = p.Hold(0) }

// rounded is a size without the digits that say nothing.
func rounded(bytes int64) Size { return Size(bytes+1<<20-1) &^ (1<<20 - 1) }
