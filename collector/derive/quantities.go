package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// quantity is a number that servers show in different ways. The first way of which a page shows the
// signals counts.
type quantity []way

// way is one way to know a quantity.
type way struct {
	needs inputs
	// value returns the quantity. It is called if the page shows what the way needs.
	value func(v *View, m *Model) (float64, bool)
	// orNext is true if the next way counts while this one has no value.
	orNext bool
}

// asExposed is the way of a server that exposes the quantity itself.
func asExposed(signal engine.Signal) way {
	return way{needs: allOf(signal), value: func(v *View, m *Model) (float64, bool) { return v.Sum(m, signal) }}
}

// needs returns the signals of all ways.
func (q quantity) needs() (all inputs) {
	for _, w := range q {
		all = all.or(w.needs)
	}
	return all
}

// Of returns a quantity of a model.
func (v *View) Of(m *Model, q quantity) (value float64, ok bool) {
	for i := range q {
		if !v.hasAny(m, q[i].needs) {
			continue
		}
		value, ok = q[i].value(v, m)
		if ok || !q[i].orNext {
			break
		}
	}
	return value, ok
}

// Shows reports whether pages of this shape show a quantity of a model, with or without a value.
func (v *View) Shows(m *Model, q quantity) bool {
	for i := range q {
		if v.hasAny(m, q[i].needs) {
			return true
		}
	}
	return false
}

// hasAny reports whether pages of this shape show all signals of any set.
func (v *View) hasAny(m *Model, in inputs) bool {
	for _, set := range in {
		if v.Has(m, set...) {
			return true
		}
	}
	return false
}

// The quantities that several rules read, or that servers show in several ways.
//
//nolint:gochecknoglobals // constant data.
var (
	// admitted requests are active or, if a server does not expose those, running.
	admitted = quantity{
		{needs: allOf(engine.RequestsActive), value: unlessIdle(engine.RequestsActive)},
		{needs: allOf(engine.RequestsRunning), value: unlessIdle(engine.RequestsRunning)},
	}
	// waiting requests are in the engine: as exposed, or active minus scheduled (TensorRT-LLM before
	// 0.18), or those known to wait at a router.
	waiting = quantity{
		{needs: allOf(engine.RequestsWaiting), value: (*View).waitingExposed},
		{needs: allOf(engine.RequestsActive, engine.RequestsRunning), value: (*View).unscheduled},
		{
			needs: allOf(engine.RequestsActive, engine.RequestsUnanswered).and(requestsLimit.needs()),
			value: (*View).unplaced,
		},
	}
	// requestsLimit is how many requests the engine, or all workers of a router, can admit.
	requestsLimit = quantity{
		asExposed(engine.RequestsLimit),
		{needs: allOf(engine.WorkerRequestsLimit).and(workersNeeds()), value: (*View).workersLimit},
	}
	// runsFull is the limit of an engine that does not expose it: the number of running requests
	// while others wait.
	runsFull = quantity{{needs: allOf(engine.RequestsRunning, engine.RequestsWaiting), value: (*View).runningWhileFull}}

	// cacheUse is the share of the KV cache in use, computed or as the server states it.
	cacheUse = quantity{
		{needs: allOf(engine.KVBlocksUsed).and(cacheLimit.needs()), value: (*View).blocksUsed, orNext: true},
		{needs: allOf(engine.KVTokensUsed, engine.KVTokensLimit), value: (*View).tokensUsed, orNext: true},
		{needs: allOf(engine.KVUtilization), value: (*View).cacheUseExposed},
	}
	// cacheLimit is the number of KV cache blocks: of the engine, of all workers of a router, or, from
	// labels, of all ranks, each of which reserves a block (vLLM with engine V1, block_pool.py: the null block).
	cacheLimit = quantity{
		asExposed(engine.KVBlocksLimit),
		{needs: allOf(engine.WorkerKVBlocks).and(workersNeeds()), value: (*View).workersBlocks},
		{needs: allOf(engine.CacheStated), value: (*View).blocksStated},
	}
	// blockTokens is how many tokens a block holds.
	blockTokens = quantity{
		asExposed(engine.KVBlockTokens),
		{needs: allOf(engine.CacheStated), value: (*View).blockTokensStated},
	}
	// cacheTokens is how many tokens the KV cache holds.
	cacheTokens = quantity{
		{needs: allOf(engine.CacheStated), value: (*View).tokensStated, orNext: true},
		{needs: cacheLimit.needs().and(blockTokens.needs()), value: (*View).tokensOfBlocks, orNext: true},
		asExposed(engine.KVTokensLimit),
	}
	// cacheFree is how many tokens fit into the free blocks.
	cacheFree = quantity{
		{needs: allOf(engine.KVBlocksFree, engine.KVBlockTokens), value: (*View).freeBlocks, orNext: true},
		{needs: allOf(engine.KVTokensFree), value: (*View).freeTokens},
	}
	// hostUse is the share of the KV cache in the memory of the host that is in use.
	hostUse = quantity{
		asExposed(engine.KVHostUtilization),
		{needs: allOf(engine.KVHostTokensUsed, engine.KVHostTokensLimit), value: (*View).hostTokensUsed},
	}
	// hitRatio is the share of prompts that was found in the cache: of what was looked up, which is counted with
	// the hits and in their unit, or of the tokens of prompts, which may be counted later.
	hitRatio = quantity{
		{needs: allOf(engine.PrefixHits, engine.PrefixQueries), value: grownShare(engine.PrefixHits, engine.PrefixQueries)},
		{needs: allOf(engine.CachedTokens, engine.PromptTokens), value: grownShare(engine.CachedTokens, engine.PromptTokens)},
	}
	// transferBytes is how many bytes of KV caches were moved.
	transferBytes = quantity{
		asExposed(engine.KVTransferBytes),
		{needs: allOf(engine.KVTransferMebibytes), value: (*View).transferMebibytes},
	}
)

// workersNeeds returns the signals that tell how many workers a router knows, see [View.workers].
func workersNeeds() inputs { return anyOf(engine.WorkerKVBlocksUsed, engine.EngineRanks) }
