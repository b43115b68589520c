package derive

import (
	"slices"
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
	// Stalled is true while an executor has had requests in flight and has done
	// no iteration for [Options.StallAfter]. Pages that were missed in between
	// do not matter: a counter that shows the same again did not move.
	Stalled bool
}

// watch are the columns that conditions are judged by.
type watch struct {
	succeeded, failed []int
	executors         []executor
}

// executor is one engine with its requests in flight.
type executor struct {
	active     Eval
	iterations []int
}

// observe prepares the judgement of conditions.
func (p *Plan) observe() {
	ended := func(signal engine.Signal) []int {
		return p.counted(selected(p.all(signal), func(g *group) bool {
			return g.role != engine.RolePart && g.labels.Get("reason") != "canceled"
		}))
	}
	w := &p.program.watch
	w.succeeded, w.failed = ended(engine.ModelSuccess), ended(engine.ModelFailed)
	for _, g := range p.all(engine.EngineIterations) {
		if active := p.sum(slices.Concat(p.of(engine.RequestsActive, g.id), p.of(engine.RequestsRunning, g.id))); active != nil {
			w.executors = append(w.executors, executor{active: active, iterations: p.columnsOf(g.members)})
		}
	}
}

// Conditions judges the page that was derived from last.
func (d *Deriver) Conditions() Conditions {
	if d.program == nil {
		return Conditions{}
	}
	return Conditions{Failing: d.failing >= failingPages, Stalled: d.stalled()}
}

// watchFailures follows successes and failures from page to page.
func (d *Deriver) watchFailures() {
	w, by := d.window, &d.program.watch
	failed := w.lastMoved(by.failed)
	switch {
	case w.lastMoved(by.succeeded) == w.now || w.now-max(failed, 0) > w.length:
		d.failing = 0
	case failed == w.now:
		d.failing++
	}
}

// lastMoved is when any of the counters last grew, -1 for never.
func (w *Window) lastMoved(columns []int) int64 {
	last := int64(-1)
	for _, c := range columns {
		if w.since[c] < w.changed[c] {
			last = max(last, w.changed[c])
		}
	}
	return last
}

// watchWork follows since when each executor has had work in flight.
func (d *Deriver) watchWork() {
	w := d.window
	for i := range d.busy {
		v, ok := d.program.watch.executors[i].active(w)
		switch {
		case !ok || v <= 0:
			d.busy[i] = never
		case d.busy[i] == never:
			d.busy[i] = w.now
		}
	}
}

// stalled says whether any executor does no iteration with work in flight.
func (d *Deriver) stalled() bool {
	after := d.opts.StallAfter
	if after == 0 {
		after = DefaultStallAfter
	}
	w := d.window
	for i, busy := range d.busy {
		if busy == never {
			continue
		}
		for _, c := range d.program.watch.executors[i].iterations {
			if w.since[c] != never && w.now-max(w.changed[c], busy) >= int64(after) {
				return true
			}
		}
	}
	return false
}
