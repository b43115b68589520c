package replica

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// sameEnds is how many pages in a row have to end at the same line before they
// are believed. A connection that is lost ends a page anywhere; a server that
// dropped its last series for good ends every page there.
const sameEnds = 6

// cut is where pages ended that may be the beginning of one: after so many
// samples, so many times in a row.
type cut struct{ samples, times int }

// whole refuses a page that may be cut at the end of a line. It may be when
// nothing but the end of the connection ended it, and it is the beginning of the
// last good page: the same lines in the same order, without the name that came
// last. Servers that answer without a length lose series legally elsewhere:
// those of a model that was unloaded are in the middle of each family, single
// ones come and go in the last, and a process that began again refused
// connections before, or keeps HELP and TYPE of what it has not counted yet.
func (g *page) whole(body *scrape.Page, refused bool) error {
	last := g.cut
	g.cut = cut{}
	if !body.Unframed || refused {
		return nil
	}
	samples, begins := g.cache.Truncated(body.Body)
	if !begins {
		return nil
	}
	if last.samples != samples {
		last = cut{samples: samples}
	}
	last.times++
	if last.times >= sameEnds {
		return nil
	}
	g.cut = last
	return &scrape.Error{Reason: scrape.ReasonTruncated, Err: fmt.Errorf("the page ends after the first %d samples of the one before, and has no length that proves its end, so it may be cut; have the server send Content-Length or chunks", samples)}
}
