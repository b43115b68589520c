package derive

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(seconds float64) int64 { return int64(seconds * float64(time.Second)) }

// oneCounter returns a window of a minute over one counter, for pages five seconds apart.
func oneCounter() *Window { return newWindow(time.Minute, 5*time.Second, []bool{true}) }

// rateIn returns the growth of a counter per second.
func rateIn(w *Window, column int) (float64, bool) {
	grown, seconds, ok := w.Increase(column)
	return grown / seconds, ok
}

func TestWindowRate(t *testing.T) {
	type page struct {
		seconds float64
		value   float64
	}
	nan := math.NaN()
	lastMinute := []page{{0, 0}}
	for n := range 14 {
		lastMinute = append(lastMinute, page{float64(5 * (n + 1)), float64(5000 + 10*n)})
	}
	for _, tc := range []struct {
		name  string
		pages []page
		want  float64
		none  bool
	}{
		{name: "one page gives no rate", pages: []page{{0, 10}}, none: true},
		{name: "two pages give the rate between them", pages: []page{{0, 10}, {5, 60}}, want: 10},
		{name: "a constant counter has rate zero", pages: []page{{0, 10}, {5, 10}, {10, 10}}, want: 0},
		{name: "the rate uses the real time", pages: []page{{0, 0}, {5, 50}, {12, 120}}, want: 10},
		{name: "one missed page is let pass over its real time", pages: []page{{0, 0}, {5, 50}, {15, 150}}, want: 10},
		{name: "a page after a long gap has no rate", pages: []page{{0, 0}, {5, 50}, {25, 900}}, none: true},
		{name: "and has a rate one page later", pages: []page{{0, 0}, {5, 50}, {25, 900}, {30, 910}}, want: 2},
		{name: "a reset gives no rate", pages: []page{{0, 100}, {5, 150}, {10, 3}}, none: true},
		{name: "after a reset only later growth counts", pages: []page{{0, 100}, {5, 150}, {10, 3}, {15, 13}}, want: 2},
		{name: "NaN has no rate", pages: []page{{0, 0}, {5, nan}}, none: true},
		{name: "nor the first page after it", pages: []page{{0, 0}, {5, nan}, {10, 100}}, none: true},
		{name: "the second one does", pages: []page{{0, 0}, {5, nan}, {10, 100}, {15, 120}}, want: 4},
		{name: "a page that is not newer is not counted", pages: []page{{0, 0}, {5, 50}, {5, 9000}}, want: 10},
		{name: "only the last minute counts", pages: lastMinute, want: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := oneCounter()
			for _, p := range tc.pages {
				w.push(at(p.seconds), at(p.seconds), 0, []float64{p.value}, continues)
			}
			got, ok := rateIn(w, 0)
			require.Equal(t, !tc.none, ok)
			if !tc.none {
				require.InDelta(t, tc.want, got, 1e-9)
			}
		})
	}
}

func TestWindowCountsInterruptions(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{true, true, true, false})
	w.push(at(0), at(0), 0, []float64{10, 10, 10, 5}, continues)
	w.push(at(5), at(5), 0, []float64{11, 11, 11, 1}, continues)
	require.Equal(t, Stats{}, *w.stats, "a gauge that falls is not a reset")
	w.push(at(10), at(10), 0, []float64{1, 12, 12, 1}, continues)
	require.Equal(t, Stats{Resets: 1}, *w.stats)
	_, ok := rateIn(w, 0)
	require.False(t, ok, "the counter that fell has no rate")
	_, ok = rateIn(w, 1)
	require.True(t, ok, "its neighbours keep theirs")
	w.push(at(15), at(15), 0, []float64{0, 0, 0, 0}, restarts)
	require.Equal(t, Stats{Resets: 4, Restarts: 1}, *w.stats)
	w.push(at(60), at(60), 0, []float64{1, 1, 1, 0}, continues)
	require.Equal(t, uint64(1), w.stats.Gaps)
	require.False(t, w.push(at(60), at(60), 0, []float64{2, 2, 2, 0}, continues), "a page that is not newer is taken")
	require.Equal(t, uint64(1), w.stats.ClockJumps)
}

func TestWindowThinsOutFrequentScrapes(t *testing.T) {
	w := newWindow(time.Minute, 10*time.Millisecond, []bool{true})
	for i := range 20_000 {
		w.push(int64(i)*int64(10*time.Millisecond), int64(i)*int64(10*time.Millisecond), 0, []float64{float64(i)}, continues)
	}
	require.LessOrEqual(t, len(w.rows), maxRows+3)
	v, ok := rateIn(w, 0)
	require.True(t, ok, "a long window has a rate")
	require.InDelta(t, 100, v, 1e-6)
	grown, seconds, ok := w.Increase(0)
	require.True(t, ok, "a long window has an increase")
	require.InDelta(t, 60, seconds, 1, "the window is as long as it was asked to be")
	require.InDelta(t, 100*seconds, grown, 1e-6)
}

func TestWindowMeanIsOverItsPages(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false})
	_, ok := w.Mean(0)
	require.False(t, ok, "nothing has no mean")
	for n := range 30 {
		w.push(at(float64(5*n)), at(float64(5*n)), 0, []float64{float64(n)}, continues)
	}
	v, ok := w.Mean(0)
	require.True(t, ok, "pages with values have a mean")
	require.InDelta(t, 23, v, 1e-9, "17 to 29")
	w.push(at(150), at(150), 0, []float64{math.NaN()}, continues)
	_, ok = w.Mean(0)
	require.False(t, ok, "what the newest page lacks has no mean")
	w.push(at(155), at(155), 0, []float64{4}, continues)
	v, ok = w.Mean(0)
	require.True(t, ok, "what is there again has a mean")
	require.InDelta(t, 4, v, 1e-9, "what was before the hole does not count")
}

func TestWindowProductWeighsByTheCounter(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false, true})
	w.push(at(0), at(0), 0, []float64{10, 0}, continues)
	_, _, ok := w.Product(0, 1)
	require.False(t, ok, "one page gives none")
	w.push(at(5), at(5), 0, []float64{20, 100}, continues)
	w.push(at(10), at(10), 0, []float64{0, 100}, continues)
	total, seconds, ok := w.Product(0, 1)
	require.True(t, ok, "two pages have a product")
	require.InDelta(t, 1500, total, 1e-9, "15 in each of 100; idle time adds nothing")
	require.InDelta(t, 10, seconds, 1e-9)
	w.push(at(15), at(15), 0, []float64{5, 40}, continues)
	_, _, ok = w.Product(0, 1)
	require.False(t, ok, "nor does a reset")
	w.push(at(20), at(20), 0, []float64{math.NaN(), 60}, continues)
	w.push(at(25), at(25), 0, []float64{7, 80}, continues)
	w.push(at(30), at(30), 0, []float64{7, 90}, continues)
	total, seconds, ok = w.Product(0, 1)
	require.True(t, ok, "pages around a missing value have a product")
	require.InDelta(t, 70, total, 1e-9, "a gauge that came later")
	require.InDelta(t, 5, seconds, 1e-9)
	w.push(at(35), at(35), 0, []float64{7, math.NaN()}, continues)
	w.push(at(40), at(40), 0, []float64{7, 100}, continues)
	w.push(at(45), at(45), 0, []float64{9, 110}, continues)
	total, _, ok = w.Product(0, 1)
	require.True(t, ok, "a page after a gap has a product")
	require.InDelta(t, 80, total, 1e-9, "a counter that came later")
}
