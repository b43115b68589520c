package exposition

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numberTexts are values of every spelling, and what is near one.
var numberTexts = []string{
	"0", "7", "10", "1234567", "12345678", "123456789", "123456789012345", "1234567890123456", "12345678901234567", "99999999", "00000001", "1234567a",
	"1.5", "-3", "+4", "1e9", "1.15891634176e+011", "0.005050505050505051", "12345678.5", "9007199254740992", "9007199254740993", "0.9430816323877506", "88953.44500000001", "1234567.123456789012", "12345678.12345678901", "1795235579.50855", "0.97", "5.", ".5", "1.2.3",
	"Nan", "NaN", "+Inf", "-Inf", "x", "-0", "00000000000000000001", "0.000000", "72.123000", "12345.678901234567", "/", ":", "1:", "1\x0b",
}

// sameNumber holds a number that was read at once against the standard
// library's.
func sameNumber(t *testing.T, text string, got float64) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err, "%q", text)
	require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q", text)
}

// checkScan scans a text at the end of a line, with room behind it and without.
func checkScan(t *testing.T, text string) {
	t.Helper()
	for _, behind := range []string{"", "\n", "\nnv_inference_request_success{model=\"a\"} 1\n"} {
		body := []byte("x " + text + behind)
		end, number := scan(body, 2)
		require.Equal(t, numberEnd(body, 2), end, "%q", text)
		if end < 0 {
			continue
		}
		if number == number {
			sameNumber(t, string(body[2:end]), number)
		}
		if len(body)-2 < scanned {
			continue
		}
		if size, again := quick((*[scanned]byte)(body[2:])); size != 0 {
			require.Equal(t, end, 2+size, "%q", text)
			require.Equal(t, math.Float64bits(number), math.Float64bits(again), "%q", text)
		}
	}
}

func TestValuesAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	for _, text := range numberTexts {
		checkScan(t, text)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range numberTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n") {
			return
		}
		checkScan(t, text)
	})
}

func TestEverySizeOfNumberIsReadAtOnce(t *testing.T) {
	digits := "7182736455463728192"
	for size := 1; size < len(digits); size++ {
		for point := range size {
			text := digits[:size]
			if point > 0 {
				text = digits[:point] + "." + digits[point:size]
			}
			got, number := quick((*[scanned]byte)([]byte(text + "\nnv_inference_count{model=\"a\"} 1")))
			if size > 16 || point > 7 || len(text) > mostDigits {
				require.Zero(t, got*(got-len(text)), text)
				continue
			}
			require.Equal(t, len(text), got, text)
			sameNumber(t, text, number)
		}
	}
	size, number := quick((*[scanned]byte)([]byte("9007199254740993\nnv_inference_count{}")))
	require.Equal(t, 16, size)
	require.True(t, math.IsNaN(number), "a float64 does not hold it")
}

func TestNumbersOfAPageAreThoseOfItsTexts(t *testing.T) {
	var page strings.Builder
	values := []string{"0", "12", "1234567890", "0.5", "-3", "1e9", "Nan", "+Inf", "12345678901234567890", "7"}
	for i, v := range values {
		page.WriteString("m" + strconv.Itoa(i) + " " + v + "\n")
	}
	cache := NewCache(Options{Watch: func(string) bool { return true }})
	places := make([]Place, len(values))
	for _, path := range []string{"slow", "fast"} {
		b, err := cache.Parse([]byte(page.String()), "")
		require.NoError(t, err)
		for i := range places {
			places[i] = b.Shape().Place(i)
		}
		row := make([]float64, len(values))
		b.Numbers(places, row)
		require.False(t, b.Plain(), path)
		for i, text := range values {
			want := finite([]byte(text))
			require.Equal(t, math.Float64bits(want), math.Float64bits(row[i]), "%s: %s", path, text)
			require.Equal(t, math.Float64bits(want), math.Float64bits(b.Number(places[i])), "%s: %s", path, text)
		}
	}
	fast, slow := cache.Paths()
	require.EqualValues(t, 1, fast)
	require.EqualValues(t, 1, slow)
}

func TestAPageOfNumbersFromZeroUpIsPlain(t *testing.T) {
	cache := NewCache(Options{})
	for _, tc := range []struct {
		values []string
		plain  bool
	}{
		{[]string{"1", "2"}, false}, // The first page takes the slow path.
		{[]string{"1", "2.5"}, true},
		{[]string{"1", "-2"}, false},
		{[]string{"NaN", "2"}, false},
		{[]string{"0", "123456789012345678901234"}, true},
		{[]string{"0", "1234567890123456789012345"}, false}, // It is formatted again.
		{[]string{"0", "1e9"}, true},
	} {
		b, err := cache.Parse([]byte("a "+tc.values[0]+"\nb "+tc.values[1]+"\n"), "")
		require.NoError(t, err)
		require.Equal(t, tc.plain, b.Plain(), tc.values)
	}
}
