package derive

import (
	"maps"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// CacheConfig is the alias whose labels are numbers of ours: its name, and the
// families that they are of by label.
func CacheConfig() (name string, from map[string]string) {
	return cacheConfig, map[string]string{"block_size": Prefix + "kv_cache_block_tokens", "num_gpu_blocks": Prefix + "kv_cache_blocks_limit"}
}

// cacheSize is how many blocks the KV cache of a model id has, and how many tokens
// a block holds.
type cacheSize struct{ blocks, tokens float64 }

// sizedCache says how large the KV cache of a model id is.
type sizedCache struct {
	id             string
	blocks, tokens Eval
}

// cacheConfig adds the series of the caches whose sizes are known, and what they are
// found with: sizes are in labels, which a program has once and for all.
func (p *Plan) cacheConfig(known map[string]cacheSize) {
	blocks, tokens := cacheLimit(), blockTokens()
	for _, id := range p.ids(blocks.inputs.and(tokens.inputs)) {
		one := sizedCache{id, blocks.of(p, id), tokens.of(p, id)}
		if one.blocks == nil || one.tokens == nil {
			continue
		}
		p.program.caches = append(p.program.caches, one)
		size, ok := known[id]
		if !ok {
			continue
		}
		lset := p.forModel(id, AliasModelLabel(cacheConfigSet), id, "block_size", strconv.FormatFloat(size.tokens, 'f', -1, 64), "num_gpu_blocks", strconv.FormatFloat(size.blocks, 'f', -1, 64))
		head := Family{Name: cacheConfig, Help: "1 with the size of the KV cache: llm_server_kv_cache_block_tokens and llm_server_kv_cache_blocks_limit as labels.", Type: model.MetricTypeGauge}
		p.emit(&head, lset, p.executorGate(id), constant(1))
	}
}

// cacheSizes are the sizes of the caches by model id, of those that have one now.
func (p *program) cacheSizes(w *Window) map[string]cacheSize {
	if len(p.caches) == 0 {
		return nil
	}
	sizes := make(map[string]cacheSize, len(p.caches))
	for _, c := range p.caches {
		blocks, ok := c.blocks(w)
		tokens, there := c.tokens(w)
		if ok && there && whole(blocks) && whole(tokens) {
			sizes[c.id] = cacheSize{blocks, tokens}
		}
	}
	return sizes
}

// whole says whether a number is one of things, of which there are some.
func whole(v float64) bool { return v >= 1 && v < 1<<53 && v == float64(int64(v)) }

// sizeCaches makes the program again when a cache has another size than its label
// says: once in the life of most servers. The page is shown by the new one, which
// has not seen its histograms yet.
func (d *Deriver) sizeCaches(page *exposition.Block) {
	if sizes := d.program.cacheSizes(d.window); !maps.Equal(sizes, d.opts.caches) {
		d.opts.caches = sizes
		d.compile(d.read, page)
		d.program.compare(page, &d.now) // They are counted already.
	}
}
