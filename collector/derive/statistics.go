package derive

import (
	"math"
	"slices"
)

// interval is a confidence interval of 95 %.
type interval struct{ lower, upper float64 }

// confidence is the quantile of the normal distribution for the middle 95 %.
const confidence = 1.959964

// wilson returns Wilson's score interval for x out of n cases, which also holds for few
// or no cases.
func wilson(x, n float64) interval {
	const z2 = confidence * confidence
	middle, half := (x+z2/2)/(n+z2), confidence/(n+z2)*math.Sqrt(x*(n-x)/n+z2/4)
	return interval{max(middle-half, 0), min(middle+half, 1)}
}

// sharesDiffer returns the interval of the first share less the second (Newcombe,
// Statistics in Medicine 17, 1998, method 10).
func sharesDiffer(x1, n1, x2, n2 float64) interval {
	a, b, p1, p2 := wilson(x1, n1), wilson(x2, n2), x1/n1, x2/n2
	return interval{
		p1 - p2 - math.Hypot(p1-a.lower, b.upper-p2),
		p1 - p2 + math.Hypot(a.upper-p1, p2-b.lower),
	}
}

// sample is a mean with the square of its standard error, estimated from batches.
type sample struct {
	mean, variance float64
	batches        int
}

// minBatches is how many batches it takes to estimate a variance.
const minBatches = 5

// meansDiffer returns Welch's interval of the first mean less the second. It assumes
// that the batches are independent of each other.
func meansDiffer(a, b sample) interval {
	both := a.variance + b.variance
	half := 0.0
	if both > 0 {
		freedom := both * both / (a.variance*a.variance/float64(a.batches-1) + b.variance*b.variance/float64(b.batches-1))
		half = student(freedom) * math.Sqrt(both)
	}
	return interval{a.mean - b.mean - half, a.mean - b.mean + half}
}

// student returns the quantile of Student's distribution for the middle 95 % by the
// Cornish-Fisher expansion, which is within 0.3 % from four degrees of freedom on.
func student(freedom float64) float64 {
	const z = confidence
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := 1 / freedom
	return z + (z3+z)/4*f + (5*z5+16*z3+3*z)/96*f*f + (3*z7+19*z5+17*z3-15*z)/384*f*f*f
}

// sampled returns the mean of what some counters sum up for each observation that
// others count, over the longest stretch. Its error is estimated from the means between
// two pages, weighted by their observations. It returns false if there are too few.
func (w *Window) sampled(sumColumns, countColumns []int) (sample, bool) {
	row, _, ok := w.stretch(slices.Concat(sumColumns, countColumns))
	if !ok {
		return sample{}, false
	}
	rows := w.rows[row:]
	grown := func(i int, columns []int) float64 { return max(sumOf(rows[i], columns)-sumOf(rows[i-1], columns), 0) }
	var sum, count float64
	for i := 1; i < len(rows); i++ {
		sum, count = sum+grown(i, sumColumns), count+grown(i, countColumns)
	}
	s := sample{mean: sum / count}
	for i := 1; i < len(rows); i++ {
		if n := grown(i, countColumns); n > 0 {
			off := grown(i, sumColumns)/n - s.mean
			s.variance += n * off * off
			s.batches++
		}
	}
	s.variance /= float64(s.batches-1) * count
	return s, s.batches >= minBatches
}
