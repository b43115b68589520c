package simulate

import (
	"math"
	"slices"
	"time"
)

// summary has quantiles over the last minute, like prometheus-cpp; without observations
// they are NaN.
type summary struct {
	n      uint64
	sum    float64
	recent []observation // Those of the last minute, oldest first.
}

type observation struct {
	at time.Duration
	v  float64
}

const (
	maxObservations = 10000 // One per token would be too many.
	maxEqual        = 8     // The maximum number of equal observations at once.
)

// observe adds n observations of the same value.
func (s *summary) observe(now time.Duration, n int, v float64) {
	s.n += uint64(n)
	s.sum += float64(n) * v
	s.recent = append(s.recent, slices.Repeat([]observation{{now, v}}, min(n, maxEqual))...)
	s.recent = s.recent[max(0, len(s.recent)-maxObservations):]
}

// quantiles returns the values of the quantiles.
func (s *summary) quantiles(now time.Duration) []float64 {
	s.recent = slices.DeleteFunc(s.recent, func(o observation) bool { return now-o.at > time.Minute })
	var values []float64
	for _, o := range s.recent {
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
