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
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// skewInterval is the time between two comparisons of the replicas of a pool;
// facts change slowly.
const skewInterval = time.Second

// comparison renders what is said of pools: what they promise, and the skew of
// their replicas. It is not safe for concurrent use.
type comparison struct {
	values []poolValue
	out    exposition.Values
}

// poolValue is one series about a pool: its family without the common prefix, and
// a label that it has besides the pool's, empty for none.
type poolValue struct {
	family, pool, label, name string
	value                     float64
}

// compared are the replicas of one pool.
type compared struct {
	facts   []target.SkewFacts
	answers []*target.Canary
}

// skews are the series of what differs within pools.
func skews(pools map[string]*compared) []poolValue {
	var values []poolValue
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		for _, fact := range assess.SkewFacts() {
			if n, ok := assess.SkewOf(fact, pools[pool].facts); ok {
				values = append(values, poolValue{"pool_skew", pool, "fact", fact, float64(n)})
			}
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		if n, ok := assess.DistinctOutputs(pools[pool].answers); ok {
			values = append(values, poolValue{family: "pool_canary_outputs", pool: pool, value: float64(n)})
		}
	}
	return values
}

// show renders the values, when they changed.
func (c *comparison) show(values []poolValue) (block *exposition.Block, changed bool) {
	if slices.Equal(values, c.values) {
		return nil, false
	}
	c.values = values
	if len(values) == 0 {
		return nil, true
	}
	for _, v := range values {
		own := labels.FromStrings(relabel.LabelPoolID, v.pool)
		c.out.Add(assess.Heads()[derive.Prefix+v.family], v.value, own, labels.Label{Name: v.label, Value: v.name})
	}
	return c.out.Block(), true
}

// runSkew says what pools promise and compares their replicas until ctx ends, then
// takes what it published off the page. It looks once a second at most, and only
// when there is news of pools or replicas.
func (c *Collector) runSkew(ctx context.Context) {
	defer c.opts.Store.PublishFleet(nil)
	ticker := time.NewTicker(skewInterval)
	defer ticker.Stop()
	var shown comparison
	for seen := uint64(0); ; {
		// It is asked for before the news: the last replica may go while they are read.
		occupied := c.opts.Store.NonEmpty()
		// What promises and what compares may come in any order.
		if news := c.opts.Store.Changes() + c.pools.Load(); news != seen {
			seen = news
			if b, changed := shown.show(slices.Concat(c.promised(), skews(c.compared()))); changed {
				c.opts.Store.PublishFleet(b)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-occupied:
		case <-c.renewed:
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
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
