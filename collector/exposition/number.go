package exposition

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
)

// scan reads the number that begins at pos and returns where it ends, or -1 when the
// bytes there are not a number whose validity is certain without the slow path. It
// takes a subset of what textparse takes: decimal floats in range and the spellings
// of NaN and infinity that servers use. Digits of which a float64 holds all, with or
// without a point, are read at once.
func scan(body []byte, pos int) (end int, number float64) {
	i, n := pos, uint64(0)
	for i < len(body) && body[i]-'0' <= 9 && i-pos < mostDigits {
		n = n*10 + uint64(body[i]-'0')
		i++
	}
	places := 0
	if i > pos && i < len(body) && body[i] == '.' {
		for i++; i < len(body) && body[i]-'0' <= 9 && i-pos < mostDigits; i++ {
			n = n*10 + uint64(body[i]-'0')
			places++
		}
	}
	const most = 1 << 53
	if i > pos && n <= most && (i == len(body) || body[i] == '\n') {
		// With n and the power exact the division rounds once, as the standard
		// library does.
		return i, float64(int64(n)) / powersOfTen[places]
	}
	if end = numberEnd(body, pos); end < 0 {
		return -1, math.NaN()
	}
	number, err := strconv.ParseFloat(string(body[pos:end]), 64)
	if err != nil {
		return -1, math.NaN()
	}
	return end, number
}

// mostDigits is how many digits a uint64 holds, whatever they are.
const mostDigits = 19

// powersOfTen are those that a number of mostDigits is divided by, all exact.
//
//nolint:gochecknoglobals // constant data; a local array would be copied for each number.
var powersOfTen = [mostDigits]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// numberEnd returns the end of what looks like a number at pos, or -1.
func numberEnd(body []byte, pos int) int {
	i := pos
	if i < len(body) && (body[i] == '-' || body[i] == '+') {
		i++
	}
	if i < len(body) && body[i] > '9' {
		return wordEnd(body, pos, i)
	}
	whole := digitsEnd(body, i)
	seen, i := whole-i, whole
	if i < len(body) && body[i] == '.' {
		fraction := digitsEnd(body, i+1)
		seen, i = seen+fraction-i-1, fraction
	}
	if seen == 0 {
		return -1
	}
	if i == len(body) || body[i] != 'e' && body[i] != 'E' {
		return i
	}
	i++
	if i < len(body) && (body[i] == '-' || body[i] == '+') {
		i++
	}
	if end := digitsEnd(body, i); end > i {
		return end
	}
	return -1
}

// digitsEnd returns where the digits end that begin at i.
func digitsEnd(body []byte, i int) int {
	for i < len(body) && body[i]-'0' <= 9 {
		i++
	}
	return i
}

// wordEnd accepts the words for not-a-number and infinity; prometheus-cpp,
// Triton's serializer, writes "Nan" (core/src/text_serializer.cc).
func wordEnd(body []byte, pos, word int) int {
	end := word + 3
	if end > len(body) {
		return -1
	}
	switch string(body[word:end]) {
	case "Nan", "NaN":
		if word != pos {
			return -1
		}
		return end
	case "Inf":
		return end
	}
	return -1
}

// number reads the text of a value; false for none.
func number(text []byte) (float64, bool) {
	if end, v := scan(text, 0); end == len(text) {
		return v, true
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

// canonical is the one spelling that the text format documents for a value
// that is not a number or infinite; empty for numbers, which stay as the
// server wrote them.
func canonical(text []byte) string {
	if text[len(text)-1] <= '9' {
		return ""
	}
	switch v, _ := number(text); {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case v != v:
		return "NaN"
	default:
		return ""
	}
}

// canonicalBound is the spelling that readers give to the bound of a bucket
// or quantile; false when it is not a number.
func canonicalBound(text string) (string, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", false
	}
	return labels.FormatOpenMetricsFloat(v), true
}

// AppendFloat appends a value in the text format's spelling: without an exponent
// between a ten thousandth and 10 to the 15, and in the shortest form that reads back
// the same.
func AppendFloat(dst []byte, v float64) []byte { return appendFloat(dst, v, -1) }

// AppendShort appends a computed value: of rates and ratios no more than the first
// twelve digits mean anything, while those of a time, which is larger, all do.
func AppendShort(dst []byte, v float64) []byte {
	if math.Abs(v) < 1e9 {
		return appendFloat(dst, v, 12)
	}
	return AppendFloat(dst, v)
}

// appendFloat appends a value with that many digits, -1 for as many as it needs.
func appendFloat(dst []byte, v float64, digits int) []byte {
	const least, most = 1e-4, 1e15
	switch abs := math.Abs(v); {
	case v == 0:
		return append(dst, '0')
	case v == math.Trunc(v) && abs < most:
		return strconv.AppendInt(dst, int64(v), 10)
	case digits < 0 && abs >= least && abs < most:
		return strconv.AppendFloat(dst, v, 'f', digits, 64)
	default:
		return strconv.AppendFloat(dst, v, 'g', digits, 64)
	}
}
