package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// mostMarks bounds the counters by which a process is known.
const mostMarks = 64

// marks are counters of the newest page of a process. They are not safe for
// concurrent use.
type marks struct {
	read   *engine.Page
	places []exposition.ValueIndex
	values []float64
}

// take notes the counters of a page; like are marks that may be of the same shape,
// which share their places.
func (m *marks) take(raw *exposition.Block, read *engine.Page, like *marks) {
	if read != m.read {
		places := like.places
		if like.read != read {
			places = placesOf(read)
		}
		m.read, m.places = read, places
		m.values = make([]float64, len(m.places))
	}
	raw.Numbers(m.places, m.values)
}

// placesOf are the places of the counters that are marks.
func placesOf(read *engine.Page) (places []exposition.ValueIndex) {
	for _, i := range marked(read) {
		places = append(places, read.Shape().WatchedIndex(i))
	}
	return places
}

// marked are up to mostMarks counters of a page, from all over it, by the numbers
// of their series.
func marked(read *engine.Page) []int {
	all := read.Counters()
	if len(all) <= mostMarks {
		return all
	}
	for i := range mostMarks {
		all[i] = all[i*len(all)/mostMarks]
	}
	return all[:mostMarks]
}

// changes are what became of the counters of a process on another page.
type changes struct {
	// left are those that are still there, counted those that were above 0, of which
	// some are gone and some fell.
	left, counted, gone, fell int
	// grown is which part of the values that are still there is new, kept which part of
	// those that fell is left; both are means.
	grown, kept float64
}

// compare holds a page against the marks.
func (m *marks) compare(raw *exposition.Block, read *engine.Page, found *found) (c changes) {
	places := m.places
	if read != m.read && m.read != nil {
		places = m.find(read, found)
	}
	for i, before := range m.values {
		v := math.NaN()
		if places[i] != nowhere {
			v = raw.Number(places[i])
		}
		if finite(v) {
			c.left++
		}
		switch {
		case !(before > 0):
			if c.counted == 0 && v > 0 {
				c.grown = 1 // Of one that counted nothing yet all is new.
			}
			continue
		case c.counted == 0:
			c.grown = 0
		}
		c.counted++
		switch {
		case !finite(v):
			c.gone++
		case v < before:
			c.fell++
			c.grown++
			c.kept += v / before
		default:
			c.grown += (v - before) / v
		}
	}
	c.grown /= float64(max(c.counted-c.gone, 1))
	c.kept /= float64(max(c.fell, 1))
	return c
}

const (
	// fallen is how many counters have to have fallen, or all where fewer counted,
	// for a page to be of another process: those of one fall one by one at most.
	fallen = 3
	// far is which part of the counters of a process is new where it is hardly the
	// same any more: they are five times what they were.
	far = 0.8
)

// broken reports whether too many counters fell for a page of the same process, or
// none is left.
func (c *changes) broken() bool {
	return c.fell > 0 && c.fell+c.gone >= min(fallen, c.counted) || c.gone > 0 && c.left == 0
}

// begun reports whether nearly all counters fell, and far, as when a process begins
// again. Some of a young one may be as high again already. A server that ends unloads
// its models, whose counters go and do not fall.
func (c *changes) begun() bool {
	return (c.fell > 0 || c.left == 0) && 3*(c.fell+c.gone) >= 2*c.counted && !c.near()
}

// near reports whether counters fell to what a process hardly counts from its start to
// its first page: another one had them.
func (c *changes) near() bool { return c.counted >= fallen && c.kept > 0.5 }

// leaps reports whether nearly all that was counted is new.
func (c *changes) leaps() bool { return c.counted >= fallen && c.grown >= far }

// goesOn reports whether the counters are those of the same process, as far as
// counters show it.
func (c *changes) goesOn() bool { return 10*(c.fell+c.gone) <= c.counted && c.grown < far }

// nowhere is the place of a counter that a page has not got.
const nowhere = exposition.ValueIndex(math.MaxUint32)

// found has the places of the series of a page by their labels, nil until they are
// looked for.
type found struct {
	places map[uint64]exposition.ValueIndex
}

// find gives the places of the marks on a page of another shape.
func (m *marks) find(read *engine.Page, found *found) []exposition.ValueIndex {
	if found.places == nil {
		found.places = make(map[uint64]exposition.ValueIndex)
		for _, s := range read.Sources() {
			found.places[s.Labels.Hash()] = s.Place
		}
	}
	var places []exposition.ValueIndex
	for _, i := range marked(m.read) {
		place, ok := found.places[m.read.Shape().WatchedLabels(i).Hash()]
		if !ok {
			place = nowhere
		}
		places = append(places, place)
	}
	return places
}
