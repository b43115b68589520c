package derive

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// number reads the text of a value, NaN for what is not finite or no number.
// Most values of a page are whole numbers of up to 15 digits; with a point they
// are one division away, which is rounded as the standard library rounds.
func number(text []byte) float64 {
	// The commonest sizes are read here, for a call costs as much.
	if size := len(text); size-1 < 8 && size > 0 && cap(text) >= 8 {
		if chunk := lastOfEight(binary.LittleEndian.Uint64(text[:8]), size); eightDigits(chunk) {
			return float64(readEight(chunk))
		}
	} else if n, ok := whole(text); ok {
		return float64(n)
	}
	return oddNumber(text)
}

// oddNumber reads a number that is not one of digits alone.
func oddNumber(text []byte) float64 {
	if len(text) > mostDigits {
		return slowNumber(text)
	}
	n := uint64(0)
	for i, c := range text {
		if c -= '0'; c > 9 {
			return fraction(text, n, text[i:])
		}
		n = n*10 + uint64(c)
	}
	return slowNumber(text)
}

// mostDigits is how many digits a float64 holds, whatever they are.
const mostDigits = 15

// whole reads a number of digits alone, up to [mostDigits], eight at a time.
// What stands behind the text is read with it and shifted out; false where it
// is no such number, or where too little stands behind it.
func whole(text []byte) (uint64, bool) {
	switch size := len(text); {
	case size == 0:
		return 0, false
	case size <= 8 && cap(text) >= 8:
		chunk := lastOfEight(binary.LittleEndian.Uint64(text[:8]), size)
		return readEight(chunk), eightDigits(chunk)
	case size > 8 && size <= mostDigits && cap(text) >= 16:
		first, rest := binary.LittleEndian.Uint64(text[:8]), lastOfEight(binary.LittleEndian.Uint64(text[8:16]), size-8)
		if !eightDigits(first) || !eightDigits(rest) {
			return 0, false
		}
		return readEight(first)*uint64(pow10(size-8)) + readEight(rest), true
	}
	n := uint64(0)
	for _, c := range text {
		if c -= '0'; c > 9 || n >= 1e14 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

// lastOfEight puts zeros before the first digits of eight bytes, in the place
// of those that follow.
func lastOfEight(chunk uint64, digits int) uint64 {
	return chunk<<(64-8*digits) | eightZeros>>(8*digits)
}

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
	const high, over = 0xF0F0F0F0F0F0F0F0, 0x0606060606060606
	return chunk&high == eightZeros && (chunk+over)&high == eightZeros
}

// readEight is the number that eight digits are, the first in the lowest byte.
func readEight(chunk uint64) uint64 {
	const (
		mask = 0x000000FF000000FF
		mul1 = 100 + 1000000<<32
		mul2 = 1 + 10000<<32
	)
	chunk -= eightZeros
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
	switch {
	case v >= 0 && v < 1e15 && v == math.Trunc(v):
		return appendWhole(dst, uint64(v))
	case !(v >= smallest && v < largest):
		return exposition.AppendFloat(dst, v)
	}
	places, factor := 6, 1e6
	switch {
	case v < 1:
		places, factor = 14, 1e14
	case v < 1e4:
		places, factor = 10, 1e10
	}
	return appendFixed(dst, uint64(v*factor+0.5), places)
}

// appendFixed appends a whole number of up to sixteen digits divided by 10 to
// the places, of which there are fewer than sixteen.
func appendFixed(dst []byte, n uint64, places int) []byte {
	// The digits stand one place behind theirs, until those before the point
	// are moved to make room for it.
	var text [17]byte
	high, low := writeEight(n/half), writeEight(n%half)
	binary.LittleEndian.PutUint64(text[1:9], high)
	binary.LittleEndian.PutUint64(text[9:], low)
	point, end := 16-places, 16-bits.LeadingZeros64(low^eightZeros)/8
	if low == eightZeros {
		end = 8 - bits.LeadingZeros64(high^eightZeros)/8
	}
	first := min(leadingZeros(high, low), point-1)
	if end <= point {
		return append(dst, text[first+1:point+1]...)
	}
	for i := first; i < point; i++ {
		text[i] = text[i+1]
	}
	text[point] = '.'
	return append(dst, text[first:end+1]...)
}

// appendWhole appends a whole number of up to sixteen digits.
func appendWhole(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, '0'+byte(n))
	}
	var text [16]byte
	high, low := writeEight(n/half), writeEight(n%half)
	binary.LittleEndian.PutUint64(text[:8], high)
	binary.LittleEndian.PutUint64(text[8:], low)
	return append(dst, text[leadingZeros(high, low):]...)
}

// half is what eight digits count to.
const half = 100_000_000

// leadingZeros is how many of sixteen digits are zeros before the first other.
func leadingZeros(high, low uint64) int {
	if high != eightZeros {
		return bits.TrailingZeros64(high^eightZeros) / 8
	}
	return 8 + bits.TrailingZeros64(low^eightZeros)/8
}

// eightZeros is the text of eight zeros.
const eightZeros = 0x3030303030303030

// writeEight is the text of a number below 10 to the 8, the first digit in the
// lowest byte. It halves the digits three times: multiplying by 10486/2^20 and
// 103/2^10 divides by 100 and by 10 in the ranges that are left.
func writeEight(n uint64) uint64 {
	n = n/10000 | n%10000<<32
	hundreds := n * 10486 >> 20 & 0x0000007F0000007F
	n = hundreds | (n-hundreds*100)<<16
	tens := n * 103 >> 10 & 0x000F000F000F000F
	return tens | (n-tens*10)<<8 | eightZeros
}
