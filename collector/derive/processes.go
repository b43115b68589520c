package derive

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// processTracker tells which of the processes behind an address a page belongs to,
// before the page is published. Several may answer in turn or at random: the workers
// of one server, or servers behind a load balancer. It is not safe for concurrent use.
type processTracker struct {
	// window is how long observations count.
	window    int64
	processes []*process
	current   *process
	// run counts the pages of the current process since another one answered for
	// certain, jitters those of them whose start time differs a little from the page
	// before.
	run, jitters int
	// votes is how much evidence there is for several processes, votedAt when the last
	// came in.
	votes   int
	votedAt int64
}

type process struct {
	id    engine.Process
	marks marks
	last  int64
	pages int
}

const (
	// maxProcesses limits the processes that are remembered.
	maxProcesses = 16
	// proof is how many votes prove that there are several processes.
	proof = 2
	// maxJitters is on how many pages the start time may vary, while no counter
	// decreases, before it is taken for that of one process.
	maxJitters = 10
)

// transition is how a page follows the one before.
type transition uint8

const (
	// continues is a page of the same process, restarts one of a process that started
	// since, breaks one of any other process: nothing is known of what lies between.
	continues transition = iota
	restarts
	breaks
)

// sighting is what a page shows about its process.
type sighting struct {
	transition transition
	id         engine.Process
	// process is nil for a new one. overtaken is one that ended and whose counters the
	// current one has reached.
	process, overtaken *process
	// votes is how much the page speaks for several processes.
	votes int
}

// identify returns which process a page belongs to, and changes nothing.
func (t *processTracker) identify(now int64, block *exposition.Block, page *engine.Page) sighting {
	s := sighting{id: page.Process(block)}
	if t.current == nil {
		return s
	}
	t.classify(&s, now, block, page)
	if t.recentVotes(now)+s.votes >= proof {
		s.transition = breaks
	}
	return s
}

// classify assigns a page to the process whose counters are nearest.
func (t *processTracker) classify(s *sighting, now int64, block *exposition.Block, page *engine.Page) {
	m := t.match(s.id, now-t.window, block, page)
	s.process = m.process
	switch {
	case s.process == t.current:
		if t.startDiffers(s.id) && t.jitters < maxJitters {
			s.transition = breaks
		}
	case s.process != nil:
		s.transition = breaks
		t.classifyReturn(s, &m)
	case m.replaced || m.now.restarted():
		s.transition = restarts
		if m.replaced && t.current.outlives(s.id, now) {
			s.votes = 1
		}
	default:
		s.transition = breaks
		if m.now.barelyDecreased() {
			s.votes = 1
		}
	}
}

// match is the process that a page continues; nil if there is none.
type match struct {
	process *process
	// grown is the share of its counts that is new on the page.
	grown float64
	// now is how the page differs from the current process. It fits if the page may
	// belong to that, and is replaced if the page names another one.
	now            changes
	fits, replaced bool
}

// match compares a page with each process that answered since a time.
func (t *processTracker) match(id engine.Process, since int64, block *exposition.Block, page *engine.Page) (m match) {
	places := sync.OnceValue(func() map[uint64]exposition.ValueIndex {
		all := make(map[uint64]exposition.ValueIndex)
		for _, s := range page.Sources() {
			all[s.Labels.Hash()] = s.Place
		}
		return all
	})
	for _, p := range t.processes {
		same, named := p.id.SameAs(id)
		switch {
		case named && !same:
			m.replaced = m.replaced || p == t.current
			continue
		case !same && p != t.current && p.last < since && (p.id != id || id == engine.Process{}):
			continue // It has not answered for long, and the page does not name it.
		}
		c := p.marks.compare(block, page, places)
		fits := same || c.continues()
		if p == t.current {
			fits = same || !c.otherProcess() && (p.id.Started > 0 && p.id == id || !c.leaps())
			m.now, m.fits = c, fits
		}
		if fits && (same || m.process == nil || c.grown < m.grown) {
			m.process, m.grown = p, c.grown
		}
	}
	return m
}

// startDiffers reports whether the start time on a page differs a little from the one
// before: the clock is being set, or the workers of a server started together.
func (t *processTracker) startDiffers(id engine.Process) bool {
	return t.current.id.Started > 0 && t.current.id.Started != id.Started
}

// classifyReturn judges a page of a process that another one had replaced. A page that
// names its process is proof. By counters alone it may be a young process that has
// reached what an earlier one had counted: that takes as many pages as the earlier one
// had, and does not hit its counters closely.
func (t *processTracker) classifyReturn(s *sighting, m *match) {
	switch {
	case m.replaced, 4*m.grown <= m.now.grown && s.process.pages >= 8*t.run:
		s.votes = proof
	case m.now.otherProcess():
		s.votes = 1
	case m.fits && 2*t.run > s.process.pages:
		s.process, s.overtaken = t.current, s.process
	}
}

// outlives reports whether a process cannot have ended for a new one: that started
// before it, or, if it answered only once, later after it than the time between the
// pages allows.
func (p *process) outlives(next engine.Process, now int64) bool {
	if p.id.Started <= 0 || next.Started <= 0 {
		return false
	}
	after, seen := next.Started-p.id.Started, time.Duration(now-p.last).Seconds()
	return after < 0 || p.pages == 1 && after > 2*seen+2
}

// recentVotes returns the votes of the last window.
func (t *processTracker) recentVotes(now int64) int {
	if now-t.votedAt > t.window {
		return 0
	}
	return t.votes
}

// record stores what was seen of a page that is part of the window.
func (t *processTracker) record(now int64, s *sighting, block *exposition.Block, page *engine.Page) {
	p := s.process
	switch {
	case p == nil:
		t.prune(now - t.window)
		p = &process{}
		t.processes = append(t.processes, p)
	case s.overtaken != nil:
		t.remove(s.overtaken)
	}
	if t.votes = t.recentVotes(now); s.votes > 0 || t.votes >= proof && p != t.current {
		t.votes, t.votedAt = min(t.votes+s.votes, proof), now
	}
	switch {
	case p != t.current:
		t.run, t.jitters = 0, 0
	case t.startDiffers(s.id):
		t.jitters++
	}
	t.run++
	p.marks.update(block, page, &cmp.Or(t.current, p).marks)
	t.current, p.id, p.last = p, s.id, now
	p.pages++
}

// prune drops the counters of processes that have not answered since a time, those
// that only their counters identify with them, and the oldest one if there are too
// many.
func (t *processTracker) prune(since int64) {
	t.processes = slices.DeleteFunc(t.processes, func(p *process) bool {
		if p != t.current && p.last < since {
			p.marks = marks{}
			return p.id == engine.Process{}
		}
		return false
	})
	if len(t.processes) >= maxProcesses {
		t.remove(slices.MinFunc(t.processes, func(a, b *process) int { return cmp.Compare(a.last, b.last) }))
	}
}

func (t *processTracker) remove(p *process) {
	t.processes = slices.DeleteFunc(t.processes, func(o *process) bool { return o == p })
}

// count returns how many processes are known to answer, or 0 if no more than one is.
func (t *processTracker) count(now int64) int {
	if t.recentVotes(now) < proof {
		return 0
	}
	n := 0
	for _, p := range t.processes {
		if p.last >= now-t.window && (p.pages > 1 || p.id != engine.Process{}) {
			n++
		}
	}
	return max(n, 2)
}
