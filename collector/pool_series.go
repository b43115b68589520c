package collector

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// poolSeries is one series about a pool: its family without the common prefix, the pool, and
// another label unless name is empty.
type poolSeries struct {
	family, pool, name, label string
	value                     float64
}

// allPoolSeries returns the series about the configuration of all pools, even without replicas,
// and about differences within pools, by family.
func (c *Collector) allPoolSeries() []poolSeries {
	var all []poolSeries
	var off exposition.Groups
	replicas := c.replicasByPool()
	c.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(c.running)) {
		off = c.running[id].shared.Page.Off() // All pools have the same.
		all = append(all, poolConfigSeries(&c.running[id].cfg)...)
		all = append(all, poolCostSeries(&c.running[id].cfg, replicas[id])...)
	}
	c.mu.Unlock()
	all = append(all, c.skewSeries()...)
	all = slices.DeleteFunc(all, func(s poolSeries) bool { return off.Has(assess.GroupOf(derive.Prefix + s.family)) })
	slices.SortStableFunc(all, func(a, b poolSeries) int { return strings.Compare(a.family, b.family) })
	return all
}

// poolConfigSeries returns the series of one pool: its start budget, its objectives and
// the expected number of replicas.
func poolConfigSeries(cfg *config.Pool) []poolSeries {
	all := []poolSeries{
		{family: "pool_start_budget_seconds", pool: cfg.PoolID, value: time.Duration(cfg.StartBudget).Seconds()},
	}
	for _, o := range cfg.SLO.Objectives() {
		all = append(all, poolSeries{"slo_objective", cfg.PoolID, "slo", string(o.Name), o.Share})
		if o.Within > 0 {
			all = append(
				all, poolSeries{"slo_threshold_seconds", cfg.PoolID, "slo", string(o.Name), o.Within.Seconds()},
			)
		}
	}
	if r := cfg.Expect.Replicas; r != nil {
		all = append(
			all,
			poolSeries{"pool_replicas_expected", cfg.PoolID, "bound", "lower", float64(r.Min)},
			poolSeries{"pool_replicas_expected", cfg.PoolID, "bound", "upper", float64(r.Max)},
		)
	}
	return all
}

// replicasByPool counts replicas. Programs that are no LLM servers and ranks without a port are none.
func (c *Collector) replicasByPool() map[string]int {
	replicas := make(map[string]int)
	for _, slot := range c.opts.Store.Slots() {
		if state := slot.Status().State; state != "" && state != string(assess.Silent) {
			replicas[slot.Target().PoolID]++
		}
	}
	return replicas
}

// poolCostSeries returns what the replicas of a pool cost, if that is declared.
func poolCostSeries(cfg *config.Pool, replicas int) []poolSeries {
	if cfg.Cost == nil {
		return nil
	}
	cost := cfg.Cost.ReplicaHour * float64(replicas)
	return []poolSeries{{"pool_cost_per_hour", cfg.PoolID, "currency", cfg.Cost.Currency, cost}}
}

func (c *Collector) skewSeries() []poolSeries {
	facts, answers := make(map[string][]target.SkewFacts), make(map[string][]*target.Canary)
	for _, slot := range c.opts.Store.Slots() {
		id, status := slot.Target().PoolID, slot.Status()
		facts[id] = append(facts[id], status.Skew)
		if a := status.Canary; a != nil && a.Group != "" {
			answers[id] = append(answers[id], a)
		}
	}
	var all []poolSeries
	for _, pool := range slices.Sorted(maps.Keys(facts)) {
		for _, fact := range assess.SkewFacts() {
			if n, ok := assess.SkewOf(fact, facts[pool]); ok {
				all = append(all, poolSeries{"pool_skew", pool, "fact", fact, float64(n)})
			}
		}
		if n, ok := assess.DistinctOutputs(answers[pool]); ok {
			all = append(all, poolSeries{family: "pool_canary_outputs", pool: pool, value: float64(n)})
		}
	}
	return all
}

// publishInterval is the time between two updates of the series about pools, which change slowly.
const publishInterval = time.Second

// publishPoolSeries publishes the series about pools until ctx is done, then removes them. It
// compares replicas only after a change of pools or replicas.
func (c *Collector) publishPoolSeries(ctx context.Context) {
	defer c.opts.Store.PublishFleet(nil)
	ticker := time.NewTicker(publishInterval)
	defer ticker.Stop()
	var (
		published []poolSeries
		values    exposition.Values
	)
	for version := uint64(0); ; {
		if current := c.opts.Store.Changes() + c.poolChanges.Load(); current != version {
			version = current
			if all := c.allPoolSeries(); !slices.Equal(all, published) {
				published = all
				c.opts.Store.PublishFleet(renderPoolSeries(&values, all))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// renderPoolSeries renders series about pools; nil if there are none.
func renderPoolSeries(values *exposition.Values, all []poolSeries) *exposition.Block {
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		pool := labels.FromStrings(relabel.LabelPoolID, s.pool)
		values.Add(assess.Metadata()[derive.Prefix+s.family], s.value, pool, labels.Label{Name: s.name, Value: s.label})
	}
	return values.Block()
}
