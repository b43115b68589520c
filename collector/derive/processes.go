package derive

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// processes know of which of the processes behind an address a page is: there may be
// several, as those of one server, or of a load balancer, in turn or at random. It is
// known before a page is published. The zero value knows none. They are not safe for
// concurrent use.
type processes struct {
	known   []*process
	current *process
	// run is on how many pages the current one has answered since another did for
	// certain.
	run int
	// wavered is on how many pages since then its start was a little other than on the
	// page before.
	wavered int
	// votes are how much speaks for several, voted when anything did last.
	votes int
	voted int64
}

// process is one that answered.
type process struct {
	is    engine.Process
	marks marks
	last  int64
	pages int
}

const (
	// mostProcesses bounds those that are known.
	mostProcesses = 16
	// certain is how many votes are proof of several processes.
	certain = 2
	// jitters is on how many pages the start of a process has to waver while no counters
	// fall, for it to be one process.
	jitters = 10
)

// turn says how a page follows the one before.
type turn uint8

const (
	// continues is of a page of the same process, restarts of one that began since,
	// breaks of any other: nothing can be said of what lies between.
	continues turn = iota
	restarts
	breaks
)

// met is what is seen of a page.
type met struct {
	turn turn
	is   engine.Process
	// of is nil for a process that was not known, overtaken one that ended, whose
	// counters the current one has reached.
	of, overtaken *process
	// votes are how much the page speaks for several processes.
	votes int
}

// look sees of which process a page is; nothing is changed by it. What was seen
// counts for as long as the window.
func (p *processes) look(at, window int64, raw *exposition.Block, read *engine.Page) met {
	m := met{is: read.Process(raw)}
	if p.current == nil {
		return m
	}
	p.judge(&m, at, window, raw, read)
	if p.lately(at, window)+m.votes >= certain {
		m.turn = breaks
	}
	return m
}

// judge compares a page with the processes that are known: it is of the one whose
// counters it is nearest to.
func (p *processes) judge(m *met, at, window int64, raw *exposition.Block, read *engine.Page) {
	n := p.nearest(m, at-window, raw, read)
	m.of = n.of
	switch {
	case m.of == p.current:
		if p.wavers(m.is) && p.wavered < jitters {
			m.turn = breaks
		}
	case m.of != nil:
		m.turn = breaks
		m.returned(p, &n)
	case n.replaced || n.now.begun():
		m.turn = restarts
		if n.replaced && p.current.outlives(m.is, at) {
			m.votes = 1
		}
	default:
		m.turn = breaks
		if n.now.near() {
			m.votes = 1
		}
	}
}

// nearest is the known process that a page goes on from; nil for none.
type nearest struct {
	of *process
	// grown is which part of its counters is new on the page.
	grown float64
	// now is what became of the counters of the current process, which fits where the
	// page may be of it, and is replaced where the page says that it is not.
	now            changes
	fits, replaced bool
}

// nearest compares a page with each known process that was seen since a moment.
func (p *processes) nearest(m *met, since int64, raw *exposition.Block, read *engine.Page) (n nearest) {
	var found found
	for _, one := range p.known {
		same, known := one.is.SameAs(m.is)
		switch {
		case known && !same:
			n.replaced = n.replaced || one == p.current
			continue
		case !same && one != p.current && one.lost(since, m.is):
			continue
		}
		c := one.marks.compare(raw, read, &found)
		goes := same || c.goesOn()
		if one == p.current {
			n.now, n.fits = c, same || !c.broken() && (one.is.Started > 0 && one.is == m.is || !c.leaps())
			goes = n.fits
		}
		if goes && (same || n.of == nil || c.grown < n.grown) {
			n.of, n.grown = one, c.grown
		}
	}
	return n
}

// wavers reports whether the start that a page says is a little other than before: by
// a clock that is being set, or because the workers of a server began together.
func (p *processes) wavers(is engine.Process) bool {
	return p.current.is.Started > 0 && p.current.is.Started != is.Started
}

// returned judges a page that is of a process that another had replaced. Where it
// says which it is, that is proof. By its counters it may be a young one that has
// reached what an earlier one had counted: that takes as many pages as the earlier
// one had, and does not hit it closely.
func (m *met) returned(p *processes, n *nearest) {
	switch {
	case n.replaced, 4*n.grown <= n.now.grown && m.of.pages >= 8*p.run:
		m.votes = certain
	case n.now.broken():
		m.votes = 1
	case n.fits && 2*p.run > m.of.pages:
		m.of, m.overtaken = p.current, m.of
	}
}

// lost reports whether a process has not answered for long, and the page of which
// something is known does not say that it is of it.
func (p *process) lost(since int64, is engine.Process) bool {
	return p.last < since && (p.is != is || is == engine.Process{})
}

// outlives reports whether a process cannot have ended for a new one: that began
// before it, or, where it answered once only, longer after it than the time between
// them allows.
func (p *process) outlives(next engine.Process, at int64) bool {
	if p.is.Started <= 0 || next.Started <= 0 {
		return false
	}
	after, seen := next.Started-p.is.Started, time.Duration(at-p.last).Seconds()
	return after < 0 || p.pages == 1 && after > 2*seen+2
}

// lately is how much spoke for several processes of late.
func (p *processes) lately(now, window int64) int {
	if now-p.voted > window {
		return 0
	}
	return p.votes
}

// take notes what was seen of a page that is followed.
func (p *processes) take(at, window int64, m *met, raw *exposition.Block, read *engine.Page) {
	of := m.of
	switch {
	case of == nil:
		p.forget(at - window)
		of = &process{}
		p.known = append(p.known, of)
	case m.overtaken != nil:
		p.known = slices.DeleteFunc(p.known, func(one *process) bool { return one == m.overtaken })
	}
	if p.votes = p.lately(at, window); m.votes > 0 || p.votes >= certain && of != p.current {
		p.votes, p.voted = min(p.votes+m.votes, certain), at
	}
	switch {
	case of != p.current:
		p.run, p.wavered = 0, 0
	case p.wavers(m.is):
		p.wavered++
	}
	p.run++
	of.marks.take(raw, read, &cmp.Or(p.current, of).marks)
	p.current, of.is, of.last = of, m.is, at
	of.pages++
}

// forget drops processes for which there is no room, and the counters of those that
// have not answered for long: with them those that are known by nothing else.
func (p *processes) forget(since int64) {
	p.known = slices.DeleteFunc(p.known, func(one *process) bool {
		if one != p.current && one.last < since {
			one.marks = marks{}
			return one.is == engine.Process{}
		}
		return false
	})
	if len(p.known) < mostProcesses {
		return
	}
	oldest := slices.MinFunc(p.known, func(a, b *process) int { return int(min(max(a.last-b.last, -1), 1)) })
	p.known = slices.DeleteFunc(p.known, func(one *process) bool { return one == oldest })
}

// several is how many processes answer, as far as they are known to, and 0 where no
// more than one is.
func (p *processes) several(now, window int64) int {
	if p.lately(now, window) < certain {
		return 0
	}
	n := 0
	for _, one := range p.known {
		if one.last >= now-window && (one.pages > 1 || one.is != engine.Process{}) {
			n++
		}
	}
	return max(n, 2)
}
