package simulate

import "slices"

// kvCache is a paged KV cache. Blocks of a shared prefix stay cached after their last
// user, and then count as free because they can be evicted (TRT-LLM's block reuse).
type kvCache struct {
	blocks, perBlock, used, evictable int // A block is of perBlock tokens.
	groups                            []prefix
	kvStats
}

// kvStats has the executor's statistics of blocks, in all and for the running iteration.
type kvStats struct {
	reused, missed                       uint64
	iterReused, iterMissed, iterGenAlloc int
}

// prefix is a shared prefix of prompts.
type prefix struct {
	blocks, refs int
	cached       bool
}

func newKVCache(cfg Engine, load Workload) *kvCache {
	groups := slices.Repeat([]prefix{{blocks: load.PrefixTokens / cfg.TokensPerBlock}}, prefixGroups)
	return &kvCache{blocks: cfg.KVBlocks, perBlock: cfg.TokensPerBlock, groups: groups}
}

func (k *kvCache) free() int { return k.blocks - k.used }

func (k *kvCache) blocksFor(tokens int) int { return (tokens + k.perBlock - 1) / k.perBlock }

// allocate moves n blocks from free to used, evicting unused prefixes.
func (k *kvCache) allocate(n int) bool {
	if n > k.free() {
		return false
	}
	for i := 0; n > k.free()-k.evictable && i < len(k.groups); i++ {
		if g := &k.groups[i]; g.cached && g.refs == 0 {
			g.cached = false
			k.evictable -= g.blocks
		}
	}
	k.used += n
	return true
}

// begin allocates the blocks for the context of r; it returns false if there are too few.
func (k *kvCache) begin(r *request) bool {
	want := k.blocksFor(r.target + 1)
	g := k.groupOf(r)
	if g == nil || want <= g.blocks {
		if !k.allocate(want) {
			return false
		}
		r.blocks = want
		k.miss(want)
		return true
	}
	need, hit := want-g.blocks, g.cached
	if g.refs == 0 {
		need += g.blocks
	}
	if need > k.free() {
		return false
	}
	if hit && g.refs == 0 {
		// The prefix is no longer evictable.
		k.evictable -= g.blocks
	}
	g.refs++
	g.cached, r.shared, r.blocks = true, true, want-g.blocks
	k.allocate(need)
	if !hit {
		k.miss(want)
		return true
	}
	r.context = min(g.blocks*k.perBlock, r.target-1)
	r.cached = min(r.context, r.prompt)
	k.reused += uint64(g.blocks)
	k.iterReused += g.blocks
	k.miss(r.blocks)
	return true
}

func (k *kvCache) miss(n int) {
	k.missed += uint64(n)
	k.iterMissed += n
}

func (k *kvCache) groupOf(r *request) *prefix {
	if r.group < 0 || r.group >= len(k.groups) || k.groups[r.group].blocks == 0 {
		return nil
	}
	return &k.groups[r.group]
}

// held returns the number of blocks of r, including its shared prefix.
func (k *kvCache) held(r *request) int {
	if r.shared {
		return r.blocks + k.groups[r.group].blocks
	}
	return r.blocks
}

// grow allocates another block for r if its next token needs one.
func (k *kvCache) grow(r *request) bool {
	if k.blocksFor(r.prompt+r.generated+1) <= k.held(r) {
		return true
	}
	if !k.allocate(1) {
		return false
	}
	r.blocks++
	k.iterGenAlloc++
	return true
}

// release frees all blocks of r; a shared prefix stays cached.
func (k *kvCache) release(r *request) {
	k.used -= r.blocks
	r.blocks = 0
	if !r.shared {
		return
	}
	r.shared = false
	g := &k.groups[r.group]
	g.refs--
	if g.refs == 0 {
		k.used -= g.blocks
		k.evictable += g.blocks
	}
}
