package replica

import (
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// maxTruncated is the number of pages in a row that must end at the same line before the pages
// count as complete. A lost connection truncates a page anywhere; if a server dropped its last
// series for good, every page ends there.
const maxTruncated = 6

// truncated counts the pages in a row that may be truncated after the same sample.
type truncated struct{ samples, pages int }

// checkTruncated rejects a page that may have been truncated at the end of a line: only the end
// of the connection delimits it, and it is a prefix of the last good page without that page's
// last name. Servers that send no length lose series elsewhere: series of an unloaded model from
// the middle of each family, single series from the last family. A restarted process refused
// connections first, or still has HELP and TYPE of what it has not counted yet.
func (r *pageReader) checkTruncated(body *scrape.Page, refused bool) error {
	last := r.truncated
	r.truncated = truncated{}
	if !body.Unframed || refused {
		return nil
	}
	samples, begins := r.cache.Truncated(body.Body)
	if !begins {
		return nil
	}
	if last.samples != samples {
		last = truncated{samples: samples}
	}
	last.pages++
	if last.pages >= maxTruncated {
		return nil
	}
	r.truncated = last
	return &scrape.Error{
		Reason: scrape.ReasonTruncated,
		Err: fmt.Errorf(
			"the page ends after the first %d samples of the previous page and has no Content-Length, so it may be "+
				"truncated; make the server send Content-Length or chunks",
			samples,
		),
	}
}
