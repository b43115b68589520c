package derive

import (
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
	return term{idle(t.inputs), func(p *Plan, id string) Eval { return p.orIdle(id, t.of(p, id)) }}
}

// waiting is what waits in the engine: as exposed, or, before TensorRT-LLM
// 0.18 exposed it, admitted less scheduled.
func waiting() term {
	return known(total(engine.RequestsWaiting), both(total(engine.RequestsActive), total(engine.RequestsRunning), excess))
}

// cacheUse is the share of the KV cache in use: computed of blocks or tokens, else
// as exposed.
func cacheUse() term {
	used := known(total(engine.KVBlocksUsed), total(engine.WorkerKVBlocksUsed))
	computed := known(both(used, cacheLimit(), ratio), both(total(engine.KVTokensUsed), total(engine.KVTokensLimit), ratio))
	return either(computed, total(engine.KVUtilization))
}

// cacheLimit is how many KV cache blocks there are: those of the engine, of all
// workers of a router, or as labels state.
func cacheLimit() term {
	return known(known(total(engine.KVBlocksLimit), both(total(engine.WorkerKVBlocks), workers(), times)), statedBlocks())
}

// blockTokens is how many tokens a block of the KV cache holds.
func blockTokens() term { return known(total(engine.KVBlockTokens), stated("block_tokens", 0)) }

// cacheFree is for how many tokens the KV cache has room.
func cacheFree() term {
	return known(both(total(engine.KVBlocksFree), total(engine.KVBlockTokens), times), total(engine.KVTokensFree))
}

// statedBlocks is how many blocks the labels of a cache's config state, of which
// the engine keeps one for itself (vLLM, block_pool.py: the null block).
func statedBlocks() term { return stated("blocks", -1) }

// stated is what a label of a cache's config states, and more, added up over the
// ranks of the engine if it is a number of blocks.
func stated(label string, more float64) term {
	return term{allOf(engine.CacheStated), func(p *Plan, id string) Eval {
		sum, n := 0.0, 0
		for _, g := range p.of(engine.CacheStated, id) {
			v, err := strconv.ParseFloat(g.labels.Get(label), 64)
			if err != nil {
				return nil
			}
			if ranks := float64(len(g.members)); label == "blocks" {
				sum += (v + more) * ranks
			} else {
				sum = v
			}
			n++
		}
		if n == 0 {
			return nil
		}
		return constant(sum)
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
