package derive

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWindowMeanIsOverItsPages(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false})
	_, ok := w.Mean(0)
	require.False(t, ok)
	for n := range 30 {
		w.push(at(float64(5*n)), []float64{float64(n)}, continues)
	}
	v, ok := w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 23, v, 1e-9, "17 to 29")
	w.push(at(150), []float64{math.NaN()}, continues)
	_, ok = w.Mean(0)
	require.False(t, ok)
	w.push(at(155), []float64{4}, continues)
	v, ok = w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 4, v, 1e-9, "what was before the hole does not count")
}

func TestWindowMeanBeginsWithAPageThatIsKept(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false})
	w.push(at(0), []float64{math.NaN()}, continues)
	w.push(at(0.1), []float64{7}, continues)
	_, ok := w.Mean(0)
	require.False(t, ok, "the only page that is kept has no value")
	w.push(at(5), []float64{9}, continues)
	v, ok := w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 9, v, 1e-9)
}

func TestWindowProductWeighsByTheCounter(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false, true})
	w.push(at(0), []float64{10, 0}, continues)
	_, _, ok := w.Product(0, 1)
	require.False(t, ok, "one page gives none")
	w.push(at(5), []float64{20, 100}, continues)
	w.push(at(10), []float64{0, 100}, continues)
	total, seconds, ok := w.Product(0, 1)
	require.True(t, ok)
	require.InDelta(t, 1500, total, 1e-9, "15 in each of 100; idle time adds nothing")
	require.InDelta(t, 10, seconds, 1e-9)
	w.push(at(15), []float64{5, 40}, continues)
	_, _, ok = w.Product(0, 1)
	require.False(t, ok, "nor does a reset")
}

func TestWindowProductBeginsWithTheLaterOfBoth(t *testing.T) {
	nan := math.NaN()
	for says, first := range map[string][]float64{"a gauge that came later": {nan, 0}, "a counter that came later": {10, nan}} {
		w := newWindow(time.Minute, 5*time.Second, []bool{false, true})
		w.push(at(0), first, continues)
		w.push(at(5), []float64{10, 100}, continues)
		w.push(at(10), []float64{20, 200}, continues)
		total, seconds, ok := w.Product(0, 1)
		require.True(t, ok, says)
		require.InDelta(t, 1500, total, 1e-9, says)
		require.InDelta(t, 5, seconds, 1e-9, says)
	}
}

func TestWindowProductIsNotLessThanNothing(t *testing.T) {
	for gauge, want := range map[float64]bool{-1: false, 0: true, 1: true} {
		w := newWindow(time.Minute, 5*time.Second, []bool{false, true})
		w.push(at(0), []float64{gauge, 0}, continues)
		w.push(at(5), []float64{gauge, 100}, continues)
		_, _, ok := w.Product(0, 1)
		require.Equal(t, want, ok, gauge)
	}
}

func TestWindowProductOfScrapesThatComeFast(t *testing.T) {
	w := newWindow(time.Minute, 10*time.Millisecond, []bool{false, true})
	for n := range 20_000 {
		w.push(int64(n)*int64(10*time.Millisecond), []float64{3, float64(n)}, continues)
	}
	total, seconds, ok := w.Product(0, 1)
	require.True(t, ok)
	require.InDelta(t, 300, total/seconds, 1e-6)
	v, ok := w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 3, v, 1e-9)
}

func TestWindowOfSeveralCountersIsTheirCommonStretch(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{true, true})
	w.push(at(0), []float64{0, 100}, continues)
	w.push(at(5), []float64{50, 150}, continues)
	w.push(at(10), []float64{100, 3}, continues)
	_, _, ok := w.Increase(0, 1)
	require.False(t, ok)
	w.push(at(15), []float64{200, 13}, continues)
	grown, seconds, ok := w.Increase(0, 1)
	require.True(t, ok)
	require.InDelta(t, 110, grown, 1e-9, "100 and 10 since the reset of one")
	require.InDelta(t, 5, seconds, 1e-9)
	require.InDelta(t, 3, w.Before(1), 1e-9)
}
