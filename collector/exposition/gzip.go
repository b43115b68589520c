package exposition

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// gzipHead says that a member of gzip begins, made in no time known, the
	// fastest way, by a system that is not told.
	gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
	// gzipLast is an empty block of deflate that is the last. The sum and the length
	// of the text follow.
	gzipLast = "\x03\x00"
)

// gzipTail is what comes behind pieces, of which each is blocks of deflate up to a
// whole byte and none the last, so that they are one member of gzip.
func gzipTail(pieces []*piece) []byte {
	size, crc := int64(0), uint32(0)
	for _, p := range pieces {
		crc = joinedSum(crc, p.crc, int64(p.size))
		size += int64(p.size)
	}
	tail := binary.LittleEndian.AppendUint32([]byte(gzipLast), crc)
	return binary.LittleEndian.AppendUint32(tail, uint32(size))
}

// joinedSum is the CRC-32 of two texts one after the other, given that of each
// and the length of the second. A sum is a polynomial over the field of two
// elements; bytes behind the text multiply it by a power of x.
func joinedSum(first, second uint32, length int64) uint32 {
	power, factor := uint32(1)<<31, uint32(1)<<23 // x^0 and x^8, reversed.
	for n := length; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = times(factor, power)
		}
		factor = times(factor, factor)
	}
	return times(power, first) ^ second
}

// times multiplies two polynomials modulo that of CRC-32, bits reversed.
func times(a, b uint32) uint32 {
	product := uint32(0)
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}
