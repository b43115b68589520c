package derive

import (
	"math"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// term computes a number for a model id from the signals in inputs. Its Eval may be nil.
type term struct {
	inputs inputs
	eval   func(p *Plan, id string) Eval
}

func total(signal engine.Signal) term {
	return term{allOf(signal), func(p *Plan, id string) Eval { return p.total(signal, id) }}
}

func rate(signal engine.Signal) term {
	return term{allOf(signal), func(p *Plan, id string) Eval { return growthRate(p.groupColumns(p.groupsOf(signal, id))) }}
}

func combineTerms(a, b term, op func(a, b Eval) Eval) term {
	return term{a.inputs.and(b.inputs), func(p *Plan, id string) Eval { return op(a.eval(p, id), b.eval(p, id)) }}
}

// orElse returns the first term that the page has.
func orElse(terms ...term) term {
	var in inputs
	for _, t := range terms {
		in = in.or(t.inputs)
	}
	return term{in, func(p *Plan, id string) Eval {
		for _, t := range terms {
			if e := t.eval(p, id); e != nil {
				return e
			}
		}
		return nil
	}}
}

// orValue returns a, or b while a has no value.
func orValue(a, b term) term {
	return term{a.inputs.or(b.inputs), func(p *Plan, id string) Eval {
		first, second := a.eval(p, id), b.eval(p, id)
		if first == nil || second == nil {
			return add(first, second)
		}
		return func(w *Window) (float64, bool) {
			if v, ok := first(w); ok {
				return v, true
			}
			return second(w)
		}
	}}
}

func transformTerm(f func(float64) float64, t term) term {
	return term{t.inputs, func(p *Plan, id string) Eval { return transform(t.eval(p, id), f) }}
}

// admitted returns the active requests, or the running ones if active ones are not exposed.
func admitted() term {
	t := orElse(total(engine.RequestsActive), total(engine.RequestsRunning))
	return term{t.inputs, func(p *Plan, id string) Eval { return p.orIdle(id, t.eval(p, id)) }}
}

// waiting returns the requests that wait in the engine: as exposed, or active minus scheduled
// (TensorRT-LLM before 0.18), or those known to wait at a router.
func waiting() term {
	exposed := term{allOf(engine.RequestsWaiting), func(p *Plan, id string) Eval {
		return p.sum(slices.Concat(p.groupsOf(engine.RequestsWaiting, id), p.groupsOf(engine.RequestsTransfer, id)))
	}}
	return orElse(exposed, combineTerms(total(engine.RequestsActive), total(engine.RequestsRunning), excess), unplaced())
}

// unplaced returns how many of a router's requests in flight are known to wait: those beyond the
// limit of its workers that have no token yet, and at least those that the router holds back.
// Other requests without a token may be in their prefill.
func unplaced() term {
	limit := requestsLimit()
	in := allOf(engine.RequestsActive, engine.RequestsUnanswered).and(limit.inputs)
	return term{in, func(p *Plan, id string) Eval {
		beyond := excess(p.total(engine.RequestsActive, id), limit.eval(p, id))
		minimum := pairwise(beyond, p.total(engine.RequestsUnanswered, id), math.Min)
		if queued := p.total(engine.RequestsRouting, id); minimum != nil && queued != nil {
			return pairwise(minimum, queued, math.Max)
		}
		return minimum
	}}
}

// cacheUse returns the share of the KV cache in use, computed or as the server states it: 0 of a cache
// of unknown size is unknown.
func cacheUse() term {
	computed := orElse(combineTerms(total(engine.KVBlocksUsed), cacheLimit(), ratio), combineTerms(total(engine.KVTokensUsed), total(engine.KVTokensLimit), ratio))
	return orValue(computed, ofKnownCache(total(engine.KVUtilization)))
}

// ofKnownCache returns t, except a value of 0 while the page shows a KV cache without a size.
func ofKnownCache(t term) term {
	limit := orElse(total(engine.KVBlocksLimit), total(engine.WorkerKVBlocks), total(engine.KVTokensLimit))
	return term{t.inputs, func(p *Plan, id string) Eval {
		part, size := t.eval(p, id), limit.eval(p, id)
		if part == nil || size == nil {
			return part
		}
		return func(w *Window) (float64, bool) {
			v, ok := part(w)
			_, known := size(w)
			return v, ok && (v != 0 || known)
		}
	}}
}

// cacheLimit returns the number of KV cache blocks: of the engine, of all workers of a router, or,
// from labels, of all ranks, each of which reserves a block (vLLM, block_pool.py: the null block).
func cacheLimit() term {
	stated := cacheConfigValue("blocks", func(blocks float64, _ string, ranks int) float64 { return blocks - float64(ranks) })
	return orElse(total(engine.KVBlocksLimit), combineTerms(total(engine.WorkerKVBlocks), workers(), product), stated)
}

func blockTokens() term {
	return orElse(total(engine.KVBlockTokens), cacheConfigValue("block_tokens", func(tokens float64, _ string, _ int) float64 { return tokens }))
}

func cacheTokens() term {
	computed := orElse(configuredTokens(), combineTerms(cacheLimit(), blockTokens(), product))
	return orValue(computed, total(engine.KVTokensLimit))
}

func cacheFree() term {
	computed := combineTerms(total(engine.KVBlocksFree), total(engine.KVBlockTokens), product)
	return ofKnownCache(orValue(computed, total(engine.KVTokensFree)))
}

func transferBytes() term {
	const mebibyte = 1 << 20
	return orElse(total(engine.KVTransferBytes), transformTerm(func(v float64) float64 { return v * mebibyte }, total(engine.KVTransferMebibytes)))
}

// configuredTokens returns how many tokens fit into the blocks that are not reserved, if a label
// says how many fit into all blocks of a rank: if layers of several kinds share blocks, a block
// holds more tokens than its label says.
func configuredTokens() term {
	return cacheConfigValue("blocks", func(blocks float64, tokens string, ranks int) float64 {
		perRank, err := strconv.ParseFloat(tokens, 64)
		if err != nil {
			return math.NaN()
		}
		return perRank * float64(ranks) * (1 - float64(ranks)/blocks)
	})
}

// cacheConfigValue converts a label of a cache config, given how many tokens fit into one rank
// and the number of ranks. All ranks must have the same labels. A size of 0 is unknown.
func cacheConfigValue(label string, convert func(v float64, tokens string, ranks int) float64) term {
	return term{allOf(engine.CacheStated), func(p *Plan, id string) Eval {
		groups := p.groupsOf(engine.CacheStated, id)
		if len(groups) == 0 {
			return nil
		}
		v, err := strconv.ParseFloat(groups[0].labels.Get(label), 64)
		size := convert(v, groups[0].labels.Get("tokens"), len(p.ranks(groups)))
		if err != nil || !(v > 0) || !(size > 0) {
			return nil
		}
		return constant(size)
	}}
}

// requestsLimit returns how many requests the engine, or all workers of a router, can admit.
func requestsLimit() term {
	return orElse(total(engine.RequestsLimit), combineTerms(total(engine.WorkerRequestsLimit), workers(), product))
}

// workers returns the number of workers that a router knows, or of ranks of an engine.
func workers() term {
	return term{anyOf(engine.WorkerKVBlocksUsed, engine.EngineRanks), func(p *Plan, id string) Eval {
		n := 0
		for _, g := range slices.Concat(p.groupsOf(engine.WorkerKVBlocksUsed, id), p.groupsOf(engine.EngineRanks, id)) {
			n += len(g.members)
		}
		if n == 0 {
			return nil
		}
		return constant(float64(n))
	}}
}
