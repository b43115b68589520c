package account

import (
	"fmt"
	"math"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// ledger adds up the pages of one replica.
type ledger struct {
	Replica

	tier         engine.Tier
	capabilities []target.Check
	columns      columns
	counters     map[string]*counter
	// base is the page from which everything is counted, last the newest one, worked the last one that
	// shows work. All are zero before there is one. Tried is the last scrape, with or without a page.
	base, last, worked, tried time.Time
	// first is the first page. Late is true if scrapes before it failed, or if it became a target meanwhile.
	first    time.Time
	late     bool
	restarts int
	// address is where its last page was.
	address string
	// fromZero is true if a counter that has not been seen was 0 before.
	fromZero bool
	// pages are the times of all pages, points what the gauges of each model were on those that have it.
	pages  []time.Time
	points map[string][]point
	// ended are interruptions that are over, open the others by cause.
	ended []Interruption
	open  map[Cause]*Interruption
}

// point is a page; absent gauges are NaN.
type point struct {
	at     time.Time
	values [gauges]float64
}

func newLedger(r Replica) *ledger {
	return &ledger{
		Replica:  r,
		counters: make(map[string]*counter),
		points:   make(map[string][]point),
		open:     make(map[Cause]*Interruption),
	}
}

// add adds a scrape, and reports whether its page shows work since the one before.
func (l *ledger) add(p *Page) (worked bool) {
	l.tried = p.At
	l.State, l.Reason = p.State, p.Reason
	if p.Failed != "" {
		l.Failed++
		l.late = l.late || l.last.IsZero()
		l.interrupt(NoPage, true, p.At, "no page: "+p.Failed)
		return false
	}
	l.Pages++
	l.Engine, l.Version = p.Engine, p.Version
	if p.Capabilities != nil {
		l.capabilities = p.Capabilities
	}
	l.interrupt(NoPage, false, p.At, "")
	l.interrupt(Processes, p.Processes > 0, p.At, fmt.Sprintf("%d processes or more answer at its address in turn, "+
		"and each counts for itself: give each an address of its own", p.Processes))
	l.interrupt(NotReady, p.State != string(assess.Ready) || p.Suspected, p.At, p.stateReason())
	l.noteRestart(p)
	l.noteAddress(p)
	if isEmpty(p.Derived) {
		return false
	}
	worked = l.read(p)
	if l.last.IsZero() {
		l.first = p.At
	}
	if l.last = p.At; worked {
		l.worked = p.At
	}
	return worked
}

// isEmpty reports whether a page has series, but no values: it is not known which process it is of. One
// without series is of a server that has counted nothing yet.
func isEmpty(b *exposition.Block) bool {
	if b.Shape().Lines() == 0 {
		return false
	}
	for line := range b.Shape().Lines() {
		if len(b.Text(line)) > 0 {
			return false
		}
	}
	return true
}

func (p *Page) stateReason() string {
	if p.Suspected {
		return "it seems to hang: " + p.Reason
	}
	return "it was " + p.State + ": " + p.Reason
}

// noteRestart lets all counters begin at 0 if the process is a new one.
func (l *ledger) noteRestart(p *Page) {
	first := l.last.IsZero()
	if !first && p.Restarts > l.restarts {
		l.happen(Restarted, p.At, "it restarted, and what it counted after the page before is lost")
		for _, c := range l.counters {
			c.last, c.seen, c.away = 0, true, false
		}
		l.fromZero = true
	}
	l.restarts = p.Restarts
	l.fromZero = l.fromZero || p.CountersAppear
}

// noteAddress lets all counters begin with what they show if another server has the name now: what they count has
// nothing to do with those of the one before.
func (l *ledger) noteAddress(p *Page) {
	if moved := l.address != "" && l.address != p.Address; moved && !l.last.IsZero() {
		l.happen(Restarted, p.At, "another server has its name now, and what either counted meanwhile is not known")
		for _, c := range l.counters {
			c.last, c.seen, c.away = math.NaN(), true, false
		}
	}
	l.address = p.Address
}

// read reads the numbers of a page, and reports whether they show work.
func (l *ledger) read(p *Page) (worked bool) {
	block := p.Derived
	if block.Shape() != l.columns.shape {
		l.index(block.Shape())
	}
	for _, at := range l.columns.counters {
		if v, ok := block.Value(at.line); ok && l.count(at.counter, v, p.At) && at.counter.family != gpuEnergy {
			worked = true
		}
	}
	now := make(map[string]*[gauges]float64)
	for _, at := range l.columns.gauges {
		values := now[at.model]
		if values == nil {
			values = &[gauges]float64{}
			for g := range values {
				values[g] = math.NaN()
			}
			now[at.model] = values
		}
		v, ok := block.Value(at.line)
		if !ok {
			continue
		}
		values[at.gauge] = combined(at.gauge, values[at.gauge], v)
		worked = worked || v > 0 && (at.gauge == running || at.gauge == active || at.gauge == queue)
	}
	l.pages = append(l.pages, p.At)
	for model, values := range now {
		l.points[model] = append(l.points[model], point{p.At, *values})
	}
	return worked
}

// combined combines a gauge of two series of a model: shares are not added.
func combined(g gauge, before, v float64) float64 {
	switch {
	case math.IsNaN(before):
		return v
	case g == cache || g == wholeKnown:
		return max(before, v)
	}
	return before + v
}

// count takes the value of a counter, and reports whether it grew. The energy of a GPU is absent while
// it stands still, so that its first value is never growth.
func (l *ledger) count(c *counter, v float64, at time.Time) (grew bool) {
	before := c.last
	switch {
	case math.IsNaN(before):
		before = v
	case c.seen && v < before*(1-1e-9):
		l.happen(Reset, at, "its "+c.family+" fell: "+c.model+" was loaded again, and what it counted after the page "+
			"before is lost")
		before = 0
	case c.seen && c.away && v > 0:
		l.happen(Reset, at, "its "+c.family+" of "+c.model+" was away from the page for a time, and whether it began "+
			"again meanwhile is not known")
	case !c.seen && (l.base.IsZero() || !l.fromZero || c.family == gpuEnergy):
		before = v
		if !l.base.IsZero() && c.family != gpuEnergy && v > 0 {
			l.happen(Reset, at, "its "+c.family+" of "+c.model+" was not on the page before, and what it counted until then "+
				"is not known")
		}
	}
	c.last, c.seen, c.away = v, true, false
	c.grown += max(v-before, 0)
	return v > before
}

// rebase forgets everything before the last page.
func (l *ledger) rebase() {
	l.base, l.worked = l.last, time.Time{}
	l.Pages, l.Failed = min(l.Pages, 1), 0
	for _, c := range l.counters {
		c.grown = 0
	}
	l.pages = l.pages[len(l.pages)-1:]
	for model, points := range l.points {
		l.points[model] = points[len(points)-1:]
	}
	l.ended = nil
	for _, i := range l.open {
		i.From = l.tried
	}
}

// interrupt begins, continues or ends an interruption that lasts.
func (l *ledger) interrupt(cause Cause, holds bool, at time.Time, reason string) {
	i := l.open[cause]
	switch {
	case holds && i == nil:
		from := at
		if cause == NoPage && !l.last.IsZero() {
			from = l.last
		}
		l.open[cause] = l.interruption(cause, from, at, reason)
	case holds:
		i.To, i.Reason = at, reason
	case i != nil:
		i.To = at
		l.ended = append(l.ended, *i)
		delete(l.open, cause)
	}
}

// happen adds an interruption between the last page and this one. Many counters fall at once.
func (l *ledger) happen(cause Cause, at time.Time, reason string) {
	if n := len(l.ended); n > 0 && l.ended[n-1].Kind == cause && l.ended[n-1].To.Equal(at) {
		return
	}
	l.ended = append(l.ended, *l.interruption(cause, l.last, at, reason))
}

func (l *ledger) interruption(cause Cause, from, to time.Time, reason string) *Interruption {
	return &Interruption{
		PoolID:    l.PoolID,
		ReplicaID: l.ReplicaID,
		Kind:      cause,
		From:      from,
		To:        to,
		Reason:    reason,
	}
}
