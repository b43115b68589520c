package collector

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// The facts in which replicas of a pool should be alike.
const (
	skewEngineVersion = "engine_version"
	skewTRTLLMVersion = "trtllm_version"
	skewConfigHash    = "config_hash"
	skewBlockTokens   = "kv_block_tokens"
	skewBuckets       = "histogram_buckets"
	skewGPU           = "gpu"
)

// skewFacts lists them in the order of the page.
func skewFacts() []string {
	return []string{skewEngineVersion, skewTRTLLMVersion, skewConfigHash, skewBlockTokens, skewBuckets, skewGPU}
}

// traits are a replica's values of the skew facts, by the item they are of: a
// model's hash, a histogram's buckets; "" for what belongs to the whole
// replica. They are immutable.
type traits map[string]map[string]string

// set notes one value; empty and unknown ones are no values.
func (t traits) set(fact, item, value string) {
	if value == "" || value == relabel.Unknown {
		return
	}
	if t[fact] == nil {
		t[fact] = make(map[string]string)
	}
	t[fact][item] = value
}

// traitsOf are the replica's values; nil while its page fails, for a replica
// that is gone is not of another version.
func traitsOf(l *lore) *traits {
	if l.page == nil || l.known == nil {
		return nil
	}
	t := make(traits)
	t.set(skewEngineVersion, "", l.known.engineVersion)
	t.set(skewTRTLLMVersion, "", l.known.trtllmVersion)
	for i := range l.described {
		t.set(skewConfigHash, l.described[i].Name, l.described[i].ConfigHash)
	}
	if n, ok := l.page.KVBlockTokens(); ok {
		t.set(skewBlockTokens, "", strconv.FormatFloat(n, 'f', -1, 64))
	}
	for family, bounds := range l.page.Buckets() {
		t.set(skewBuckets, family, bounds)
	}
	if gpu, ok := l.page.GPU(); ok {
		t.set(skewGPU, "", gpu)
	}
	return &t
}

// skew is the number of distinct values of a fact among replicas, less one;
// of facts with several items the largest of theirs. False when no replica
// tells the fact.
func skew(fact string, replicas []*traits) (int, bool) {
	distinct := make(map[string]map[string]bool)
	for _, t := range replicas {
		if t == nil {
			continue
		}
		for item, value := range (*t)[fact] {
			if distinct[item] == nil {
				distinct[item] = make(map[string]bool)
			}
			distinct[item][value] = true
		}
	}
	most := 0
	for _, values := range distinct {
		most = max(most, len(values))
	}
	return most - 1, most > 0
}

// skewInterval is the time between two comparisons of the replicas of a pool;
// facts change slowly.
const skewInterval = time.Second

// comparison renders the skew of all pools. It is not safe for concurrent use.
type comparison struct {
	skew, outputs exposition.Family
	values        []skewValue
	out           *exposition.Computed
}

// skewValue is one series; fact is empty for the outputs of the canary.
type skewValue struct {
	pool, fact string
	value      int
}

// labels are those of the series.
func (v *skewValue) labels() labels.Labels {
	if v.fact == "" {
		return labels.FromStrings(relabel.LabelPoolID, v.pool)
	}
	return labels.FromStrings(relabel.LabelPoolID, v.pool, "fact", v.fact)
}

// newComparison takes the families' heads from the catalogue.
func newComparison() *comparison {
	return &comparison{
		skew:    catalogueHeads()[derive.Prefix+"pool_skew"],
		outputs: catalogueHeads()[derive.Prefix+"pool_canary_outputs"],
	}
}

// compared are the replicas of one pool.
type compared struct {
	traits  []*traits
	answers []canaryAnswer
}

// compare publishes the skew of every pool, when it changed.
func (c *comparison) compare(pools map[string]*compared) (block *exposition.Block, changed bool) {
	var values []skewValue
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		for _, fact := range skewFacts() {
			if n, ok := skew(fact, pools[pool].traits); ok {
				values = append(values, skewValue{pool, fact, n})
			}
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		if n, ok := distinct(pools[pool].answers); ok {
			values = append(values, skewValue{pool, "", n})
		}
	}
	if slices.Equal(values, c.values) {
		return nil, false
	}
	shape := slices.EqualFunc(values, c.values, func(a, b skewValue) bool { return a.pool == b.pool && a.fact == b.fact })
	c.values = values
	if len(values) == 0 {
		c.out = nil
		return nil, true
	}
	if c.out == nil || !shape {
		series := make([]exposition.ComputedSeries, len(values))
		for i, v := range values {
			series[i] = exposition.ComputedSeries{Family: c.skew, Labels: v.labels()}
			if v.fact == "" {
				series[i].Family = c.outputs
			}
		}
		c.out = exposition.NewComputed(series)
	}
	b := c.out.Block()
	for i, v := range values {
		b.Set(i, float64(v.value))
	}
	b.Seal()
	return b, true
}

// runSkew compares the replicas of each pool until ctx ends, then takes what
// it published off the page.
func (c *Collector) runSkew(ctx context.Context) {
	ticker := time.NewTicker(skewInterval)
	defer ticker.Stop()
	comparison := newComparison()
	for {
		select {
		case <-ctx.Done():
			c.opts.Store.PublishFleet(nil)
			return
		case <-ticker.C:
		}
		if b, changed := comparison.compare(c.compared()); changed {
			c.opts.Store.PublishFleet(b)
		}
	}
}

// compared are all replicas by pool.
func (c *Collector) compared() map[string]*compared {
	c.mu.Lock()
	defer c.mu.Unlock()
	pools := make(map[string]*compared)
	for _, l := range c.replicas {
		pool := pools[l.target.PoolID]
		if pool == nil {
			pool = &compared{}
			pools[l.target.PoolID] = pool
		}
		pool.traits = append(pool.traits, l.traits.Load())
		if a, ok := l.canary.answer(); ok {
			pool.answers = append(pool.answers, a)
		}
	}
	return pools
}
