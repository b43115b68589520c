package engine

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// repeats are what a page says more than once: under the names of two releases,
// or from each rank of one engine.
type repeats struct {
	series []labels.Labels
	names  map[string]bool
	// first are the places of the series that count among those that are the same
	// but for the labels of [Meaning.Copies].
	first map[string]int
}

// newRepeats finds what a page repeats.
func newRepeats(index Index, series []labels.Labels) *repeats {
	r := &repeats{series: series, names: make(map[string]bool), first: make(map[string]int)}
	for i := range series {
		name := series[i].Get(model.MetricNameLabel)
		r.names[name] = true
		for _, m := range index[name] {
			if len(m.Copies) == 0 {
				continue
			}
			// Servers write their series in any order, and it is to be the same one
			// on each page.
			key := r.without(i, m.Copies)
			if at, known := r.first[key]; !known || labels.Compare(series[i], series[at]) < 0 {
				r.first[key] = i
			}
		}
	}
	return r
}

// without names a series by all its labels but some.
func (r *repeats) without(i int, names []string) string {
	return labels.NewBuilder(r.series[i]).Del(names...).Labels().String()
}

// less are those of a series' meanings that no other series has already.
func (r *repeats) less(meanings []Indexed, i int) []Indexed {
	again := func(m Indexed) bool {
		return slices.ContainsFunc(m.Unless, func(name string) bool { return r.names[name] }) ||
			len(m.Copies) > 0 && r.first[r.without(i, m.Copies)] != i
	}
	if !slices.ContainsFunc(meanings, again) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), again)
}
