package simulate

import (
	"math"
	"slices"
	"time"
)

// summary keeps quantiles of the last minute, as prometheus-cpp does; without an
// observation in it the quantiles are not numbers.
type summary struct {
	n    uint64
	sum  float64
	kept []observation // Of the last minute, oldest first.
}

type observation struct {
	at time.Duration
	v  float64
}

const (
	summaryMost   = 10000 // Observations kept, so that one a token stays small.
	summaryAtOnce = 8     // Of more equal ones, only so many are kept.
)

// observe books n observations of the same value.
func (s *summary) observe(now time.Duration, n int, v float64) {
	s.n += uint64(n)
	s.sum += float64(n) * v
	s.kept = append(s.kept, slices.Repeat([]observation{{now, v}}, min(n, summaryAtOnce))...)
	s.kept = s.kept[max(0, len(s.kept)-summaryMost):]
}

// quantiles reads the values of the quantiles of Triton's summaries.
func (s *summary) quantiles(now time.Duration) []float64 {
	s.kept = slices.DeleteFunc(s.kept, func(o observation) bool { return now-o.at > time.Minute })
	var values []float64
	for _, o := range s.kept {
		values = append(values, o.v)
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
