package derive

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// DefaultStallAfter leaves room for one long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// failingPages is on how many pages requests must fail, and none succeed, for
// a replica to count as failing: one page may be one bad client.
const failingPages = 2

// Conditions are what the numbers of a page say of a replica as a whole.
type Conditions struct {
	// Failing is true while requests to entry models fail and none succeeds.
	// Cancelled requests are not failures.
	Failing bool
	// Stalled is true while an executor has requests in flight and has done no
	// iteration for [Options.StallAfter].
	Stalled bool
}

// Conditions judges the page that was derived from last.
func (d *Deriver) Conditions() Conditions {
	if d.plan == nil {
		return Conditions{}
	}
	return Conditions{Failing: d.failing >= failingPages, Stalled: d.stalled()}
}

// watchFailures follows successes and failures from page to page.
func (d *Deriver) watchFailures() {
	w := d.window
	succeeded := d.moved(engine.ModelSuccess)
	switch {
	case succeeded || w.now-max(d.lastMoved(engine.ModelFailed), 0) > w.length:
		d.failing = 0
	case d.moved(engine.ModelFailed):
		d.failing++
	}
}

// moved says whether a counter of an entry or single model grew on the page.
func (d *Deriver) moved(signal engine.Signal) bool {
	return d.lastMoved(signal) == d.window.now
}

// lastMoved is when such a counter last grew.
func (d *Deriver) lastMoved(signal engine.Signal) int64 {
	last := int64(-1)
	for _, g := range d.plan.groups[signal] {
		if g.role == engine.RolePart || g.labels.Get("reason") == "CANCELED" {
			continue
		}
		for _, c := range g.columns {
			if d.window.since[c] < d.window.changed[c] {
				last = max(last, d.window.changed[c])
			}
		}
	}
	return last
}

// stalled says whether any executor stands still with work in flight.
func (d *Deriver) stalled() bool {
	after := d.opts.StallAfter
	if after == 0 {
		after = DefaultStallAfter
	}
	w := d.window
	for _, iterations := range d.plan.groups[engine.EngineIterations] {
		active := sum(append(d.plan.of(engine.RequestsActive, iterations.id), d.plan.of(engine.RequestsRunning, iterations.id)...))
		if active == nil {
			continue
		}
		if v, ok := active(w); !ok || v <= 0 {
			continue
		}
		for _, c := range iterations.columns {
			if w.since[c] != never && w.now-max(w.changed[c], w.since[c]) >= int64(after) {
				return true
			}
		}
	}
	return false
}
