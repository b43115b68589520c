package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// maxMarks limits the counters by which a process is recognized.
const maxMarks = 64

// marks holds counters of the newest page of a process. It is not safe for concurrent
// use.
type marks struct {
	page   *engine.Page
	places []exposition.ValueIndex
	values []float64
}

// update stores the counters of a page. It shares the places of like if that has the
// same shape.
func (m *marks) update(block *exposition.Block, page *engine.Page, like *marks) {
	if page != m.page {
		places := like.places
		if like.page != page {
			places = nil
			for _, i := range markedCounters(page) {
				places = append(places, page.Shape().WatchedIndex(i))
			}
		}
		m.page, m.places, m.values = page, places, make([]float64, len(places))
	}
	block.Numbers(m.places, m.values)
}

// markedCounters returns up to maxMarks counters from all over a page, by the numbers
// of their series.
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

// changes describes what became of the counters of a process on another page.
type changes struct {
	// present counts those that the page has. Of those that were above 0, which
	// positive counts, some are missing and some decreased.
	present, positive, missing, decreased int
	// grown is the mean share of the present values that is new, retained the mean
	// share that is left of those that decreased.
	grown, retained float64
}

// compare returns how a page differs from the marks, given the places of its series
// by the hash of their labels.
func (m *marks) compare(block *exposition.Block, page *engine.Page, places func() map[uint64]exposition.ValueIndex) (c changes) {
	here := m.places
	if page != m.page && m.page != nil {
		here = m.placesIn(places())
	}
	for i, before := range m.values {
		v := math.NaN()
		if here[i] != nowhere {
			v = block.Number(here[i])
		}
		if finite(v) {
			c.present++
		}
		switch {
		case !(before > 0):
			if c.positive == 0 && v > 0 {
				c.grown = 1 // All is new for a process that had counted nothing yet.
			}
			continue
		case c.positive == 0:
			c.grown = 0
		}
		c.positive++
		switch {
		case !finite(v):
			c.missing++
		case v < before:
			c.decreased++
			c.grown++
			c.retained += v / before
		default:
			c.grown += (v - before) / v
		}
	}
	c.grown /= float64(max(c.positive-c.missing, 1))
	c.retained /= float64(max(c.decreased, 1))
	return c
}

const (
	// minDecreased is how many counters must decrease, or all if there are fewer, for
	// a page to belong to another process: resets of single counters come one by one.
	minDecreased = 3
	// leap is the share of new counts from which on a page hardly belongs to the same
	// process: its counters are five times what they were.
	leap = 0.8
)

// otherProcess reports whether too many counters decreased for a page of the same
// process, or none is left.
func (c *changes) otherProcess() bool {
	return c.decreased > 0 && c.decreased+c.missing >= min(minDecreased, c.positive) || c.missing > 0 && c.present == 0
}

// restarted reports whether nearly all counters decreased, and far, as when a process
// restarts. Those of a young process may be as high again already. A server that ends
// unloads its models, whose counters vanish without decreasing.
func (c *changes) restarted() bool {
	return (c.decreased > 0 || c.present == 0) && 3*(c.decreased+c.missing) >= 2*c.positive && !c.barelyDecreased()
}

// barelyDecreased reports whether counters decreased to values that a process hardly reaches
// between its start and its first page: they belong to another running process.
func (c *changes) barelyDecreased() bool { return c.positive >= minDecreased && c.retained > 0.5 }

// leaps reports whether nearly all counts are new.
func (c *changes) leaps() bool { return c.positive >= minDecreased && c.grown >= leap }

// continues reports whether counters alone show the same process.
func (c *changes) continues() bool {
	return 10*(c.decreased+c.missing) <= c.positive && c.grown < leap
}

// nowhere is the place of a counter that a page lacks.
const nowhere = exposition.ValueIndex(math.MaxUint32)

// placesIn returns the places of the marks on a page of another shape.
func (m *marks) placesIn(index map[uint64]exposition.ValueIndex) []exposition.ValueIndex {
	var places []exposition.ValueIndex
	for _, i := range markedCounters(m.page) {
		place, ok := index[m.page.Shape().WatchedLabels(i).Hash()]
		if !ok {
			place = nowhere
		}
		places = append(places, place)
	}
	return places
}
