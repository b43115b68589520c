package derive

import (
	"math"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func cacheUtilizationRule() Rule {
	return eachModel(cacheUse.needs(), cacheUtilization).reads(cacheSizes()...)
}

// cacheUtilization exposes the share of the KV cache in use.
func cacheUtilization(v *View, m *Model, out *Out) {
	used, ok := v.Of(m, cacheUse)
	out.Set(m, used, ok && v.Runs(m) && v.Trust(m, blocksMismatch, fractionMismatch))
}

func cacheCapacityRule() Rule { return eachModel(cacheTokens.needs(), cacheCapacity) }

func cacheCapacity(v *View, m *Model, out *Out) {
	tokens, ok := v.Of(m, cacheTokens)
	out.Set(m, tokens, ok && v.Runs(m) && v.Trust(m, blocksMismatch))
}

func freeCacheRule() Rule { return eachModel(cacheFree.needs(), freeCache).reads(cacheFreeReads()...) }

// cacheFreeReads returns the signals that tell besides how much of a cache is free.
func cacheFreeReads() []engine.Signal {
	return append(cacheSizes(), engine.KVTokensUsed, engine.KVUtilization)
}

func freeCache(v *View, m *Model, out *Out) {
	free, ok := v.Of(m, cacheFree)
	out.Set(m, free, ok && v.Runs(m) && v.Trust(m, blocksMismatch))
}

func (v *View) blocksUsed(m *Model) (float64, bool) {
	used, okUsed := v.Sum(m, engine.KVBlocksUsed)
	limit, okLimit := v.Of(m, cacheLimit)
	return atMostAll(ratio(used, okUsed, limit, okLimit))
}

// atMostAll returns a share, which is wrong if it is more than all.
func atMostAll(share float64, ok bool) (float64, bool) { return share, ok && share <= 1 }

// tokensUsed returns the share of the tokens in use, or what the server states if that is another: a model with
// several pools, as for sliding windows or states, has the tokens of one pool beside the use of the fullest.
func (v *View) tokensUsed(m *Model) (float64, bool) {
	if v.anotherPool(m) {
		return v.Sum(m, engine.KVUtilization)
	}
	return atMostAll(v.Ratio(m, engine.KVTokensUsed, engine.KVTokensLimit))
}

// anotherPool reports whether a cache is fuller or emptier than its tokens show, which may be those of a pool beside
// the size of another one. Each rank has a cache of its own, and only within one can the two be compared. What is
// stated is rounded to two digits.
func (v *View) anotherPool(m *Model) bool {
	const rounding = 0.005
	for _, c := range v.caches(m) {
		stated, ok := v.window.largest(c.stated)
		used, size := sumOf(v.window.current, c.used), sumOf(v.window.current, c.size)
		if ok && size > 0 && math.Abs(stated-used/size) > rounding {
			return true
		}
	}
	return false
}

// rankCache is the KV cache of a rank: how full it is by its own account, how many of its tokens are in use, and how
// many it holds.
type rankCache struct{ stated, used, size []int }

// caches returns the KV caches of the ranks of a model.
func (v *View) caches(m *Model) []rankCache {
	if v.Has(m, engine.KVUtilization, engine.KVTokensUsed, engine.KVTokensLimit) && m.caches == nil && v.mayAsk() {
		m.caches = v.index.cachesOf(m)
	}
	return m.caches
}

// cachesOf returns the KV cache of each rank, or one of all if a rank does not show everything.
func (ix *index) cachesOf(m *Model) (all []rankCache) {
	stated, used, size := m.groups(engine.KVUtilization), m.groups(engine.KVTokensUsed), m.groups(engine.KVTokensLimit)
	for _, r := range ix.ranksOf(slices.Concat(stated, used, size)) {
		of := func(groups []*group) (columns []int) {
			for _, g := range groups {
				ofRank, _ := ix.columnsOfRank([]*numbers{&g.value}, r)
				columns = append(columns, ofRank...)
			}
			return columns
		}
		c := rankCache{of(stated), of(used), of(size)}
		if len(c.stated) == 0 || len(c.used) == 0 || len(c.size) == 0 {
			return []rankCache{{ix.allColumns(stated), ix.allColumns(used), ix.allColumns(size)}}
		}
		all = append(all, c)
	}
	return all
}

// cacheUseExposed returns the share as the server states it: 0 of a cache of unknown size is unknown.
func (v *View) cacheUseExposed(m *Model) (float64, bool) {
	used, ok := v.Sum(m, engine.KVUtilization)
	return used, v.knownCache(m, used) && ok
}

// cacheSizes returns the signals that tell whether the size of a KV cache is known.
func cacheSizes() []engine.Signal {
	return []engine.Signal{engine.KVBlocksLimit, engine.WorkerKVBlocks, engine.KVTokensLimit, engine.CacheStated}
}

// knownCache reports whether a part of the KV cache is known: it is not if it is 0 while the page
// shows a cache without a size.
func (v *View) knownCache(m *Model, part float64) bool {
	if v.Has(m, engine.CacheStated) {
		return part != 0 || !v.stated(m).none
	}
	for _, size := range cacheSizes() {
		if v.Has(m, size) {
			_, ok := v.Sum(m, size)
			return part != 0 || ok
		}
	}
	return true
}

func cacheLimitRule() Rule { return copyOr(engine.KVBlocksLimit, cacheLimit) }

func (v *View) workersBlocks(m *Model) (float64, bool) {
	blocks, ok := v.Sum(m, engine.WorkerKVBlocks)
	workers, known := v.workers(m)
	return blocks * workers, ok && known
}

func (v *View) blocksStated(m *Model) (float64, bool) {
	blocks := v.stated(m).blocks
	return blocks, blocks > 0
}

func blockTokensRule() Rule { return copyOr(engine.KVBlockTokens, blockTokens) }

func (v *View) blockTokensStated(m *Model) (float64, bool) {
	tokens := v.stated(m).blockTokens
	return tokens, tokens > 0
}

func (v *View) tokensStated(m *Model) (float64, bool) {
	tokens := v.stated(m).tokens
	return tokens, tokens > 0
}

func (v *View) tokensOfBlocks(m *Model) (float64, bool) {
	blocks, ok := v.Of(m, cacheLimit)
	per, okPer := v.Of(m, blockTokens)
	return blocks * per, ok && okPer
}

func (v *View) freeBlocks(m *Model) (float64, bool) {
	blocks, okBlocks := v.Sum(m, engine.KVBlocksFree)
	per, okPer := v.Sum(m, engine.KVBlockTokens)
	return blocks * per, v.knownCache(m, blocks*per) && okBlocks && okPer
}

// freeTokens returns the free tokens, unknown if another pool is fuller.
func (v *View) freeTokens(m *Model) (float64, bool) {
	tokens, ok := v.Sum(m, engine.KVTokensFree)
	fuller := v.anotherPool(m)
	return tokens, v.knownCache(m, tokens) && ok && !fuller
}

func hostUseRule() Rule {
	return copyOr(engine.KVHostUtilization, hostUse).reads(engine.KVHostStatesUsed, engine.KVHostStatesLimit)
}

// hostTokensUsed returns the share of the fuller pool, of tokens or of states.
func (v *View) hostTokensUsed(m *Model) (float64, bool) {
	tokens, ok := atMostAll(v.Ratio(m, engine.KVHostTokensUsed, engine.KVHostTokensLimit))
	states, hybrid := atMostAll(v.Ratio(m, engine.KVHostStatesUsed, engine.KVHostStatesLimit))
	if ok && hybrid {
		return max(tokens, states), true
	}
	return tokens, ok
}

func transferBytesRule() Rule { return copyOr(engine.KVTransferBytes, transferBytes) }

func (v *View) transferMebibytes(m *Model) (float64, bool) {
	const mebibyte = 1 << 20
	mebibytes, ok := v.Sum(m, engine.KVTransferMebibytes)
	return mebibytes * mebibyte, ok
}

// statedCache is what labels say about a KV cache; 0 is unknown.
type statedCache struct {
	// blocks is how many are not reserved, tokens how many fit into these.
	blocks, blockTokens, tokens float64
	// none is true if all blocks are reserved, as for models that only embed.
	none bool
}

// stated returns what labels say about the KV cache of a model.
func (v *View) stated(m *Model) statedCache {
	v.ask(m, engine.CacheStated)
	return m.cache
}

// statedCache reads the labels of a cache config. All ranks must have the same labels. Where several
// kinds of layers share the blocks, the size of a block is that for one kind and does not tell how many tokens fit.
func (ix *index) statedCache(m *Model) (c statedCache) {
	groups := m.groups(engine.CacheStated)
	if len(groups) == 0 {
		return c
	}
	ranks := float64(len(ix.ranksOf(groups)))
	size := func(label string) float64 {
		v, err := strconv.ParseFloat(groups[0].labels.Get(label), 64)
		if err != nil || !(v > 0) {
			return math.NaN()
		}
		return v
	}
	positive := func(v float64) float64 {
		if v > 0 {
			return v
		}
		return 0
	}
	blocks := size("blocks")
	perRank, err := strconv.ParseFloat(groups[0].labels.Get("tokens"), 64)
	if err != nil {
		perRank = math.NaN()
	}
	reserved := ranks
	if size("swap_blocks") > 0 { // Engines that swap blocks to the memory of the host reserve none.
		reserved = 0
	}
	c = statedCache{
		blocks:      positive(blocks - reserved),
		blockTokens: positive(size("block_tokens")),
		tokens:      positive(perRank * ranks * (1 - ranks/blocks)),
		none:        groups[0].labels.Get("blocks") == "0" || blocks <= reserved,
	}
	if size("state_tokens") > 0 && c.tokens == 0 {
		c.blockTokens = 0
	}
	return c
}

func hitRatioRule() Rule { return eachModel(hitRatio.needs(), cacheHits) }

// cacheHits exposes the share of prompts that was found in the cache.
func cacheHits(v *View, m *Model, out *Out) {
	share, ok := v.Of(m, hitRatio)
	out.Set(m, share, ok)
}

func reuseEstimateRule() Rule {
	const reason = "it is absent while several instances write the count of blocks in turn, " +
		"and if missed blocks are counted"
	needs := allOf(engine.KVBlocksReused, engine.KVBlockTokens, engine.PromptTokens)
	return eachModel(needs, reuseEstimate).reads(engine.KVBlocksMissed).because(reason)
}

// reuseEstimate exposes the share of prompt tokens in reused blocks, unless the server counts it.
func reuseEstimate(v *View, m *Model, out *Out) {
	if v.Has(m, engine.KVBlocksMissed) {
		return
	}
	reused, okReused := v.Rate(m, engine.KVBlocksReused)
	per, okPer := v.Sum(m, engine.KVBlockTokens)
	prompt, okPrompt := v.Rate(m, engine.PromptTokens)
	share, ok := ratio(reused*per, okReused && okPer, prompt, okPrompt)
	out.Set(m, min(share, 1), ok && v.Trust(m, flappingGauges))
}
