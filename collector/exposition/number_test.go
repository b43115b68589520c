package exposition

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numberTexts are values in every spelling, valid and nearly valid.
var numberTexts = []string{
	"0", "7", "10", "1234567", "12345678", "123456789", "123456789012345", "1234567890123456", "12345678901234567",
	"99999999", "00000001", "1234567a",
	"1.5", "-3", "+4", "1e9", "1.15891634176e+011", "0.005050505050505051", "12345678.5", "9007199254740992",
	"9007199254740993", "0.9430816323877506", "88953.44500000001", "1234567.123456789012", "12345678.12345678901",
	"1795235579.50855", "0.97", "5.", ".5", "1.2.3",
	"Nan", "NaN", "+Inf", "-Inf", "x", "-0", "00000000000000000001", "0.000000", "72.123000", "12345.678901234567", "/",
	":", "1:", "1\x0b",
	"007", "1e3", "1E+3", "1e-400", "1e400", "nan", "inf", "-Nan", "In", "", "-", "+", ".", "-.", "e5", "1e", "1e+",
	"--1", "0x1", "0x1p3", "1_000",
	strings.Repeat("1", 305), strings.Repeat("0", 400), strings.Repeat("9", 400),
}

// checkScan compares scan with strconv, which also reads hexadecimal numbers.
func checkScan(t *testing.T, text string) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 64)
	for _, behind := range []string{"", "\n", " 7", "\nnv_inference_request_success{model=\"a\"} 1\n"} {
		end, got := scan([]byte("x "+text+behind), 2)
		if err != nil || strings.ContainsAny(text, "pP_") {
			require.Equal(t, -1, end, "%q", text)
			continue
		}
		require.Equal(t, 2+len(text), end, "%q", text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q", text)
	}
}

func TestNumbersAreParsedLikeTheStandardLibrary(t *testing.T) {
	for _, text := range numberTexts {
		checkScan(t, text)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range numberTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n\t ") {
			return
		}
		checkScan(t, text)
	})
}

func TestPageNumbersMatchTheirText(t *testing.T) {
	var page strings.Builder
	values := []string{"0", "12", "1234567890", "0.5", "-3", "1e9", "Nan", "+Inf", "12345678901234567890", "7"}
	for i, v := range values {
		page.WriteString("m" + strconv.Itoa(i) + " " + v + "\n")
	}
	cache := NewCache(Options{Watch: func(string) bool { return true }})
	places := make([]ValueIndex, len(values))
	for _, path := range []string{"slow", "fast"} {
		require.Equal(t, path == "fast", cache.Fast(page.String()))
		b, err := cache.Parse([]byte(page.String()), "", nil)
		require.NoError(t, err)
		for i := range places {
			places[i] = b.Shape().WatchedIndex(i)
		}
		row := make([]float64, len(values))
		b.Numbers(places, row)
		require.False(t, b.Plausible(), path)
		for i, text := range values {
			want, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			if math.IsInf(want, 0) {
				want = math.NaN()
			}
			require.Equal(t, math.Float64bits(want), math.Float64bits(row[i]), "%s: %s", path, text)
			require.Equal(t, math.Float64bits(want), math.Float64bits(b.Number(places[i])), "%s: %s", path, text)
		}
	}
}

func TestPlausiblePages(t *testing.T) {
	cache := NewCache(Options{})
	for value, want := range map[string]bool{
		"2": true, "2.5": true, "1e9": true, "9e18": true, "123456789012345678901234": false,
		"18446744073709551615": false, "-2": false, "NaN": false, "+Inf": false,
	} {
		b, err := cache.Parse([]byte("a 0\nb "+value+"\n"), "", nil)
		require.NoError(t, err)
		require.Equal(t, want, b.Plausible(), value)
	}
}

func TestNumericWords(t *testing.T) {
	for text, want := range map[string]string{
		"Nan": "NaN", "nan": "NaN", "NaN": "NaN", "Inf": "+Inf", "inf": "+Inf", "+inf": "+Inf",
		"-INF": "-Inf", "infinity": "+Inf", "-Infinity": "-Inf", "1": "", "-1": "", "+.5": "", "-": "",
	} {
		require.Equal(t, want, canonical([]byte(text)), text)
	}
}

func TestValuesAreWrittenShort(t *testing.T) {
	for want, v := range map[string]float64{
		"0":               math.Copysign(0, -1),
		"1":               1,
		"-17":             -17,
		"999999999999999": 999999999999999,
		"1e+15":           1e15,
		"0.1":             0.1,
		"NaN":             math.NaN(),
		"+Inf":            math.Inf(1),
		"-Inf":            math.Inf(-1),
		"5e-324":          5e-324,
		"1234567.5":       1234567.5,
		"7e-06":           7e-6,
		"0.00012":         12e-5,
	} {
		require.Equal(t, want, string(AppendFloat(nil, v)))
	}
	for want, v := range map[string]float64{
		"0.3": 0.1 + 0.2, "0.333333333333": 1.0 / 3, "123456.789012": 123456.7890123,
		"1753462474.140189": 1753462474.140189, "7": 7, "NaN": math.NaN(),
	} {
		require.Equal(t, want, string(appendShort(nil, v)))
	}
}
