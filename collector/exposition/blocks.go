package exposition

import (
	"math/bits"
	"sync"
)

// blockPools keep released blocks for the next scrapes of any target, by how many
// values they have room for: a target that is scraped needs a second block only
// until the first is released. Safe for concurrent use.
type blockPools struct {
	mu   sync.Mutex
	free [maxClass + 1][]*Block
}

const (
	// maxFreeBlocks bounds what is kept of one size, up to those of usualClass: about
	// as many as are filled, or held by readers, at one time. Of larger ones less is.
	maxFreeBlocks, usualClass = 128, 9
	// maxClass is how many bits the number of values of a block has that is kept:
	// pages are seldom larger, and huge ones are not to be held.
	maxClass = 13
)

// The blocks of all targets: of pages that were parsed, of series that are
// computed, and of those that go on behind a page's own text, which have none.
//
//nolint:gochecknoglobals // memory only; it says nothing of any target.
var parsedBlocks, computedBlocks, overBlocks blockPools

// get returns an empty block for about so many values with one reference, held by
// the caller.
func (p *blockPools) get(values int) *Block {
	b := p.take(bits.Len(uint(values)))
	if b == nil {
		b = &Block{home: p}
	}
	b.shape, b.sizes = nil, b.sizes[:0]
	b.numbers, b.plain = b.numbers[:0], false
	b.refs.Store(1)
	return b
}

// take gives a free block, nil for none.
func (p *blockPools) take(class int) *Block {
	if class > maxClass {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free[class]
	n := len(free)
	if n == 0 {
		return nil
	}
	b := free[n-1]
	free[n-1], p.free[class] = nil, free[:n-1]
	return b
}

// put takes a block back that has no holder left.
func (p *blockPools) put(b *Block) {
	values := len(b.spans)
	if b.shape != nil {
		values = max(values, b.shape.values)
	}
	b.shape = nil
	class := bits.Len(uint(values))
	if class > maxClass {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free[class]) < maxFreeBlocks>>max(0, class-usualClass) {
		p.free[class] = append(p.free[class], b)
	}
}

// ForgetBlocks lets go of the blocks that wait for the next scrapes, as when a fleet
// has shrunk and few of them will be needed. Blocks in use are kept.
func ForgetBlocks() {
	for _, p := range []*blockPools{&parsedBlocks, &computedBlocks, &overBlocks} {
		p.mu.Lock()
		clear(p.free[:])
		p.mu.Unlock()
	}
}
