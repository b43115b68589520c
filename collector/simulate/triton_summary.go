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
	n    uint64
	sum  float64
	seen []timed
	kept int // Of seen, in the present 12 s.
	slot int64
}

type timed struct {
	slot  int64
	value float64
}

const (
	summarySlot    = 12 * time.Second
	summarySlots   = 5
	summaryPerSlot = 2000 // Observations kept a slot, so that one a token stays small.
	summaryAtOnce  = 8    // Of more equal ones, only so many are kept.
)

// observe books n observations of the same value.
func (s *summary) observe(now time.Duration, n int, v float64) {
	s.n += uint64(n)
	s.sum += float64(n) * v
	if slot := int64(now / summarySlot); slot != s.slot {
		s.slot, s.kept = slot, 0
		s.prune(slot)
	}
	for range min(n, summaryAtOnce, summaryPerSlot-s.kept) {
		s.kept++
		s.seen = append(s.seen, timed{s.slot, v})
	}
}

func (s *summary) prune(slot int64) {
	s.seen = slices.DeleteFunc(s.seen, func(t timed) bool { return t.slot <= slot-summarySlots })
}

// quantiles reads the values of the quantiles of Triton's summaries.
func (s *summary) quantiles(now time.Duration) []float64 {
	s.prune(int64(now / summarySlot))
	values := make([]float64, 0, len(s.seen))
	for _, t := range s.seen {
		values = append(values, t.value)
	}
	slices.Sort(values)
	out := quantiles()
	for i, q := range out {
		out[i] = math.NaN()
		if len(values) > 0 {
			out[i] = values[min(len(values)-1, int(q*float64(len(values))))]
		}
	}
	return out
}
