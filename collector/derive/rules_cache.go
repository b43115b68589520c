package derive

import (
	"math"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func cacheUtilizationRule() Rule {
	return eachModel(cacheUseNeeds(), cacheUtilization).reads(cacheSizes()...)
}

// cacheUtilization exposes the share of the KV cache in use.
func cacheUtilization(v *View, m *Model, out *Out) {
	if !v.hasCacheUse(m) {
		return
	}
	used, ok := v.cacheUse(m)
	out.Set(m, used, ok && v.Runs(m) && v.Trust(m, blocksMismatch, fractionMismatch))
}

func cacheCapacityRule() Rule { return eachModel(cacheTokensNeeds(), cacheCapacity) }

func cacheCapacity(v *View, m *Model, out *Out) {
	computed := v.hasCacheLimit(m) && v.hasBlockTokens(m)
	if !computed && v.stated(m).tokens == 0 && !v.Has(m, engine.KVTokensLimit) {
		return
	}
	tokens, ok := v.cacheTokens(m)
	out.Set(m, tokens, ok && v.Runs(m) && v.Trust(m, blocksMismatch))
}

func freeCacheRule() Rule { return eachModel(cacheFreeNeeds(), freeCache).reads(cacheSizes()...) }

func freeCache(v *View, m *Model, out *Out) {
	free, ok := v.cacheFree(m)
	out.Set(m, free, ok && v.Runs(m) && v.Trust(m, blocksMismatch))
}

func cacheUseNeeds() inputs {
	return allOf(engine.KVBlocksUsed).and(cacheLimitNeeds()).
		or(allOf(engine.KVTokensUsed, engine.KVTokensLimit)).
		or(allOf(engine.KVUtilization))
}

// cacheUse returns the share of the KV cache in use, computed or as the server states it: 0 of a cache
// of unknown size is unknown.
func (v *View) cacheUse(m *Model) (float64, bool) {
	stated, isStated := v.Sum(m, engine.KVUtilization)
	isStated = v.knownCache(m, stated) && isStated
	var computed float64
	var ok bool
	if v.Has(m, engine.KVBlocksUsed) && v.hasCacheLimit(m) {
		used, okUsed := v.Sum(m, engine.KVBlocksUsed)
		limit, okLimit := v.cacheLimit(m)
		computed, ok = ratio(used, okUsed, limit, okLimit)
	} else {
		computed, ok = v.Ratio(m, engine.KVTokensUsed, engine.KVTokensLimit)
	}
	if ok || !v.Has(m, engine.KVUtilization) {
		return computed, ok
	}
	return stated, isStated
}

func (v *View) hasCacheUse(m *Model) bool {
	return v.Has(m, engine.KVBlocksUsed) && v.hasCacheLimit(m) ||
		v.Has(m, engine.KVTokensUsed, engine.KVTokensLimit) ||
		v.Has(m, engine.KVUtilization)
}

// cacheSizes returns the signals that tell whether the size of a KV cache is known.
func cacheSizes() []engine.Signal {
	return []engine.Signal{engine.KVBlocksLimit, engine.WorkerKVBlocks, engine.KVTokensLimit}
}

// knownCache reports whether a part of the KV cache is known: it is not if it is 0 while the page
// shows a cache without a size.
func (v *View) knownCache(m *Model, part float64) bool {
	for _, size := range cacheSizes() {
		if v.Has(m, size) {
			_, ok := v.Sum(m, size)
			return part != 0 || ok
		}
	}
	return true
}

func cacheLimitNeeds() inputs {
	return anyOf(
		engine.KVBlocksLimit,
	).or(allOf(engine.WorkerKVBlocks).and(workersNeeds())).
		or(allOf(engine.CacheStated))
}

func cacheLimitRule() Rule {
	return copyOr(engine.KVBlocksLimit, cacheLimitNeeds(), (*View).hasCacheLimit, (*View).cacheLimit)
}

// cacheLimit returns the number of KV cache blocks: of the engine, of all workers of a router, or,
// from labels, of all ranks, each of which reserves a block (vLLM, block_pool.py: the null block).
func (v *View) cacheLimit(m *Model) (float64, bool) {
	switch {
	case v.Has(m, engine.KVBlocksLimit):
		return v.Sum(m, engine.KVBlocksLimit)
	case v.Has(m, engine.WorkerKVBlocks) && v.workers(m) > 0:
		blocks, ok := v.Sum(m, engine.WorkerKVBlocks)
		return blocks * v.workers(m), ok
	}
	return v.stated(m).blocks, v.stated(m).blocks > 0
}

func (v *View) hasCacheLimit(m *Model) bool {
	return v.Has(m, engine.KVBlocksLimit) ||
		v.Has(m, engine.WorkerKVBlocks) && v.workers(m) > 0 ||
		v.stated(m).blocks > 0
}

func blockTokensNeeds() inputs { return anyOf(engine.KVBlockTokens, engine.CacheStated) }

func blockTokensRule() Rule {
	return copyOr(engine.KVBlockTokens, blockTokensNeeds(), (*View).hasBlockTokens, (*View).blockTokens)
}

// blockTokens returns how many tokens a block holds.
func (v *View) blockTokens(m *Model) (float64, bool) {
	if v.Has(m, engine.KVBlockTokens) {
		return v.Sum(m, engine.KVBlockTokens)
	}
	return v.stated(m).blockTokens, v.stated(m).blockTokens > 0
}

func (v *View) hasBlockTokens(m *Model) bool {
	return v.Has(m, engine.KVBlockTokens) || v.stated(m).blockTokens > 0
}

func cacheTokensNeeds() inputs {
	return allOf(engine.CacheStated).or(cacheLimitNeeds().and(blockTokensNeeds())).or(allOf(engine.KVTokensLimit))
}

// cacheTokens returns how many tokens the KV cache holds.
func (v *View) cacheTokens(m *Model) (float64, bool) {
	stated, isStated := v.Sum(m, engine.KVTokensLimit)
	if tokens := v.stated(m).tokens; tokens > 0 {
		return tokens, true
	}
	if v.hasCacheLimit(m) && v.hasBlockTokens(m) {
		blocks, ok := v.cacheLimit(m)
		per, okPer := v.blockTokens(m)
		if ok && okPer {
			return blocks * per, true
		}
	}
	return stated, isStated
}

func cacheFreeNeeds() inputs {
	return allOf(engine.KVBlocksFree, engine.KVBlockTokens).or(allOf(engine.KVTokensFree))
}

// cacheFree returns how many tokens fit into the free blocks.
func (v *View) cacheFree(m *Model) (free float64, ok bool) {
	blocks, okBlocks := v.Sum(m, engine.KVBlocksFree)
	per, okPer := v.Sum(m, engine.KVBlockTokens)
	free, ok = v.Sum(m, engine.KVTokensFree)
	if okBlocks && okPer {
		free, ok = blocks*per, true
	}
	return free, v.knownCache(m, free) && ok
}

func transferBytesRule() Rule {
	needs := anyOf(engine.KVTransferBytes, engine.KVTransferMebibytes)
	return copyOr(engine.KVTransferBytes, needs, (*View).hasMebibytes, (*View).transferBytes)
}

// transferBytes returns how many bytes of KV caches were moved.
func (v *View) transferBytes(m *Model) (float64, bool) {
	const mebibyte = 1 << 20
	if v.Has(m, engine.KVTransferBytes) {
		return v.Sum(m, engine.KVTransferBytes)
	}
	mebibytes, ok := v.Sum(m, engine.KVTransferMebibytes)
	return mebibytes * mebibyte, ok
}

func (v *View) hasMebibytes(m *Model) bool { return v.Has(m, engine.KVTransferMebibytes) }

// statedCache is what labels say about a KV cache; 0 is unknown.
type statedCache struct {
	// blocks is how many are not reserved, tokens how many fit into these.
	blocks, blockTokens, tokens float64
}

// stated returns what labels say about the KV cache of a model.
func (v *View) stated(m *Model) statedCache {
	v.shown(m, engine.CacheStated)
	return m.cache
}

// statedCache reads the labels of a cache config. All ranks must have the same labels. If layers of
// several kinds share blocks, a block holds more tokens than its label says.
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
	return statedCache{
		blocks:      positive(blocks - ranks),
		blockTokens: positive(size("block_tokens")),
		tokens:      positive(perRank * ranks * (1 - ranks/blocks)),
	}
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
