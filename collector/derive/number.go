package derive

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// number reads the text of a value, NaN for what is not finite or no number.
// Most values of a page are whole numbers of up to 15 digits, of which eight
// are read at a time; with a point they are one division away, which is
// rounded as the standard library rounds.
func number(text []byte) float64 {
	if len(text) == 0 || len(text) > mostDigits {
		return slowNumber(text)
	}
	n, rest := uint64(0), text
	if len(rest) >= 8 {
		if chunk := binary.LittleEndian.Uint64(rest); eightDigits(chunk) {
			n, rest = readEight(chunk), rest[8:]
		}
	}
	for i, c := range rest {
		if c -= '0'; c > 9 {
			return fraction(text, n, rest[i:])
		}
		n = n*10 + uint64(c)
	}
	return float64(n)
}

// mostDigits is how many digits a float64 holds, whatever they are.
const mostDigits = 15

// fraction reads the rest of a number that does not go on with a digit.
func fraction(text []byte, n uint64, rest []byte) float64 {
	places := len(rest) - 1
	if rest[0] != '.' || places == 0 || places == len(text)-1 {
		return slowNumber(text)
	}
	for _, c := range rest[1:] {
		if c -= '0'; c > 9 {
			return slowNumber(text)
		}
		n = n*10 + uint64(c)
	}
	return float64(n) / pow10(places)
}

// eightDigits says whether eight bytes are digits all.
func eightDigits(chunk uint64) bool {
	const zeros, high, over = 0x3030303030303030, 0xF0F0F0F0F0F0F0F0, 0x0606060606060606
	return chunk&high == zeros && (chunk+over)&high == zeros
}

// readEight is the number that eight digits are, the first in the lowest byte.
func readEight(chunk uint64) uint64 {
	const (
		zeros = 0x3030303030303030
		mask  = 0x000000FF000000FF
		mul1  = 100 + 1000000<<32
		mul2  = 1 + 10000<<32
	)
	chunk -= zeros
	chunk = chunk*10 + chunk>>8
	return ((chunk&mask)*mul1 + (chunk>>16&mask)*mul2) >> 32
}

// slowNumber reads any number.
func slowNumber(text []byte) float64 {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// appendNumber appends a computed value. Rates and ratios have no more to say
// than fifteen digits, which are written as a whole number whose decimal point
// moves, at a third of the cost of the shortest exact form.
func appendNumber(dst []byte, v float64) []byte {
	const largest, smallest = 1e9, 1e-4
	if !(v >= smallest && v < largest) || v == math.Trunc(v) {
		return exposition.AppendFloat(dst, v)
	}
	places, factor := 6, 1e6
	switch {
	case v < 1:
		places, factor = 14, 1e14
	case v < 1e4:
		places, factor = 10, 1e10
	}
	var digits [20]byte
	return appendShifted(dst, strconv.AppendUint(digits[:0], uint64(v*factor+0.5), 10), places)
}
