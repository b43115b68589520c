package exposition

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// fingerprint is what pieces of the same text have in common, and no others: the
// coding, two sums of the text or of its tokens, and the size of the text.
type fingerprint struct {
	coding Encoding
	hash   uint64
	more   uint64
	size   int
}

// piece is a part of a page, compressed. It does not change while it has a holder:
// the packer that keeps it, and each page that it is a part of.
type piece struct {
	fingerprint

	crc     uint32
	data    []byte
	holders atomic.Int32
}

// newPiece copies what was compressed into memory that no piece has any more. It has
// no holder yet.
func newPiece(is fingerprint, crc uint32, compressed []byte) *piece {
	class, size := pieceClass(len(compressed))
	p, ok := freePieces[class].Get().(*piece)
	if !ok {
		p = &piece{data: make([]byte, 0, size)}
	}
	p.fingerprint, p.crc = is, crc
	p.data = append(p.data[:0], compressed...)
	return p
}

// hold adds a holder.
func (p *piece) hold() { p.holders.Add(1) }

// release takes a holder away. The memory of a piece without one is used again.
func (p *piece) release() {
	if p.holders.Add(-1) == 0 {
		class, _ := pieceClass(cap(p.data))
		freePieces[class].Put(p)
	}
}

// freePieces are pieces without a holder, by how much they have room for.
//
//nolint:gochecknoglobals // memory only; it is written before it is read.
var freePieces [classes]sync.Pool

const (
	// stepBits says into how many steps each doubling is divided, so that an eighth of
	// the memory of a piece is free at most.
	stepBits = 3
	classes  = 64 << stepBits
)

// pieceClass is the class of pieces of so many bytes, and how many bytes those have
// room for: the same for all sizes that have the class, and of the class itself.
func pieceClass(n int) (class, size int) {
	n = max(n, 1<<stepBits)
	step := bits.Len(uint(n-1)) - stepBits - 1
	if step < 0 {
		return n, n
	}
	steps := (n-1)>>step + 1
	return step<<stepBits + steps, steps << step
}
