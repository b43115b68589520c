package replica

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// report notes how a scrape went; failed is why there is no page.
func (r *Replica) report(p *fetch.Page, failed error) {
	s := &r.status
	s.PageURL = r.server.URL
	s.LastScrape, s.LastDuration = p.Start, p.Took
	s.Scrapes++
	s.EngineEvidence = r.server.Evidence
	if failed == nil {
		s.Health, s.LastSuccess, s.LastError, s.LastReason = target.HealthUp, p.Came, "", ""
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
	s := &r.status
	up := s.Health == target.HealthUp
	if len(s.LeftOut) > 0 && len(before.LeftOut) == 0 {
		r.log.Warn("Series are left off the page", "what", strings.Join(s.LeftOut, "; "))
	}
	switch {
	case s.State != before.State:
		attrs := []any{"state", s.State, "was", before.State, "severity", s.Severity, "reason", s.StateReason, "url", r.server.Shown()}
		if up {
			attrs = append(attrs, "engine", string(r.server.Engine.Kind()), "samples", s.Samples)
		} else if s.LastReason != "" {
			attrs = append(attrs, "failure", s.LastReason)
		}
		r.logFor(s.Severity)("Replica changed state", attrs...)
	case up && before.Health != target.HealthUp:
		r.log.Info("Target is up", "url", r.server.Shown(), "engine", string(r.server.Engine.Kind()), "samples", s.Samples)
	case s.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != s.LastReason):
		r.log.Warn("Target is down", "url", r.server.Shown(), "failure", s.LastReason, "err", s.LastError)
	}
}

// logFor logs at the level of a verdict of that severity.
func (r *Replica) logFor(severity string) func(message string, attrs ...any) {
	switch assess.Severity(severity) {
	case assess.Broken:
		return r.log.Error
	case assess.Look:
		return r.log.Warn
	case assess.OK:
	}
	return r.log.Info
}
