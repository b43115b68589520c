package exposition

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
)

// numberEnd returns the end of the number that starts at pos, or -1 when the
// bytes there are not a number whose validity is certain without the slow
// path. It accepts a subset of what textparse accepts: decimal floats in
// range and the spellings of NaN and infinity that servers use.
func numberEnd(body []byte, pos int) int {
	i := pos
	if i < len(body) && (body[i] == '-' || body[i] == '+') {
		i++
	}
	if i < len(body) && body[i] > '9' {
		return wordEnd(body, pos, i)
	}
	digits := i
	for i < len(body) && body[i]-'0' <= 9 {
		i++
	}
	seen := i - digits
	if i < len(body) && body[i] == '.' {
		i++
		fraction := i
		for i < len(body) && body[i]-'0' <= 9 {
			i++
		}
		seen += i - fraction
	}
	if seen == 0 {
		return -1
	}
	if i < len(body) && (body[i] == 'e' || body[i] == 'E') {
		return exponentEnd(body, pos, i+1)
	}
	if i-pos > longNumber {
		return checked(body, pos, i)
	}
	return i
}

// longNumber is the length from which a plain decimal could overflow a float.
const longNumber = 300

// exponentEnd finishes a number whose exponent starts at i.
func exponentEnd(body []byte, pos, i int) int {
	if i < len(body) && (body[i] == '-' || body[i] == '+') {
		i++
	}
	start := i
	for i < len(body) && body[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return checked(body, pos, i)
}

// checked returns end when the bytes before it parse as a float in range.
func checked(body []byte, pos, end int) int {
	if _, err := strconv.ParseFloat(string(body[pos:end]), 64); err != nil {
		return -1
	}
	return end
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

// canonical is the one spelling that the text format documents for a value
// that is not a number or infinite; empty for numbers, which stay as the
// server wrote them.
func canonical(value []byte) string {
	first := value[0]
	if (first == '-' || first == '+') && len(value) > 1 {
		first = value[1]
	}
	switch {
	case first <= '9':
		return ""
	case first == 'n' || first == 'N':
		return "NaN"
	case value[0] == '-':
		return "-Inf"
	default:
		return "+Inf"
	}
}

// negative says whether a number's text is below zero.
func negative(text []byte) bool {
	if len(text) == 0 || text[0] != '-' {
		return false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return err == nil && v < 0
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
