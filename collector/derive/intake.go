package derive

import (
	"math"
	"unique"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// intake is what is read of each page: the inputs of the window are its columns.
type intake struct {
	// places are where the numbers of the columns are, counter says which of them
	// only grow, scaled and notZero are those that are more than their numbers.
	places  []exposition.ValueIndex
	counter []bool
	scaled  []scaled
	notZero []int32
	// keys find the columns of one program in another.
	keys []columnKey
	// appears are the columns that come with their first event, counters all series
	// of the page that do, whether a rule reads them or not.
	appears  []bool
	counters []columnKey
	// judged are the places of which something may be wrong.
	judged []judged
	// lessened are the columns that are made of others.
	lessened []*lessened
}

// columnKey is what a column is of: the signal and the labels of its series, without
// the GPU, of which this is the number on the pages of each target, from 1 on, 0 for
// none. Replicas of one kind have the same, which are kept once.
type columnKey struct {
	of  unique.Handle[string]
	gpu uint8
}

// column is what a column of one target is of.
type column struct {
	of  unique.Handle[string]
	gpu string
}

// on is what the column is of on the pages of a target with these GPUs.
func (k columnKey) on(gpus []string) column {
	if k.gpu == 0 {
		return column{of: k.of}
	}
	return column{k.of, gpus[k.gpu-1]}
}

// scaled is a column in a unit of its own.
type scaled struct {
	column  int32
	divisor float64
}

// judged is a place of which something may be wrong: quantiles may be NaN,
// which is no fault of the server, and nothing else; counters may not be below
// 0.
type judged struct {
	place             exposition.ValueIndex
	quantile, counter bool
}

// judge adds a source to those of which something may be wrong.
func (p *Plan) judge(in *source) {
	if p.judging[in.Place] {
		return
	}
	p.judging[in.Place] = true
	p.program.judged = append(p.program.judged, judged{
		place: in.Place, counter: in.meaning.Counter,
		quantile: in.meaning.Form != 0 && !in.meaning.Counter,
	})
}

// values reads the numbers of one page into row, NaN for what is not there or
// not finite, and counts what is wrong with them.
func (r *program) values(page *exposition.Block, row []float64, stats *Stats) {
	page.Numbers(r.places, row)
	if !page.NonNegative() {
		r.suspect(page, row, stats)
	}
	for i := range r.scaled {
		row[r.scaled[i].column] /= r.scaled[i].divisor
	}
	for _, i := range r.notZero {
		if row[i] == 0 {
			row[i] = math.NaN()
		}
	}
	stats.BrokenHistograms += r.broken
	for i := range r.histograms {
		if !r.histograms[i].grows(page) {
			stats.BrokenHistograms++
		}
	}
}

// suspect counts the values of a page that are not what they may be, and takes
// those out of the row that cannot be used.
func (r *program) suspect(page *exposition.Block, row []float64, stats *Stats) {
	for i := range r.judged {
		j := &r.judged[i]
		switch v := page.Number(j.place); {
		case v != v && !j.quantile:
			stats.NonFinite++
		case v < 0 && j.counter:
			stats.Negative++
		}
	}
	for i, counter := range r.counter {
		if counter && row[i] < 0 {
			row[i] = math.NaN()
		}
	}
}

// from maps the columns to those of an older program, -1 for new ones, given the
// GPUs of the pages of each.
func (r *program) from(old *program, gpus, before []string) []int {
	at := make(map[column]int, len(old.keys))
	for i, key := range old.keys {
		at[key.on(before)] = i
	}
	from := make([]int, len(r.keys))
	for i, key := range r.keys {
		from[i] = -1
		if o, ok := at[key.on(gpus)]; ok {
			from[i] = o
		}
	}
	return from
}
