package collector

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// recordSearch records what discovery found for a pool, and logs when the pool has no targets and
// when it has targets again.
func (c *Collector) recordSearch(p *pool, s *target.PoolDiscovery) {
	id := p.cfg.PoolID
	previous := p.search.Problem()
	s.Sources = p.sources.Sources()
	p.search = *s
	problem := s.Problem()
	c.metrics.targets.WithLabelValues(id).Set(float64(s.Targets))
	c.metrics.dropped.WithLabelValues(id).Set(float64(s.Dropped))
	empty := 0.0
	if problem != "" {
		empty = 1
	}
	c.metrics.empty.WithLabelValues(id).Set(empty)
	switch {
	case problem != "" && previous == "":
		c.opts.Logger.Warn("Pool has no targets", "pool_id", id, "reason", problem)
	case problem == "" && previous != "":
		c.opts.Logger.Info("Pool has targets again", "pool_id", id, "targets", s.Targets)
	}
}

// countRefused counts the refused targets of each pool: targets whose key another target of the
// pool or a replica of another pool has.
func (c *Collector) countRefused() {
	refused := make(map[string]int)
	for id, p := range c.running {
		refused[id] += 0
		for _, t := range p.duplicates {
			refused[t.PoolID]++
		}
		for key, t := range p.targets {
			if r := c.replicas[key]; r == nil || r.foundBy != p {
				refused[t.PoolID]++
			}
		}
	}
	c.metrics.setRefused(refused)
}

// Searches returns what discovery and relabeling have found for every pool, sorted by pool_id.
func (c *Collector) Searches() []target.PoolDiscovery {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]target.PoolDiscovery, 0, len(c.running))
	for id, p := range c.running {
		s := p.search
		s.PoolID, s.Sources = id, p.sources.Sources()
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b target.PoolDiscovery) int { return strings.Compare(a.PoolID, b.PoolID) })
	return all
}
