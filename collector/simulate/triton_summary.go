package simulate

import (
	"math"
	"slices"
	"time"
)

// summary keeps quantiles of the last minute as prometheus-cpp does: five
// buckets that begin 12 s apart, of which the oldest is read, so the window is
// 48 to 60 s; without an observation in it the quantiles are not numbers.
type summary struct {
	n     uint64
	sum   float64
	slot  int64
	slots [summarySlots][]float64
}

const (
	summarySlot    = 12 * time.Second
	summarySlots   = 5
	summaryPerSlot = 2000 // Observations kept a slot, so that one a token stays small.
	summaryAtOnce  = 8    // Of more equal ones, only so many are kept.
)

// advance empties the slots that have passed and returns the present one.
func (s *summary) advance(now time.Duration) *[]float64 {
	slot := int64(now / summarySlot)
	for i := max(s.slot, slot-summarySlots) + 1; i <= slot; i++ {
		s.slots[i%summarySlots] = nil
	}
	s.slot = slot
	return &s.slots[slot%summarySlots]
}

// observe books n observations of the same value.
func (s *summary) observe(now time.Duration, n int, v float64) {
	s.n += uint64(n)
	s.sum += float64(n) * v
	kept := s.advance(now)
	for range min(n, summaryAtOnce, summaryPerSlot-len(*kept)) {
		*kept = append(*kept, v)
	}
}

// quantiles reads the values of the quantiles of Triton's summaries.
func (s *summary) quantiles(now time.Duration) []float64 {
	s.advance(now)
	values, out := slices.Concat(s.slots[:]...), quantiles()
	slices.Sort(values)
	for i, q := range out {
		out[i] = math.NaN()
		if len(values) > 0 {
			out[i] = values[min(len(values)-1, int(q*float64(len(values))))]
		}
	}
	return out
}
