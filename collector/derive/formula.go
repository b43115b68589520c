package derive

import (
	"math"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// term is one number of a formula, for a model id: the signals that it is made
// of, and how. It is nil where the page has too few of them.
type term struct {
	inputs inputs
	of     func(p *Plan, id string) Eval
}

// total is the newest value of a signal.
func total(signal engine.Signal) term {
	return term{allOf(signal), func(p *Plan, id string) Eval { return p.total(signal, id) }}
}

// rate is the growth a second of a counter.
func rate(signal engine.Signal) term {
	return term{allOf(signal), func(p *Plan, id string) Eval { return rates(p.counted(p.of(signal, id))) }}
}

// both is what an operation makes of two terms.
func both(a, b term, op func(a, b Eval) Eval) term {
	return term{a.inputs.and(b.inputs), func(p *Plan, id string) Eval { return op(a.of(p, id), b.of(p, id)) }}
}

// known is the first of two terms that the page has.
func known(a, b term) term {
	return term{a.inputs.or(b.inputs), func(p *Plan, id string) Eval {
		if e := a.of(p, id); e != nil {
			return e
		}
		return b.of(p, id)
	}}
}

// either is the first of two terms that has a value.
func either(a, b term) term {
	return term{a.inputs.or(b.inputs), func(p *Plan, id string) Eval {
		first, second := a.of(p, id), b.of(p, id)
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

// apply is a function of a term.
func apply(f func(float64) float64, t term) term {
	return term{t.inputs, func(p *Plan, id string) Eval { return applied(t.of(p, id), f) }}
}

// admitted is how many requests the executor has taken on: active ones, or
// running ones where the server exposes no more.
func admitted() term {
	t := known(total(engine.RequestsActive), total(engine.RequestsRunning))
	return term{t.inputs, func(p *Plan, id string) Eval { return p.orIdle(id, t.of(p, id)) }}
}

// waiting is what waits in the engine, for another server too: as exposed, or, before
// TensorRT-LLM 0.18 exposed it, admitted less scheduled, or what is known to wait before
// a router.
func waiting() term {
	exposed := term{allOf(engine.RequestsWaiting), func(p *Plan, id string) Eval {
		return p.sum(slices.Concat(p.of(engine.RequestsWaiting, id), p.of(engine.RequestsTransfer, id)))
	}}
	inEngine := known(exposed, both(total(engine.RequestsActive), total(engine.RequestsRunning), excess))
	return known(inEngine, unplaced())
}

// unplaced is how many requests that a router has in flight are known to wait: those
// for which its workers have no place, of which no token came, and at least what the
// router holds back itself. Others without a token may have their prompt worked on.
func unplaced() term {
	places := requestsLimit()
	in := allOf(engine.RequestsActive, engine.RequestsUnanswered).and(places.inputs)
	return term{in, func(p *Plan, id string) Eval {
		beyond := excess(p.total(engine.RequestsActive, id), places.of(p, id))
		least := pairwise(beyond, p.total(engine.RequestsUnanswered, id), math.Min)
		if held := p.total(engine.RequestsRouting, id); least != nil && held != nil {
			return pairwise(least, held, math.Max)
		}
		return least
	}}
}

// cacheUse is the share of the KV cache in use: computed of blocks or tokens, else
// as exposed.
func cacheUse() term {
	computed := known(both(total(engine.KVBlocksUsed), cacheLimit(), ratio), both(total(engine.KVTokensUsed), total(engine.KVTokensLimit), ratio))
	return either(computed, total(engine.KVUtilization))
}

// cacheLimit is how many KV cache blocks there are: those of the engine, of all
// workers of a router, or as labels state.
func cacheLimit() term {
	return known(known(total(engine.KVBlocksLimit), both(total(engine.WorkerKVBlocks), workers(), times)), statedBlocks())
}

// blockTokens is how many tokens a block of the KV cache holds.
func blockTokens() term {
	return known(total(engine.KVBlockTokens), stated("block_tokens", func(tokens float64, _ string, _ int) float64 { return tokens }))
}

// cacheTokens is how many tokens the KV cache holds.
func cacheTokens() term {
	return known(statedTokens(), known(both(cacheLimit(), blockTokens(), times), total(engine.KVTokensLimit)))
}

// cacheFree is for how many tokens the KV cache has room.
func cacheFree() term {
	return known(both(total(engine.KVBlocksFree), total(engine.KVBlockTokens), times), total(engine.KVTokensFree))
}

// transferBytes is the size of the KV caches that were moved between servers.
func transferBytes() term {
	const mebibyte = 1 << 20
	return known(total(engine.KVTransferBytes), apply(func(v float64) float64 { return v * mebibyte }, total(engine.KVTransferMebibytes)))
}

// statedBlocks is how many blocks the labels of a cache's config state, of all
// ranks together, each of which keeps one for itself (vLLM, block_pool.py: the null
// block).
func statedBlocks() term {
	return stated("blocks", func(blocks float64, _ string, ranks int) float64 { return blocks - float64(ranks) })
}

// statedTokens is how many tokens fit in the blocks that are not kept, where the
// labels state how many fit in all of a rank: layers of several kinds share blocks,
// and one holds more tokens than they say.
func statedTokens() term {
	return stated("blocks", func(blocks float64, tokens string, ranks int) float64 {
		each, err := strconv.ParseFloat(tokens, 64)
		if err != nil {
			return math.NaN()
		}
		return each * float64(ranks) * (1 - float64(ranks)/blocks)
	})
}

// stated is what is made of a label of a cache's config, of how many tokens fit in
// one rank, and of the number of ranks: all of them state the same.
func stated(label string, of func(v float64, tokens string, ranks int) float64) term {
	return term{allOf(engine.CacheStated), func(p *Plan, id string) Eval {
		groups := p.of(engine.CacheStated, id)
		if len(groups) == 0 {
			return nil
		}
		v, err := strconv.ParseFloat(groups[0].labels.Get(label), 64)
		if v = of(v, groups[0].labels.Get("tokens"), len(p.ranks(groups))); err != nil || v != v {
			return nil
		}
		return constant(v)
	}}
}

// requestsLimit is how many requests are admitted at once, by the engine or by
// all workers of a router.
func requestsLimit() term {
	return known(total(engine.RequestsLimit), both(total(engine.WorkerRequestsLimit), workers(), times))
}

// workers is how many workers a router knows the load of, or how many ranks with
// requests of their own an engine has.
func workers() term {
	return term{anyOf(engine.WorkerKVBlocksUsed, engine.EngineRanks), func(p *Plan, id string) Eval {
		n := 0
		for _, g := range slices.Concat(p.of(engine.WorkerKVBlocksUsed, id), p.of(engine.EngineRanks, id)) {
			n += len(g.members)
		}
		if n == 0 {
			return nil
		}
		return constant(float64(n))
	}}
}
