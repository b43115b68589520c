package exposition

import (
	"math"
	"strconv"
)

// scan parses the number at pos and returns its end, or -1 if textparse rejects it: it accepts
// what strconv does, without hexadecimal floats and underscores. Numbers whose digits fit a
// float64 exactly are parsed without strconv.
func scan(body []byte, pos int) (end int, number float64) {
	i, n := pos, uint64(0)
	for i < len(body) && body[i]-'0' <= 9 && i-pos < maxDigits {
		n = n*10 + uint64(body[i]-'0')
		i++
	}
	decimals := 0
	if i > pos && i < len(body) && body[i] == '.' {
		for i++; i < len(body) && body[i]-'0' <= 9 && i-pos < maxDigits; i++ {
			n = n*10 + uint64(body[i]-'0')
			decimals++
		}
	}
	const maxExact = 1 << 53
	if i > pos && n <= maxExact && (i == len(body) || body[i] == '\n') {
		// n and the power are exact, so the division rounds once, like strconv.
		return i, float64(int64(n)) / powersOfTen[decimals]
	}
	for end = pos; end < len(body) && !isSpace(body[end]); end++ {
		if c := body[end]; c == 'p' || c == 'P' || c == '_' {
			return -1, 0
		}
	}
	number, err := strconv.ParseFloat(string(body[pos:end]), 64)
	if err != nil {
		return -1, 0
	}
	return end, number
}

// maxDigits is the number of digits that always fit a uint64.
const maxDigits = 19

// powersOfTen are exact as floats.
//
//nolint:gochecknoglobals // constant data; a local array would be copied for each number.
var powersOfTen = [maxDigits]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

func number(text []byte) (float64, bool) {
	end, v := scan(text, 0)
	return v, end == len(text)
}

// canonical returns the documented spelling of NaN or an infinity. It returns an empty string for
// other values, which are written as the server wrote them.
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

// AppendFloat appends the shortest text that parses to the same value, without an
// exponent from 1e-4 to 1e15.
func AppendFloat(dst []byte, v float64) []byte { return appendFloat(dst, v, -1) }

// appendShort appends a value with at most twelve digits, which is enough for rates and
// ratios. Values over 1e9, such as timestamps, keep all digits.
func appendShort(dst []byte, v float64) []byte {
	if math.Abs(v) < 1e9 {
		return appendFloat(dst, v, 12)
	}
	return AppendFloat(dst, v)
}

// appendFloat appends a value with at most the given number of digits; -1 means as many as needed.
func appendFloat(dst []byte, v float64, digits int) []byte {
	const minPlain, maxPlain = 1e-4, 1e15
	switch abs := math.Abs(v); {
	case v == 0:
		return append(dst, '0')
	case v == math.Trunc(v) && abs < maxPlain:
		return strconv.AppendInt(dst, int64(v), 10)
	case digits < 0 && abs >= minPlain && abs < maxPlain:
		return strconv.AppendFloat(dst, v, 'f', digits, 64)
	default:
		return strconv.AppendFloat(dst, v, 'g', digits, 64)
	}
}
