package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// carried holds what series had counted that are gone from the page, or began again, while others of the same sum go
// on, as those of one data-parallel rank, or of a server whose page an agent merges with others. Without it the sum
// would fall, which to its reader is a reset of all of them.
type carried struct {
	// page and block are the newest page, if it may be needed, as it is while something is added.
	page  *engine.Page
	block *exposition.Block
	// added is what is added to a series on the page, gone what one had counted that may come back.
	added map[columnName]carry
	gone  map[columnName]float64
	// moved is by how much more than on the previous page what is gone raises a column.
	moved map[columnName]float64
}

// carry is what is added to the number at a place, if the page shows that series: if it shows none of the sum, what is
// added waits for it.
type carry struct {
	place  exposition.ValueIndex
	shown  bool
	number float64
}

// summand is a counter of a sum.
type summand struct {
	name  columnName
	place exposition.ValueIndex
	shift int
}

// next takes the next page into account: of the process of the previous one, if it goes on. Fell is true if any
// counter is lower than before.
func (c *carried) next(ix *index, page *engine.Page, block *exposition.Block, goesOn, fell bool) {
	before, pageBefore := c.block, c.page
	c.page, c.block, c.moved = page, block, nil
	switch {
	case !goesOn:
		c.added, c.gone = nil, nil
	case before != nil && (fell || page != pageBefore):
		c.compareAll(ix.summands(pageBefore), before, ix.summands(page))
	}
	if !ix.addsUp && len(c.gone) == 0 && len(c.added) == 0 {
		c.page, c.block = nil, nil
	}
}

// summands returns the counters of a page by the sums that they are part of.
func (ix *index) summands(page *engine.Page) map[string][]summand {
	all, gpus := make(map[string][]summand), page.Shape().GPUs()
	sources := sourcesOf(page, &ix.naming)
	for i := range sources {
		if s := &sources[i]; s.addsUp() {
			key := s.groupKey(ix.labelsOf(s)) + "\x00" + string(rune('0'+int(s.part))) + s.labels.Get("le")
			all[key] = append(all[key], summand{s.columnOf(gpus), s.place, s.shift()})
		}
	}
	return all
}

// addsUp reports whether a source is a counter of the process that may be part of a sum.
func (s *source) addsUp() bool { return s.ofProcess && s.meaning.Combine == engine.Sum }

// compareAll compares all sums with those of the previous page.
func (c *carried) compareAll(previous map[string][]summand, before *exposition.Block, now map[string][]summand) {
	c.moved = make(map[columnName]float64)
	places := make(map[columnName]exposition.ValueIndex)
	for key, summands := range now {
		for _, n := range summands {
			places[n.name] = n.place
		}
		if len(previous[key]) > 0 {
			c.compare(previous[key], before, summands)
		}
	}
	for name, a := range c.added {
		a.place, a.shown = places[name]
		if c.added[name] = a; a.number == 0 {
			delete(c.added, name)
		}
	}
}

// compare compares a sum with that of the previous page. One of which nothing goes on begins again.
func (c *carried) compare(previous []summand, before *exposition.Block, now []summand) {
	d := c.differences(previous, before, now)
	if !d.goesOn {
		for _, s := range previous {
			delete(c.added, s.name)
		}
		return
	}
	for name, v := range d.fallen {
		c.put(name, v)
	}
	c.move(now, c.leave(d.gone)-c.comeBack(d.fresh))
}

// differences are what the counters of a sum show that the previous page did not have, what they had counted by then
// that fell or are gone, and whether any of them goes on.
type differences struct {
	fresh, fallen, gone map[columnName]float64
	goesOn              bool
}

func (c *carried) differences(previous []summand, before *exposition.Block, now []summand) differences {
	d := differences{make(map[columnName]float64), make(map[columnName]float64), make(map[columnName]float64), false}
	for _, n := range now {
		d.fresh[n.name] = c.block.Number(n.place)
	}
	for _, p := range previous {
		v, n := before.Number(p.place), math.NaN()
		if shown, ok := d.fresh[p.name]; ok {
			n = shown
			delete(d.fresh, p.name)
		}
		switch {
		case math.IsNaN(v):
		case math.IsNaN(n):
			d.gone[p.name] = v
		case falls(v, n):
			d.fallen[p.name] = v
		default:
			d.goesOn = true
		}
	}
	return d
}

// put adds to a series.
func (c *carried) put(name columnName, by float64) {
	if c.added == nil {
		c.added = make(map[columnName]carry)
	}
	a := c.added[name]
	a.number += by
	c.added[name] = a
}

// leave notes what series had counted that are gone, and returns the sum with what was added to them.
func (c *carried) leave(gone map[columnName]float64) (sum float64) {
	for name, v := range gone {
		sum += v + c.added[name].number
		delete(c.added, name)
		if c.gone == nil {
			c.gone = make(map[columnName]float64)
		}
		if len(c.gone) < maxAppeared {
			c.gone[name] = v
		}
	}
	return sum
}

// comeBack returns how much of what series show that were not on the previous page others show for them: nothing if
// they began again.
func (c *carried) comeBack(fresh map[columnName]float64) (sum float64) {
	for name, v := range fresh {
		if before, was := c.gone[name]; was && !falls(before, v) && !math.IsNaN(v) {
			sum += before
		}
		delete(c.gone, name)
	}
	return sum
}

// move adds to one series of a sum what others had counted that are gone.
func (c *carried) move(sum []summand, by float64) {
	if by == 0 {
		return
	}
	holds := func(s summand) bool { return c.added[s.name].number+by >= 0 }
	to := sum[max(slices.IndexFunc(sum, holds), 0)]
	c.put(to.name, by)
	c.moved[to.name] += by / math.Pow10(to.shift)
}

// raise returns a page with what is added, nil if that is nothing.
func (c *carried) raise(page *exposition.Block) *exposition.Block {
	if len(c.added) == 0 || page.Shape() != c.block.Shape() {
		return nil // Or it is older than the newest one, from a cache.
	}
	values := make(map[exposition.ValueIndex]float64, len(c.added))
	for _, a := range c.added {
		if a.shown {
			values[a.place] = page.Number(a.place) + a.number
		}
	}
	return page.With(values)
}

// raise adds to columns on all pages so far.
func (w *Window) raise(names []columnName, by map[columnName]float64) {
	if len(by) == 0 {
		return
	}
	for i, name := range names {
		more := by[name]
		if more == 0 {
			continue
		}
		w.current[i] += more
		for _, row := range w.rows {
			row[i] += more
		}
	}
}
