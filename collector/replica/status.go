package replica

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// newTally returns a tally of nothing.
func newTally() tally { return tally{begun: time.Now(), failures: make(map[scrape.Reason]uint64)} }

// tally counts what happened to a target since its replica began.
type tally struct {
	begun      time.Time
	failures   map[scrape.Reason]uint64
	skipped    uint64
	drops      [len(exposition.Drops{}.ByReason)]uint64
	collisions uint64
	timestamps uint64
	conflicts  uint64
	reshaped   uint64
}

// count adds one good page.
func (t *tally) count(d exposition.Drops) {
	for i, n := range d.ByReason {
		t.drops[i] += uint64(n)
	}
	t.collisions += uint64(d.Collisions)
	t.timestamps += uint64(d.Timestamps)
	t.conflicts += uint64(d.Conflicts)
}

// report notes how a scrape went; failed is why there is no page.
func (r *Replica) report(p *fetch.Page, failed error) {
	s := &r.status
	s.LastScrape, s.LastDuration = p.Start, p.Took
	s.Scrapes++
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
	r.tally.failures[reason]++
	s.Health, s.LastError, s.LastReason = target.HealthDown, failed.Error(), string(reason)
	if r.target.Auto() && s.LastSuccess.IsZero() {
		// Nothing good was ever seen there: look again next time.
		r.server.URL = ""
	}
}

// announce logs what changed, when it is published: nobody waits for the log.
func (r *Replica) announce(before *target.Status) {
	s := &r.status
	switch {
	case s.Health == target.HealthUp && before.Health != target.HealthUp:
		r.log.Info("Target is up", "url", r.server.URL, "engine", string(r.server.Engine.Kind()), "samples", s.Samples)
	case s.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != s.LastReason):
		r.log.Warn("Target is down", "url", r.server.URL, "reason", s.LastReason, "err", s.LastError)
	}
	if s.State != before.State {
		r.log.Info("Replica changed state", "state", s.State, "was", before.State, "severity", s.Severity, "reason", s.StateReason)
	}
}
