package replica

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// report notes how a scrape went; failed is why there is no page.
func (r *Replica) report(p *scrape.Fetched, failed error) {
	s := &r.status
	s.PageURL, s.Companion = r.server.URL, r.server.Companion
	s.LastScrape, s.LastDuration = p.Start, p.Duration
	s.Scrapes++
	s.EngineEvidence = r.server.Evidence
	if failed == nil {
		s.Health, s.LastSuccess, s.LastError, s.LastReason = target.HealthUp, p.Received, "", ""
		return
	}
	reason := scrape.ReasonOf(failed)
	s.Failures++
	s.Samples = 0
	r.server.Uncertain = true
	if reason == scrape.ReasonBodyTooLarge {
		s.BodyBytes = -1
	}
	r.tally.Failed(reason)
	s.Health, s.LastError, s.LastReason = target.HealthDown, failed.Error(), string(reason)
	if r.target.Auto() && s.LastSuccess.IsZero() {
		// Nothing good was ever seen there: look again next time.
		r.server.URL = ""
	}
}

// announce logs what changed, one line for it all, when it is published: nobody
// waits for the log.
func (r *Replica) announce(before *target.Status) {
	if s := &r.status; len(s.LeftOut) > 0 && len(before.LeftOut) == 0 {
		r.log.Warn("Series are left off the page", "what", strings.Join(s.LeftOut, "; "))
	}
	assess.Announce(r.log, before, &r.status, r.server.RedactedURL(), r.server.Engine.Kind())
}
