package exposition

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	literalSymbols  = 286
	distanceSymbols = 30
	// endSymbol ends a block; the symbols of lengths are behind it.
	endSymbol = 256
	// longestCode is how long a code of a literal or a length is at most: four
	// literals, or all of a copy, are written at one time.
	longestCode = 12
	// longestDistance is the same of distances.
	longestDistance = 15
)

// lengthOf are the symbols of lengths in the lowest 16 bits, how many further
// bits they have in the next 8, and these bits.
//
//nolint:gochecknoglobals // constant data.
var lengthOf = func() (all [longest + 1]uint32) {
	for n := shortest; n < longest; n++ {
		symbol, further := uint32(n-shortest), uint32(0)
		if symbol >= 8 {
			further = uint32(bits.Len32(symbol) - 3)
			symbol = 4*further + symbol>>further
		}
		all[n] = (symbol + endSymbol + 1) | further<<16 | uint32(n-shortest)&(1<<further-1)<<24
	}
	all[longest] = literalSymbols - 1
	return all
}()

// distanceOf is the symbol of a distance less one and how many further bits it
// has, which are its lowest.
func distanceOf(d uint32) (symbol, further uint32) {
	if d < 4 {
		return d, 0
	}
	further = uint32(bits.Len32(d) - 2)
	return 2*further + d>>further, further
}

// deflater encodes tokens as deflate, each time with the code that suits them.
type deflater struct {
	huffman

	out bitWriter
	// counts are of literals and lengths, and of distances behind them; lengths and
	// codes are theirs.
	counts  [literalSymbols + distanceSymbols]uint32
	lengths [literalSymbols + distanceSymbols]uint8
	codes   [literalSymbols + distanceSymbols]uint32
	apart   [4][endSymbol]uint32
	header  header
}

// deflate encodes a text as blocks up to a whole byte, none of them the last. The
// bytes are good until it is called again.
func (d *deflater) deflate(t *tokens) []byte {
	most := len(t.literals)*longestCode/8 + len(t.list) + 1<<10
	d.out.reset(most)
	if len(t.list) > 0 {
		d.count(t)
		d.huffman.lengths(d.counts[:literalSymbols], longestCode, d.lengths[:literalSymbols])
		d.huffman.lengths(d.counts[literalSymbols:], longestDistance, d.lengths[literalSymbols:])
		codes(d.lengths[:literalSymbols], d.codes[:literalSymbols])
		codes(d.lengths[literalSymbols:], d.codes[literalSymbols:])
		d.header.write(&d.out, &d.huffman, d.lengths[:])
		d.write(t)
	}
	d.out.align()
	return d.out.bytes[:d.out.at]
}

// count counts the symbols. Of distances there are two at least, so that the code
// is complete.
func (d *deflater) count(t *tokens) {
	d.apart = [4][endSymbol]uint32{}
	literals := t.literals
	for ; len(literals) >= 4; literals = literals[4:] {
		d.apart[0][literals[0]]++
		d.apart[1][literals[1]]++
		d.apart[2][literals[2]]++
		d.apart[3][literals[3]]++
	}
	for _, one := range literals {
		d.apart[0][one]++
	}
	for i := range endSymbol {
		d.counts[i] = d.apart[0][i] + d.apart[1][i] + d.apart[2][i] + d.apart[3][i]
	}
	lengths, distances := d.counts[:literalSymbols], d.counts[literalSymbols:]
	clear(lengths[endSymbol:])
	clear(distances)
	lengths[endSymbol], distances[0], distances[1] = 1, 1, 1
	for list := t.list; len(list) >= 8; list = list[8:] {
		token := binary.LittleEndian.Uint64(list)
		if length := uint16(token >> 16); length > 0 {
			lengths[uint16(lengthOf[length])]++
			symbol, _ := distanceOf(uint32(uint16(token)))
			distances[symbol]++
		}
	}
}

// write writes literals and copies.
func (d *deflater) write(t *tokens) {
	literals, lengths, distances := t.literals, d.codes[:literalSymbols], d.codes[literalSymbols:]
	w := d.out
	for list := t.list; len(list) >= 8; list = list[8:] {
		token := binary.LittleEndian.Uint64(list)
		run := literals[:token>>32]
		literals = literals[len(run):]
		for len(run) >= 4 {
			w.add(lengths[run[0]])
			w.add(lengths[run[1]])
			w.add(lengths[run[2]])
			w.add(lengths[run[3]])
			w.flush()
			run = run[4:]
		}
		for _, one := range run {
			w.add(lengths[one])
		}
		w.flush()
		length := lengthOf[uint16(token>>16)&511]
		if length == 0 {
			continue
		}
		w.add(lengths[uint16(length)])
		w.put(uint64(length>>24), uint(uint8(length>>16)))
		distance := uint32(uint16(token))
		symbol, further := distanceOf(distance)
		w.add(distances[symbol])
		w.put(uint64(distance)&(1<<further-1), uint(further))
		w.flush()
	}
	w.add(lengths[endSymbol])
	w.flush()
	d.out = w
}

// bitWriter writes bits, the lowest first.
type bitWriter struct {
	bytes []byte
	at    int
	held  uint64
	n     uint
}

// reset makes room for so many bytes.
func (w *bitWriter) reset(most int) {
	w.bytes = slices.Grow(w.bytes[:0], most+8)
	w.bytes = w.bytes[:cap(w.bytes)]
	w.at, w.held, w.n = 0, 0, 0
}

// put adds n bits. No more than 56 may be added between two flushes.
func (w *bitWriter) put(value uint64, n uint) {
	w.held |= value << (w.n & 63)
	w.n += n
}

// add adds a code.
func (w *bitWriter) add(code uint32) { w.put(uint64(code&0xffff), uint(code>>24)) }

// flush writes the bytes that are whole.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.bytes[w.at:], w.held)
	w.at += int(w.n >> 3)
	w.held >>= w.n & 56
	w.n &= 7
}

// align ends with an empty stored block, which ends at a whole byte.
func (w *bitWriter) align() {
	w.put(0, 3)
	w.n = (w.n + 7) &^ 7
	w.flush()
	w.put(0xffff0000, 32)
	w.flush()
}
