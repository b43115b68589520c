package derive

import (
	"math"
	"unique"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// columns holds what the columns of windows are: the numbers that rules ask for.
type columns struct {
	// places holds the value indexes of the columns, names identifies the columns across shapes.
	// Only scaled, notZero and shares columns differ from the numbers on the page.
	places  []exposition.ValueIndex
	names   []columnName
	scaled  []scaledColumn
	notZero []int32
	shares  []int32
	// counter is true for columns that are counters. If counters appear with their first event,
	// counters holds all of the page.
	counter  []bool
	counters []columnName
	// samples are checked for invalid values. net holds columns that are computed from others.
	samples []checkedSample
	net     []*netCounter
	once    []*doubledFailures
	batched []*batchCheck
}

func (c *columns) add(place exposition.ValueIndex, name columnName, counter bool) int {
	c.places, c.names, c.counter = append(c.places, place), append(c.names, name), append(c.counter, counter)
	return len(c.places) - 1
}

// columnName identifies a column on pages of any shape by the signal and labels of its series. GPUs
// are numbered from 1, so that replicas of one kind have equal names.
type columnName struct {
	series unique.Handle[string]
	gpu    uint8
}

type column struct {
	series unique.Handle[string]
	gpu    string
}

// on returns the column of a target with the given GPUs.
func (n columnName) on(gpus []string) column {
	if n.gpu == 0 {
		return column{series: n.series}
	}
	return column{n.series, gpus[n.gpu-1]}
}

// scaledColumn is a column in another unit than the page.
type scaledColumn struct {
	column  int32
	divisor float64
}

// checkedSample is a sample whose invalid values count: NaN except in quantiles, and negative ones except -1 of a
// share, by which servers say that there is none.
type checkedSample struct {
	place           exposition.ValueIndex
	quantile, share bool
}

// columnsOf returns the columns of some numbers, which are added when a rule first asks for them.
func (ix *index) columnsOf(n *numbers) []int {
	if n.columns == nil && ix.building != nil && len(n.sources) > 0 {
		n.columns = make([]int, len(n.sources))
		for i, source := range n.sources {
			n.columns[i] = ix.column(source)
		}
	}
	return n.columns
}

// columnsOfAll returns the columns of several.
func (ix *index) columnsOfAll(all []*numbers) (columns []int) {
	for _, n := range all {
		columns = append(columns, ix.columnsOf(n)...)
	}
	return columns
}

func (ix *index) column(source int) int {
	if c, ok := ix.building.columns[source]; ok {
		return c
	}
	s := &ix.building.sources[source]
	c := ix.add(s.place, s.columnOf(ix.gpus), s.counter)
	ix.building.columns[source] = c
	ix.building.view.window.addColumn(s.counter)
	if s.zeroUnknown() {
		ix.notZero = append(ix.notZero, int32(c))
	}
	if s.meaning.Signal.IsShare() {
		ix.shares = append(ix.shares, int32(c))
	}
	if shift := s.shift(); shift != 0 {
		ix.scaled = append(ix.scaled, scaledColumn{int32(c), math.Pow10(shift)})
	}
	ix.check(source)
	return c
}

// check makes invalid values of a source count. It has no effect once the index is built.
func (ix *index) check(source int) {
	if ix.building == nil {
		return
	}
	if s := &ix.building.sources[source]; !ix.building.checked[s.place] {
		ix.building.checked[s.place] = true
		ix.samples = append(ix.samples, checkedSample{s.place, s.quantile(), s.meaning.Signal.IsShare()})
	}
}

// readRow reads the columns. Invalid values become NaN and are counted.
func (ix *index) readRow(page *exposition.Block, row []float64, stats *Stats) {
	page.Numbers(ix.places, row)
	if !page.Plausible() {
		ix.countInvalid(page, row, stats)
	}
	for i := range ix.scaled {
		row[ix.scaled[i].column] /= ix.scaled[i].divisor
	}
	for _, i := range ix.notZero {
		if row[i] == 0 {
			row[i] = math.NaN()
		}
	}
	for _, i := range ix.shares {
		if row[i] > 1 {
			row[i] = math.NaN()
			stats.Impossible++
		}
	}
	stats.BrokenHistograms += ix.broken
	for _, g := range ix.copied {
		if !g.valid(page) {
			stats.BrokenHistograms++
		}
	}
}

// countInvalid counts invalid values and removes impossible ones from the row: nothing that servers count
// or measure is less than 0, and a number without a sign that falls below it is larger than any other.
func (c *columns) countInvalid(page *exposition.Block, row []float64, stats *Stats) {
	for i := range c.samples {
		s := &c.samples[i]
		switch v := page.Number(s.place); {
		case v != v && !s.quantile:
			stats.NonFinite++
		case finite(v) && !possible(v) && !(s.share && v == -1):
			stats.Impossible++
		}
	}
	for i := range row {
		if !possible(row[i]) {
			row[i] = math.NaN()
		}
	}
}

// from maps each column to the column of an older index, or to -1 if it is new.
func (c *columns) from(old *columns, gpus, gpusBefore []string) []int {
	numbers := make(map[column]int, len(old.names))
	for i, name := range old.names {
		numbers[name.on(gpusBefore)] = i
	}
	from := make([]int, len(c.names))
	for i, name := range c.names {
		from[i] = -1
		if o, ok := numbers[name.on(gpus)]; ok {
			from[i] = o
		}
	}
	return from
}
