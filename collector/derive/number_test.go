package derive

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestPointsMove(t *testing.T) {
	for _, tc := range []struct {
		text  string
		shift int
		want  string
	}{
		{"1234567", 6, "1.234567"},
		{"1000000", 6, "1"},
		{"2500000", 6, "2.5"},
		{"7", 6, "0.000007"},
		{"0", 6, "0"},
		{"0.000000", 6, "0"},
		{"100", 3, "0.1"},
		{"5000", 3, "5"},
		{"1500.0", 3, "1.5"},
		{"0012", 3, "0.012"},
		{"12.5", 3, "0.0125"},
		{"1e3", 3, "1"},
		{"15000000000", 6, "15000"},
	} {
		require.Equal(t, tc.want, string(appendShifted(nil, []byte(tc.text), tc.shift)), tc.text)
	}
}

func FuzzPointsMove(f *testing.F) {
	f.Add(uint64(1234567), 6)
	f.Fuzz(func(t *testing.T, n uint64, shift int) {
		shift = 1 + (shift&0x7fffffff)%9
		text := strconv.FormatUint(n, 10)
		got, err := strconv.ParseFloat(string(appendShifted(nil, []byte(text), shift)), 64)
		require.NoError(t, err)
		want, err := strconv.ParseFloat(text+"e-"+strconv.Itoa(shift), 64)
		require.NoError(t, err)
		require.Equal(t, want, got, "moving the point is exact")
	})
}

func TestComputedNumbersKeepTenDigitsAndMore(t *testing.T) {
	for _, v := range []float64{0, 1, 0.25, 1.0 / 3, 2.0 / 3, 1e-4, 1e-9, 123.456, 9999.99, 12345.678901, 1e8 + 0.5, 1e15, 1e20, 0.999999999999999, 157.6206896551724} {
		text := string(appendNumber(nil, v))
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.InEpsilon(t, 1+v, 1+back, 1e-10, text)
		require.LessOrEqual(t, len(strings.Trim(text, "-0.")), 22, text)
	}
	require.Equal(t, "0.25", string(appendNumber(nil, 0.25)))
	require.Equal(t, "NaN", string(appendNumber(nil, math.NaN())))
}

func FuzzFixedPoint(f *testing.F) {
	f.Add(uint64(333333333333333), 14)
	f.Add(uint64(1), 15)
	f.Add(uint64(9999999999999999), 6)
	f.Fuzz(func(t *testing.T, n uint64, places int) {
		n %= 1e16
		places = 1 + (places&0x7fffffff)%15
		text := string(appendFixed(nil, n, places))
		got, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		want, err := strconv.ParseFloat(strconv.FormatUint(n, 10)+"e-"+strconv.Itoa(places), 64)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
		whole, fraction, _ := strings.Cut(text, ".")
		require.Regexp(t, `^(0|[1-9][0-9]*)$`, whole, text)
		require.False(t, strings.HasSuffix(fraction, "0"), text)
	})
}

func TestWholeNumbersAreWrittenAsTheStandardLibraryWritesThem(t *testing.T) {
	for _, n := range []uint64{0, 1, 9, 10, 99, 100, 12345678, 99999999, 100000000, 123456789, 1000000000000000, 9999999999999999} {
		require.Equal(t, strconv.FormatUint(n, 10), string(appendWhole(nil, n)))
	}
}

func TestHistogramsGrow(t *testing.T) {
	for _, tc := range []struct {
		name, first, second, sum, count string
		want                            bool
	}{
		{"buckets that grow", "1", "2", "3.5", "2", true},
		{"buckets that stay", "5", "5", "3.5", "5", true},
		{"more digits are more", "9", "10", "0", "10", true},
		{"fractions of zeros", "5.0", "12.0", "1e3", "12.0", true},
		{"nothing observed", "0", "0.0", "0.0", "0", true},
		{"buckets that fall", "10", "9", "1", "10", false},
		{"exponents count", "1e3", "999", "1", "1000", false},
		{"a count below its buckets", "1", "2", "1", "1", false},
		{"a sum that is no number", "1", "2", "NaN", "2", false},
		{"a sum below 0", "1", "2", "-1", "2", false},
		{"a bucket without end", "1", "+Inf", "1", "2", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }})
			page := cache.Block()
			require.NoError(t, cache.Parse(page, fmt.Appendf(nil, "# TYPE h histogram\nh_bucket{le=\"1\"} %s\nh_bucket{le=\"+Inf\"} %s\nh_sum %s\nh_count %s\n", tc.first, tc.second, tc.sum, tc.count), ""))
			h := passedHistogram{}
			for i := range page.Shape().Watched() {
				h.places = append(h.places, page.Shape().Place(i))
			}
			require.Equal(t, tc.want, h.grows(page))
		})
	}
}

func TestWindowMeanIsOverItsPages(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false})
	_, ok := w.Mean(0)
	require.False(t, ok)
	for n := range 30 {
		w.push(at(float64(5*n)), []float64{float64(n)})
	}
	v, ok := w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 23, v, 1e-9, "17 to 29")
	w.push(at(150), []float64{math.NaN()})
	_, ok = w.Mean(0)
	require.False(t, ok)
	w.push(at(155), []float64{4})
	v, ok = w.Mean(0)
	require.True(t, ok)
	require.InDelta(t, 4, v, 1e-9, "what was before the hole does not count")
}

func TestWindowProductWeighsByTheCounter(t *testing.T) {
	w := newWindow(time.Minute, 5*time.Second, []bool{false, true})
	w.push(at(0), []float64{10, 0})
	_, _, ok := w.Product(0, 1)
	require.False(t, ok, "one page gives none")
	w.push(at(5), []float64{20, 100})
	w.push(at(10), []float64{0, 100})
	total, seconds, ok := w.Product(0, 1)
	require.True(t, ok)
	require.InDelta(t, 1500, total, 1e-9, "15 in each of 100; idle time adds nothing")
	require.InDelta(t, 10, seconds, 1e-9)
	w.push(at(15), []float64{5, 40})
	_, _, ok = w.Product(0, 1)
	require.False(t, ok, "nor does a reset")
}

func TestWindowProductOfScrapesThatComeFast(t *testing.T) {
	w := newWindow(time.Minute, 10*time.Millisecond, []bool{false, true})
	for n := range 20_000 {
		w.push(int64(n)*int64(10*time.Millisecond), []float64{3, float64(n)})
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
	w.push(at(0), []float64{0, 100})
	w.push(at(5), []float64{50, 150})
	w.push(at(10), []float64{100, 3})
	_, _, ok := w.Increases([]int{0, 1})
	require.False(t, ok)
	w.push(at(15), []float64{200, 13})
	grown, seconds, ok := w.Increases([]int{0, 1})
	require.True(t, ok)
	require.InDelta(t, 110, grown, 1e-9, "100 and 10 since the reset of one")
	require.InDelta(t, 5, seconds, 1e-9)
	require.InDelta(t, 3, w.Before(1), 1e-9)
}
