package exposition

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// scanned is how many bytes from a value on are looked at by quick.
const scanned = 32

// quick finds the size of a value that ends its line and reads its number with
// the same look, eight bytes at a time: digits, with or without a point. The
// size is 0 for all others, and those that are longer; see scan for the number.
func quick(text *[scanned]byte) (size int, number float64) {
	first, n := digitsOf(text[:8])
	if n < 64 {
		switch end := text[n/8]; {
		case n == 0:
			return 0, 0
		case end == '\n':
			return n / 8, float64(int64(readEight(first << (64 - n))))
		case end == '.':
			return quickFraction(text, n/8+1, readEight(first<<(64-n)))
		}
		return 0, 0
	}
	rest, m := digitsOf(text[8:])
	if text[8+m/8] != '\n' {
		return 0, 0
	}
	return 8 + m/8, exactly(readEight(first)*powersOfTen[m/8]+readEight(rest<<(64-m)), 0)
}

// quickFraction reads up to seven digits behind the point, before which the
// number is n.
func quickFraction(text *[scanned]byte, at int, n uint64) (size int, number float64) {
	first, m := digitsOf(text[at:])
	if m < 64 {
		if m == 0 || text[at+m/8] != '\n' {
			return 0, 0
		}
		return at + m/8, exactly(n*powersOfTen[m/8]+readEight(first<<(64-m)), m/8)
	}
	rest, m := digitsOf(text[at+8:])
	if size = at + 8 + m/8; size > mostDigits || text[size] != '\n' {
		return 0, 0
	}
	return size, exactly((n*powersOfTen[8]+readEight(first))*powersOfTen[m/8]+readEight(rest<<(64-m)), 8+m/8)
}

// scan does the same byte by byte, for values of every kind. The number is NaN
// where it takes more than a look: for more digits than a float64 holds, a
// sign, an exponent or a word. The end is -1 when the bytes are not a number
// whose validity is certain without the slow path.
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
	if i == pos || i < len(body) && body[i] != '\n' {
		return numberEnd(body, pos), math.NaN()
	}
	return i, exactly(n, places)
}

// mostDigits is how many digits a uint64 holds, whatever they are.
const mostDigits = 19

// powersOfTen are those that a uint64 holds.
//
//nolint:gochecknoglobals // constant data; a local array would be copied for each number.
var powersOfTen = [mostDigits + 1]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// exactly is n divided by 10 to the places, NaN when n is more than a float64
// holds. With n and the power exact the division rounds once, as the standard
// library does.
func exactly(n uint64, places int) float64 {
	const most = 1 << 53
	if n > most {
		return math.NaN()
	}
	if places == 0 {
		return float64(int64(n))
	}
	return float64(int64(n)) / float64(int64(powersOfTen[places]))
}

// digitsOf reads eight bytes as the values of digits; n is how many bits of
// them, from the first byte on, are digits.
func digitsOf(eight []byte) (values uint64, n int) {
	const zeros, over, high = 0x3030303030303030, 0x7676767676767676, 0x8080808080808080
	values = binary.LittleEndian.Uint64(eight) ^ zeros
	// Adding lifts all but the values 0 to 9 above 127; what is carried from a
	// byte into the next is behind the first that is no digit.
	return values, bits.TrailingZeros64((values+over|values)&high) &^ 7
}

// readEight is the number that the values of eight digits are, the first in
// the lowest byte.
func readEight(values uint64) uint64 {
	const (
		mask = 0x000000FF000000FF
		mul1 = 100 + 1000000<<32
		mul2 = 1 + 10000<<32
	)
	values = values*10 + values>>8
	return ((values&mask)*mul1 + (values>>16&mask)*mul2) >> 32
}

// Number is the number at a place of the block's shape, NaN for what is absent
// or not finite.
func (b *Block) Number(p Place) float64 {
	if int(p) < len(b.numbers) {
		if v := b.numbers[p]; v == v {
			return v
		}
	}
	return finite(b.At(p))
}

// Numbers reads the numbers at places into as long a row.
func (b *Block) Numbers(places []Place, row []float64) {
	numbers := b.numbers
	row = row[:len(places)]
	for i, p := range places {
		if int(p) < len(numbers) {
			if v := numbers[p]; v == v {
				row[i] = v
				continue
			}
		}
		row[i] = finite(b.At(p))
	}
}

// Plain says that all values of the page are finite and none is below 0, so
// that none need be looked at for that; false says nothing.
func (b *Block) Plain() bool { return b.plain }

// finite reads any number, NaN for what is none or is infinite.
func finite(text []byte) float64 {
	if len(text) == 0 || text[0] > '9' {
		return math.NaN() // Absent, or NaN itself, as summaries without observations show.
	}
	v, ok := number(text)
	if !ok || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
