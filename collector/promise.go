package collector

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// promised are the series of what the configuration says of the pools that run,
// whether they have replicas or not.
func (c *Collector) promised() []poolValue {
	c.mu.Lock()
	defer c.mu.Unlock()
	var values []poolValue
	for _, id := range slices.Sorted(maps.Keys(c.running)) {
		values = append(values, promises(&c.running[id].cfg)...)
	}
	slices.SortStableFunc(values, func(a, b poolValue) int { return strings.Compare(a.family, b.family) })
	return values
}

// promises are what is said of one pool: how long its replicas may take to come
// up, its objectives, and how many replicas it should have.
func promises(cfg *config.Pool) []poolValue {
	values := []poolValue{{family: "pool_start_budget_seconds", pool: cfg.PoolID, value: time.Duration(cfg.StartBudget).Seconds()}}
	for _, o := range cfg.SLO.Objectives() {
		values = append(values, poolValue{"slo_objective", cfg.PoolID, "slo", string(o.Name), o.Share})
		if o.Within > 0 {
			values = append(values, poolValue{"slo_threshold_seconds", cfg.PoolID, "slo", string(o.Name), o.Within.Seconds()})
		}
	}
	if r := cfg.Expect.Replicas; r != nil {
		least, most := r.Bounds()
		values = append(
			values,
			poolValue{"pool_replicas_expected", cfg.PoolID, "bound", "lower", float64(least)},
			poolValue{"pool_replicas_expected", cfg.PoolID, "bound", "upper", float64(most)},
		)
	}
	return values
}
