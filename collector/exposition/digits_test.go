package exposition

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		v, err := strconv.ParseFloat(tc.text, 64)
		require.NoError(t, err)
		require.Equal(t, tc.want, string(AppendShifted(nil, v, tc.shift)), tc.text)
	}
}

func FuzzPointsMove(f *testing.F) {
	f.Add(uint64(1234567), 6)
	f.Fuzz(func(t *testing.T, n uint64, shift int) {
		shift = 1 + (shift&0x7fffffff)%9
		n &= 1<<53 - 1
		text := strconv.FormatUint(n, 10)
		got, err := strconv.ParseFloat(string(AppendShifted(nil, float64(n), shift)), 64)
		require.NoError(t, err)
		want, err := strconv.ParseFloat(text+"e-"+strconv.Itoa(shift), 64)
		require.NoError(t, err)
		require.Equal(t, want, got, "moving the point is exact for all whole numbers that a float64 holds")
	})
}

func TestComputedNumbersKeepTenDigitsAndMore(t *testing.T) {
	for _, v := range []float64{0, 1, 0.25, 1.0 / 3, 2.0 / 3, 1e-4, 1e-9, 123.456, 9999.99, 12345.678901, 1e8 + 0.5, 1e15, 1e20, 0.999999999999999, 157.6206896551724} {
		text := string(AppendShort(nil, v))
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.InEpsilon(t, 1+v, 1+back, 1e-10, text)
		require.LessOrEqual(t, len(strings.Trim(text, "-0.")), 22, text)
	}
	require.Equal(t, "0.25", string(AppendShort(nil, 0.25)))
	require.Equal(t, "NaN", string(AppendShort(nil, math.NaN())))
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
