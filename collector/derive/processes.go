package derive

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// processTracker determines which process a page belongs to. Several processes may answer in
// turn: the workers of one server, or servers behind a load balancer.
type processTracker struct {
	// window is for how long observations count.
	window    int64
	processes []*process
	current   *process
	// run counts the pages since another process certainly answered, jitters how many of them had
	// a slightly different start time than the previous page.
	run, jitters int
	// votes is the evidence for several processes, votedAt when it was last found.
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
	// maxJitters is for how many pages the start time may vary, without a decreasing counter,
	// until it counts as the start time of a single process.
	maxJitters = 10
)

// transition is how a page follows the previous one.
type transition uint8

const (
	// continues means the same process, restarts a process that started since, and breaks any
	// other process, in which case nothing is known about the time between the pages.
	continues transition = iota
	restarts
	breaks
)

// sighting describes what a page shows about its process.
type sighting struct {
	transition transition
	id         engine.Process
	// process is nil if it is new. overtaken is an ended process whose counters the page has
	// reached.
	process, overtaken *process
	// grown is the share of the process's counts that is new on the page.
	grown float64
	// now is how the page differs from the current process. fits is true if the page may belong
	// to it, replaced if the page names another process.
	now            changes
	fits, replaced bool
	// votes is the evidence of the page for several processes.
	votes int
}

// identify determines which process a page belongs to. It does not change the tracker.
func (t *processTracker) identify(now int64, block *exposition.Block, page *engine.Page) sighting {
	s := sighting{id: page.Process(block)}
	if t.current == nil {
		return s
	}
	t.match(&s, now-t.window, block, page)
	t.classify(&s, now)
	if t.recentVotes(now)+s.votes >= proof {
		s.transition = breaks
	}
	return s
}

// classify determines how a page follows the previous one.
func (t *processTracker) classify(s *sighting, now int64) {
	switch {
	case s.process == t.current:
		if t.startDiffers(s.id) && t.jitters < maxJitters {
			s.transition = breaks
		}
	case s.process != nil:
		s.transition = breaks
		t.classifyReturn(s)
	case s.replaced || s.now.restarted():
		s.transition = restarts
		if s.replaced && t.current.outlives(s.id, now) {
			s.votes = 1
		}
	default:
		s.transition = breaks
		if s.now.barelyDecreased() {
			s.votes = 1
		}
	}
}

// match assigns a page to the process with the nearest counters that answered since a time.
func (t *processTracker) match(s *sighting, since int64, block *exposition.Block, page *engine.Page) {
	places := sync.OnceValue(func() map[uint64]exposition.ValueIndex {
		all := make(map[uint64]exposition.ValueIndex)
		for _, source := range page.Sources() {
			all[source.Labels.Hash()] = source.Place
		}
		return all
	})
	for _, p := range t.processes {
		same, distinguishable := p.id.SameAs(s.id)
		switch {
		case distinguishable && !same:
			s.replaced = s.replaced || p == t.current
			continue
		case !same && p != t.current && p.last < since && (p.id != s.id || s.id == engine.Process{}):
			continue // It has not answered for long and is not named by the page.
		}
		c := p.marks.compare(block, page, places)
		fits := same || c.continues()
		if p == t.current {
			fits = same || !c.otherProcess() && (p.id.Started > 0 && p.id == s.id || !c.leaps())
			s.now, s.fits = c, fits
		}
		if fits && (same || s.process == nil || c.grown < s.grown) {
			s.process, s.grown = p, c.grown
		}
	}
}

// startDiffers reports whether the start time differs from the previous page's: the clock is
// being adjusted, or the workers of a server started together.
func (t *processTracker) startDiffers(id engine.Process) bool {
	return t.current.id.Started > 0 && t.current.id.Started != id.Started
}

// classifyReturn classifies a page of a process that another process had replaced. A page that
// names its process is proof. By counters alone it may be a young process that has reached the
// counts of an earlier one, but that takes as many pages and does not match closely.
func (t *processTracker) classifyReturn(s *sighting) {
	switch {
	case s.replaced, 4*s.grown <= s.now.grown && s.process.pages >= 8*t.run:
		s.votes = proof
	case s.now.otherProcess():
		s.votes = 1
	case s.fits && 2*t.run > s.process.pages:
		s.process, s.overtaken = t.current, s.process
	}
}

// outlives reports whether a process cannot have been replaced by next, because next started
// before it, or too long after its only page.
func (p *process) outlives(next engine.Process, now int64) bool {
	if p.id.Started <= 0 || next.Started <= 0 {
		return false
	}
	delay, elapsed := next.Started-p.id.Started, time.Duration(now-p.last).Seconds()
	return delay < 0 || p.pages == 1 && delay > 2*elapsed+2
}

// recentVotes returns the votes of the last window.
func (t *processTracker) recentVotes(now int64) int {
	if now-t.votedAt > t.window {
		return 0
	}
	return t.votes
}

// record stores the sighting of a page that is part of the window.
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
	p.marks.update(block, page)
	t.current, p.id, p.last = p, s.id, now
	p.pages++
}

// prune drops processes that have not answered since a time, and the oldest of too many.
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

// count returns how many processes are known to answer, or 0 if only one is.
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

// maxMarks limits the counters by which a process is recognized.
const maxMarks = 64

// marks holds counters of the newest page of a process.
type marks struct {
	page   *engine.Page
	places []exposition.ValueIndex
	values []float64
}

// update stores the counters of a page.
func (m *marks) update(block *exposition.Block, page *engine.Page) {
	if page != m.page {
		m.page, m.places = page, nil
		for _, i := range markedCounters(page) {
			m.places = append(m.places, page.Shape().WatchedIndex(i))
		}
		m.values = make([]float64, len(m.places))
	}
	block.Numbers(m.places, m.values)
}

// markedCounters returns the indexes of up to maxMarks counters, spread over the page.
func markedCounters(page *engine.Page) []int {
	all := page.Counters()
	if len(all) <= maxMarks {
		return all
	}
	for i := range maxMarks {
		all[i] = all[i*len(all)/maxMarks]
	}
	return all[:maxMarks]
}

// changes describes how the counters of a process differ on another page.
type changes struct {
	// present counts the counters that the page has, positive the counters that were above 0,
	// missing and decreased how many of the positive ones it lacks or has with a smaller value.
	present, positive, missing, decreased int
	// grown is the mean share of the present values that is new, retained the mean share of their
	// values that decreased counters still have.
	grown, retained float64
}

// compare returns how a page differs from the marks; places returns its places by label hash.
func (m *marks) compare(block *exposition.Block, page *engine.Page, places func() map[uint64]exposition.ValueIndex) (c changes) {
	indexes := m.places
	if page != m.page && m.page != nil {
		indexes = nil
		for _, i := range markedCounters(m.page) {
			place, ok := places()[m.page.Shape().WatchedLabels(i).Hash()]
			if !ok {
				place = nowhere
			}
			indexes = append(indexes, place)
		}
	}
	for i, previous := range m.values {
		v := math.NaN()
		if indexes[i] != nowhere {
			v = block.Number(indexes[i])
		}
		if finite(v) {
			c.present++
		}
		switch {
		case !(previous > 0):
			if c.positive == 0 && v > 0 {
				c.grown = 1 // Everything is new for a process that had counted nothing yet.
			}
			continue
		case c.positive == 0:
			c.grown = 0
		}
		c.positive++
		switch {
		case !finite(v):
			c.missing++
		case v < previous:
			c.decreased++
			c.grown++
			c.retained += v / previous
		default:
			c.grown += (v - previous) / v
		}
	}
	c.grown /= float64(max(c.positive-c.missing, 1))
	c.retained /= float64(max(c.decreased, 1))
	return c
}

const (
	// minDecreased is how many counters must decrease, or all if there are fewer, before a page
	// belongs to another process: single counters are reset one by one.
	minDecreased = 3
	// leap is the share of new counts above which a page hardly belongs to the same process: its
	// counters are five times their previous values.
	leap = 0.8
)

// otherProcess reports whether too many counters decreased for the same process.
func (c *changes) otherProcess() bool {
	return c.decreased > 0 && c.decreased+c.missing >= min(minDecreased, c.positive) || c.missing > 0 && c.present == 0
}

// restarted reports whether nearly all counters decreased by far or vanished: a server that shuts
// down unloads its models. A young process may already have counted as much again.
func (c *changes) restarted() bool {
	return (c.decreased > 0 || c.present == 0) && 3*(c.decreased+c.missing) >= 2*c.positive && !c.barelyDecreased()
}

// barelyDecreased reports whether counters decreased to values that a process hardly reaches
// between its start and its first page: they belong to another running process.
func (c *changes) barelyDecreased() bool { return c.positive >= minDecreased && c.retained > 0.5 }

// leaps reports whether most counts are new.
func (c *changes) leaps() bool { return c.positive >= minDecreased && c.grown >= leap }

// continues reports whether counters alone show the same process.
func (c *changes) continues() bool {
	return 10*(c.decreased+c.missing) <= c.positive && c.grown < leap
}

// nowhere is the place of a counter that is not on a page.
const nowhere = exposition.ValueIndex(math.MaxUint32)
