package collector

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/series"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// skewInterval is the time between two comparisons of the replicas of a pool;
// facts change slowly.
const skewInterval = time.Second

// comparison renders the skew of all pools. It is not safe for concurrent use.
type comparison struct {
	skew, canary exposition.Family
	values       []skewValue
	out          *exposition.Computed
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
		skew:   series.Heads()[derive.Prefix+"pool_skew"],
		canary: series.Heads()[derive.Prefix+"pool_canary_outputs"],
	}
}

// compared are the replicas of one pool.
type compared struct {
	facts   []target.SkewFacts
	answers []*target.Canary
}

// compare publishes the skew of every pool, when it changed.
func (c *comparison) compare(pools map[string]*compared) (block *exposition.Block, changed bool) {
	var values []skewValue
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		for _, fact := range assess.SkewFacts() {
			if n, ok := assess.SkewOf(fact, pools[pool].facts); ok {
				values = append(values, skewValue{pool, fact, n})
			}
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		if n, ok := assess.DistinctOutputs(pools[pool].answers); ok {
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
		all := make([]exposition.ComputedSeries, len(values))
		for i, v := range values {
			all[i] = exposition.ComputedSeries{Family: c.skew, Labels: v.labels()}
			if v.fact == "" {
				all[i].Family = c.canary
			}
		}
		c.out = exposition.NewComputed(all)
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
	pools := make(map[string]*compared)
	for _, slot := range c.opts.Store.Slots() {
		id, status := slot.Target().PoolID, slot.Status()
		pool := pools[id]
		if pool == nil {
			pool = &compared{}
			pools[id] = pool
		}
		pool.facts = append(pool.facts, status.Skew)
		if a := status.Canary; a != nil && a.Group != "" {
			pool.answers = append(pool.answers, a)
		}
	}
	return pools
}
