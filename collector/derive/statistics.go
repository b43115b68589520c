package derive

import "math"

// interval is a lower and an upper bound between which a value lies with 95 %
// confidence.
type interval struct{ lower, upper float64 }

// confidence is the quantile of the normal distribution for 95 % in the middle.
const confidence = 1.959964

// wilson is the interval of a share of which x of n were seen (Wilson's score
// interval), which holds for few and for no cases too.
func wilson(x, n float64) interval {
	const z2 = confidence * confidence
	middle, half := (x+z2/2)/(n+z2), confidence/(n+z2)*math.Sqrt(x*(n-x)/n+z2/4)
	return interval{max(middle-half, 0), min(middle+half, 1)}
}

// sharesDiffer is the interval of the difference of two shares, the first less
// the second (Newcombe, Statistics in Medicine 17, 1998, method 10).
func sharesDiffer(x1, n1, x2, n2 float64) interval {
	a, b, p1, p2 := wilson(x1, n1), wilson(x2, n2), x1/n1, x2/n2
	return interval{
		p1 - p2 - math.Hypot(p1-a.lower, b.upper-p2),
		p1 - p2 + math.Hypot(a.upper-p1, p2-b.lower),
	}
}

// sample is a mean with the square of its standard error, estimated from so many
// batches.
type sample struct {
	mean, variance float64
	batches        int
}

// fewestBatches are those from which a variance can be estimated.
const fewestBatches = 5

// meansDiffer is the interval of the difference of two means, the first less the
// second (Welch's). It takes the batches for independent of each other.
func meansDiffer(a, b sample) interval {
	both := a.variance + b.variance
	half := 0.0
	if both > 0 {
		freedom := both * both / (a.variance*a.variance/float64(a.batches-1) + b.variance*b.variance/float64(b.batches-1))
		half = student(freedom) * math.Sqrt(both)
	}
	return interval{a.mean - b.mean - half, a.mean - b.mean + half}
}

// student is the quantile of Student's distribution for 95 % in the middle, by
// the expansion of Cornish and Fisher: right to 0.3 % from four degrees of freedom
// on.
func student(freedom float64) float64 {
	const z = confidence
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := 1 / freedom
	return z + (z3+z)/4*f + (5*z5+16*z3+3*z)/96*f*f + (3*z7+19*z5+17*z3-15*z)/384*f*f*f
}

// sampled is the mean of what some counters add up to for each of what others
// count, over the longest stretch in which all are whole. Its error is that of
// the means between two pages, weighted by what was counted; false when there are
// too few of them.
func (w *Window) sampled(of, by []int) (sample, bool) {
	row, _, ok := w.common(append(append([]int(nil), of...), by...))
	if !ok {
		return sample{}, false
	}
	sums, counts := w.growth(of, row), w.growth(by, row)
	var sum, count float64
	for i := range sums {
		sum, count = sum+sums[i], count+counts[i]
	}
	s := sample{mean: sum / count}
	for i, n := range counts {
		if n > 0 {
			off := sums[i]/n - s.mean
			s.variance += n * off * off
			s.batches++
		}
	}
	if s.batches < fewestBatches {
		return sample{}, false
	}
	s.variance /= float64(s.batches-1) * count
	return s, true
}

// growth is how much counters grew together from each page to the next, since a
// row of a stretch in which they are whole.
func (w *Window) growth(columns []int, row int) []float64 {
	var all []float64
	before := w.total(columns, row)
	for row = w.next(row); row >= 0; row = w.next(row) {
		now := w.total(columns, row)
		all, before = append(all, max(now-before, 0)), now
	}
	return all
}

// total adds up columns of a kept row.
func (r *ring) total(columns []int, row int) float64 {
	return sumOf(r.rows[row*r.columns:(row+1)*r.columns], columns)
}

// sumOf adds up columns of a row.
func sumOf(row []float64, columns []int) (sum float64) {
	for _, c := range columns {
		sum += row[c]
	}
	return sum
}
