package exposition

import "strconv"

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

// canonical rewrites a value in place in the one spelling the text format
// documents for NaN and infinity, and returns its new end. Numbers stay as
// the server wrote them.
func canonical(data []byte, start, end uint32) uint32 {
	first := start
	if c := data[first]; c == '-' || c == '+' {
		first++
	}
	if first >= end || data[first] <= '9' {
		return end
	}
	word := "NaN"
	switch {
	case data[first] == 'n' || data[first] == 'N':
	case data[start] == '-':
		word = "-Inf"
	case data[start] == '+' || end-start >= 4:
		word = "+Inf"
	default:
		// Three bytes, "Inf" without a sign, leave no room for one; every
		// parser of the format reads them.
		word = "Inf"
	}
	return start + uint32(copy(data[start:end], word))
}
