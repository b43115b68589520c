package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

const (
	// mostMarks bounds the counters that are compared before a page is published.
	mostMarks = 64
	// fallen is how many of those that counted have to have fallen, or all where
	// there are fewer: a server that began again begins all at 0.
	fallen = 3
)

// Marks are counters of the page that was published last, by which a process
// that began again is seen before the next one is: the windows see it later,
// when the labels of the page are written already. The zero value has none. It
// is not safe for concurrent use.
type Marks struct {
	read   *engine.Page
	places []exposition.Place
	values []float64
}

// Take notes the counters of a page that is published.
func (m *Marks) Take(raw *exposition.Block, read *engine.Page) {
	if read != m.read {
		m.read, m.places = read, m.places[:0]
		for _, i := range marked(read) {
			m.places = append(m.places, read.Shape().Place(i))
		}
		m.values = make([]float64, len(m.places))
	}
	raw.Numbers(m.places, m.values)
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

// BeganAgain says whether the counters of a new page show that it is of another
// process than the one before.
func (m *Marks) BeganAgain(raw *exposition.Block, read *engine.Page) bool {
	if m.read == nil {
		return false
	}
	places := m.places
	if read != m.read {
		places = m.find(read)
	}
	counted, gone, falls := 0, 0, 0
	for i, before := range m.values {
		if before > 0 {
			counted++
			v := math.NaN()
			if places[i] != nowhere {
				v = raw.Number(places[i])
			}
			switch {
			case v != v:
				gone++
			case v < before:
				falls++
			}
		}
	}
	return falls > 0 && falls+gone >= min(fallen, counted) || gone > 0 && gone == counted
}

// nowhere is the place of a counter that a page has not got.
const nowhere = exposition.Place(math.MaxUint32)

// find gives the places of the marks on a page of another shape.
func (m *Marks) find(read *engine.Page) []exposition.Place {
	at := make(map[uint64]exposition.Place)
	for _, s := range read.Sources() {
		at[s.Labels.Hash()] = s.Place
	}
	var places []exposition.Place
	for _, i := range marked(m.read) {
		place, ok := at[m.read.Shape().WatchedLabels(i).Hash()]
		if !ok {
			place = nowhere
		}
		places = append(places, place)
	}
	return places
}
