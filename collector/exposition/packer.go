package exposition

import (
	"errors"
	"hash/crc32"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// mostWriters bounds the processors that work on one page: some are left for
	// scrapes.
	mostWriters = 4
	// piecesEach is how many pieces of a page one processor compresses, which takes it
	// about a tenth of a second: that another helps is sooner done, and costs more.
	piecesEach = 512
)

// Packer compresses one page after another, piece by piece on several processors,
// and keeps the pieces of the last one: those whose text is the same again are
// not compressed again. It may be used concurrently; pages are then made one
// after the other.
type Packer struct {
	mu   sync.Mutex
	seed maphash.Seed
	kept map[fingerprint]*piece
	steady
	// each is how many pieces one processor compresses; 0 for piecesEach.
	each int
}

// repeats is the coding of pieces that have tokens: gzip, from the tokens.
const repeats Encoding = "repeats"

// Pack compresses what [Layout.WriteText] writes; the coding must be gzip or zstd. The
// caller releases the page.
func (p *Packer) Pack(e Encoding, l *Layout, blocks []*Block, only func(name string) bool) (*Packed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.seed = maphash.MakeSeed()
	}
	work := l.stretches()
	pieces, errs := make([]*piece, len(work)), make([]error, len(work))
	of := newContent(l, blocks, only)
	p.begin(e, l, len(work))
	p.together(len(work), func(c *pieceCompressor, i int) {
		pieces[i], errs[i] = p.pieceOf(c, of, work[i], &p.pieces[i])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	packed := newPacked(e, pieces)
	p.keep(pieces)
	return packed, nil
}

// pieceOf finds or makes a piece of the page, of which something may be known.
func (p *Packer) pieceOf(c *pieceCompressor, of *content, work []stretch, known *steadyPiece) (*piece, error) {
	if known.piece != nil && known.values == p.valuesOf(c, of, work) {
		return known.piece, nil
	}
	*known = steadyPiece{}
	one, err := p.written(c, of, work)
	if err != nil || p.kept[one.fingerprint] != one {
		return one, err
	}
	*known = steadyPiece{one, p.valuesOf(c, of, work)}
	return one, nil
}

// written is the piece of a text, which is written to find it.
func (p *Packer) written(c *pieceCompressor, of *content, work []stretch) (*piece, error) {
	if p.coding == Gzip && mayRepeat(work) && of.repeatPiece(&c.repeater, work) {
		return p.repeated(c), nil
	}
	c.plain = of.appendPiece(c.plain[:0], work)
	return p.piece(c, p.coding)
}

// keep has these pieces instead of those of the page before.
func (p *Packer) keep(pieces []*piece) {
	before := p.kept
	p.kept = make(map[fingerprint]*piece, len(pieces))
	for _, one := range pieces {
		if p.kept[one.fingerprint] == nil {
			p.kept[one.fingerprint] = one
			one.hold()
		}
	}
	for _, one := range before {
		one.release()
	}
}

// together calls do for each of n pieces, and others call it too where they are
// many.
func (p *Packer) together(n int, do func(c *pieceCompressor, i int)) {
	var next atomic.Int32
	work := func() {
		c := compressors.Get().(*pieceCompressor) //nolint:forcetypeassert // the pool has nothing else.
		defer compressors.Put(c)
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(c, i)
		}
	}
	each := p.each
	if each == 0 {
		each = piecesEach
	}
	var others sync.WaitGroup
	for range min(n/each, mostWriters-1, runtime.GOMAXPROCS(0)-1) {
		others.Go(work)
	}
	work()
	others.Wait()
}

// piece finds the piece of a text, or compresses it.
func (p *Packer) piece(c *pieceCompressor, e Encoding) (*piece, error) {
	crc := crc32.ChecksumIEEE(c.plain)
	is := fingerprint{coding: e, hash: maphash.Bytes(p.seed, c.plain), more: uint64(crc), size: len(c.plain)}
	if before := p.kept[is]; before != nil {
		return before, nil
	}
	data, err := c.compress(e)
	return newPiece(is, crc, data), err
}

// repeated finds the piece of a text with tokens, which are the text, or encodes
// them.
func (p *Packer) repeated(c *pieceCompressor) *piece {
	t := &c.tokens
	is := fingerprint{coding: repeats, hash: maphash.Bytes(p.seed, t.list), more: maphash.Bytes(p.seed, t.literals), size: len(t.text)}
	if before := p.kept[is]; before != nil {
		return before
	}
	return newPiece(is, crc32.ChecksumIEEE(t.text), c.deflate(t))
}
