package derive

import (
	"math"
	"unique"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func (r *program) addColumn(place exposition.ValueIndex, key columnKey, counter bool) int {
	r.places, r.keys, r.counter = append(r.places, place), append(r.keys, key), append(r.counter, counter)
	return len(r.places) - 1
}

// columnKey identifies a column in any program by the signal and labels of its series. GPUs are
// numbered from 1, so that replicas of one kind have equal keys.
type columnKey struct {
	series unique.Handle[string]
	gpu    uint8
}

type column struct {
	series unique.Handle[string]
	gpu    string
}

// resolve returns the column of a target with the given GPUs.
func (k columnKey) resolve(gpus []string) column {
	if k.gpu == 0 {
		return column{series: k.series}
	}
	return column{k.series, gpus[k.gpu-1]}
}

// scaledColumn is a column in another unit than the page.
type scaledColumn struct {
	column  int32
	divisor float64
}

// checkedSample is a sample whose invalid values count: NaN except in quantiles, negative
// counters.
type checkedSample struct {
	place             exposition.ValueIndex
	quantile, counter bool
}

func (p *Plan) checkSample(in *source) {
	if !p.checkedPlaces[in.Place] {
		p.checkedPlaces[in.Place] = true
		quantile := in.meaning.Form() != engine.Single && !in.Counter
		p.program.samples = append(p.program.samples, checkedSample{in.Place, quantile, in.Counter})
	}
}

// readRow reads the columns. Invalid values become NaN and are counted.
func (r *program) readRow(page *exposition.Block, row []float64, stats *Stats) {
	page.Numbers(r.places, row)
	if !page.NonNegative() {
		r.countInvalid(page, row, stats)
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
		if !r.histograms[i].valid(page) {
			stats.BrokenHistograms++
		}
	}
}

// countInvalid counts invalid values and removes negative counters from the row.
func (r *program) countInvalid(page *exposition.Block, row []float64, stats *Stats) {
	for i := range r.samples {
		s := &r.samples[i]
		switch v := page.Number(s.place); {
		case v != v && !s.quantile:
			stats.NonFinite++
		case v < 0 && s.counter:
			stats.Negative++
		}
	}
	for i, counter := range r.counter {
		if counter && row[i] < 0 {
			row[i] = math.NaN()
		}
	}
}

// mapColumns maps each column to the column of an older program, or to -1 if it is new.
func (r *program) mapColumns(old *program, gpus, gpusBefore []string) []int {
	numbers := make(map[column]int, len(old.keys))
	for i, key := range old.keys {
		numbers[key.resolve(gpusBefore)] = i
	}
	from := make([]int, len(r.keys))
	for i, key := range r.keys {
		from[i] = -1
		if o, ok := numbers[key.resolve(gpus)]; ok {
			from[i] = o
		}
	}
	return from
}
