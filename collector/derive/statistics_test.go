package derive

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDifferenceOfProportions checks the examples of Newcombe, Statistics
// in Medicine 17 (1998), table II, method 10.
func TestDifferenceOfProportions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ x1, n1, x2, n2, lower, upper float64 }{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{6, 7, 2, 7, 0.0582, 0.8062},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{0, 10, 0, 10, -0.2775, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
		{10, 10, 0, 10, 0.6075, 1},
	} {
		got := sharesDiffer(c.x1, c.n1, c.x2, c.n2)
		require.InDelta(t, c.lower, got.lower, 1e-4, "%+v", c)
		require.InDelta(t, c.upper, got.upper, 1e-4, "%+v", c)
	}
}

func TestStudentQuantiles(t *testing.T) {
	t.Parallel()
	for freedom, want := range map[float64]float64{
		4:   2.7764,
		5:   2.5706,
		8:   2.3060,
		10:  2.2281,
		22:  2.0739,
		30:  2.0423,
		100: 1.9840,
	} {
		require.InEpsilon(t, want, student(freedom), 0.003, "%v degrees of freedom", freedom)
	}
}

// TestDifferenceOfMeansCoverage has a random number of requests with
// exponential durations on each page: of 95 % of pairs of equal versions, but for chance,
// the interval holds the true difference, which is 0.
func TestDifferenceOfMeansCoverage(t *testing.T) {
	t.Parallel()
	const trials, holds = 2000, 0.91
	random := rand.New(rand.NewPCG(3, 4))
	window := func(limit int) *Window {
		w := newWindow(time.Minute, 5*time.Second, []bool{true, true})
		sum, count := 0.0, 0.0
		for page := range 13 {
			for range random.IntN(limit) {
				sum, count = sum+random.ExpFloat64(), count+1
			}
			w.push(int64(page)*int64(5*time.Second), int64(page)*int64(5*time.Second), 0, []float64{sum, count}, continues)
		}
		return w
	}
	for _, limit := range []int{4, 20, 200} {
		in, tried := 0, 0
		for range trials {
			a, okA := window(limit).sampled(observations{[]int{0}, []int{1}})
			b, okB := window(2 * limit).sampled(observations{[]int{0}, []int{1}})
			if !okA || !okB {
				continue
			}
			tried++
			if d := meansDiffer(a, b); d.lower <= 0 && d.upper >= 0 {
				in++
			}
		}
		require.Greater(t, tried, trials*9/10)
		require.Greater(t, float64(in)/float64(tried), holds, "up to %d requests a page", limit)
	}
}

// TestDifferenceOfMeans has variances of 7.9 and 3.8 in 15 batches each: 24.9 degrees of freedom.
func TestDifferenceOfMeans(t *testing.T) {
	t.Parallel()
	got := meansDiffer(sample{20.8, 7.9 / 15, 15}, sample{23, 3.8 / 15, 15})
	require.InDelta(t, -4.019, got.lower, 1e-3)
	require.InDelta(t, -0.381, got.upper, 1e-3)
}

// TestStandardErrorOfMean alternates means of 1 and 5 of two requests: a variance of 2*4*n/(n-1),
// divided by the count.
func TestStandardErrorOfMean(t *testing.T) {
	t.Parallel()
	w := newWindow(time.Minute, 5*time.Second, []bool{true, true})
	for i, sum := range []float64{0, 2, 12, 14, 24, 26, 36, 38, 48} {
		w.push(int64(i)*int64(5*time.Second), int64(i)*int64(5*time.Second), 0, []float64{sum, float64(2 * i)}, continues)
	}
	got, ok := w.sampled(observations{[]int{0}, []int{1}})
	require.True(t, ok, "two observations have a value")
	require.InDelta(t, 3, got.mean, 1e-9)
	require.InDelta(t, 8*8.0/7/16, got.variance, 1e-9)
	require.Equal(t, 8, got.batches)
}
