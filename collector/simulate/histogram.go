package simulate

import "slices"

// histogram counts observations per bucket; counts has one more entry than
// bounds, for +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
	n      uint64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) { h.observeN(v, 1) }

// observeN books n observations of the same value.
func (h *histogram) observeN(v float64, n uint64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += n
	h.sum += v * float64(n)
	h.n += n
}
