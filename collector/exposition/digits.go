package exposition

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// AppendShort appends a computed value. Rates and ratios mean no more than their
// first ten to fifteen digits, which are written as a whole number whose decimal
// point moves, at a fifth of the cost of the shortest exact form.
func AppendShort(dst []byte, v float64) []byte {
	const largest, smallest = 1e9, 1e-4
	if v >= 0 && v < 1e15 {
		if n := int64(v); float64(n) == v {
			return appendWhole(dst, uint64(n))
		}
	}
	switch {
	case !(v >= smallest && v < largest):
		return AppendFloat(dst, v)
	case v < 1:
		return appendFixed(dst, uint64(int64(v*1e14+0.5)), 14)
	case v < 1e4:
		return appendFixed(dst, uint64(int64(v*1e10+0.5)), 10)
	default:
		return appendFixed(dst, uint64(int64(v*1e6+0.5)), 6)
	}
}

// AppendShifted appends a value divided by 10 to the places, of which there are
// from one to fifteen. Up to fifteen digits before the point it is exact.
func AppendShifted(dst []byte, v float64, places int) []byte {
	if v >= 0 && v < 1e15 {
		if n := int64(v); float64(n) == v {
			return appendFixed(dst, uint64(n), places)
		}
	}
	return AppendFloat(dst, v/math.Pow10(places))
}

// numberRoom is how many bytes a number is written with, whatever its length: as
// whole words, of which the end of the text cuts off what is too much.
const numberRoom = 40

// appendFixed appends a whole number of up to sixteen digits divided by 10 to
// the places, of which there are from one to fifteen.
func appendFixed(dst []byte, n uint64, places int) []byte {
	d, point := sixteen(n), 16-places
	first, end := min(d.first(), point-1), d.end()
	dst = slices.Grow(dst, numberRoom)
	text := dst[len(dst) : len(dst)+numberRoom]
	d.put(text, first)
	size := point - first
	if end > point {
		text[size] = '.'
		d.put(text[size+1:], point)
		size += 1 + end - point
	}
	return dst[:len(dst)+size]
}

// appendWhole appends a whole number of up to sixteen digits.
func appendWhole(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, '0'+byte(n))
	}
	d := sixteen(n)
	first := d.first()
	dst = slices.Grow(dst, numberRoom)
	d.put(dst[len(dst):len(dst)+numberRoom], first)
	return dst[:len(dst)+16-first]
}

// digits are the texts of sixteen digits, the first in the lowest byte of high.
type digits struct{ high, low uint64 }

// sixteen are the digits of a number below 10 to the 16.
func sixteen(n uint64) digits {
	const half = 100_000_000
	if n < half {
		return digits{eightZeros, writeEight(n)}
	}
	return digits{writeEight(n / half), writeEight(n % half)}
}

// first is how many zeros are before the first other digit.
func (d digits) first() int {
	if d.high != eightZeros {
		return bits.TrailingZeros64(d.high^eightZeros) / 8
	}
	return 8 + bits.TrailingZeros64(d.low^eightZeros)/8
}

// end is where the zeros begin that are behind the last other digit.
func (d digits) end() int {
	if d.low != eightZeros {
		return 16 - bits.LeadingZeros64(d.low^eightZeros)/8
	}
	return 8 - bits.LeadingZeros64(d.high^eightZeros)/8
}

// put writes the digits from number from on, and as many bytes more as make
// sixteen together.
func (d digits) put(dst []byte, from int) {
	by := 8 * uint(from)
	if from >= 8 {
		binary.LittleEndian.PutUint64(dst, d.low>>(by-64))
		return
	}
	binary.LittleEndian.PutUint64(dst, d.high>>by|d.low<<(64-by))
	binary.LittleEndian.PutUint64(dst[8:], d.low>>by)
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
