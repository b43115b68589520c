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

// countRefused counts the refused targets of each pool.
func (c *Collector) countRefused() {
	refused := make(map[string]int)
	for id := range c.running {
		refused[id] = 0
	}
	for _, t := range c.refused() {
		refused[t.PoolID]++
	}
	c.metrics.setRefused(refused)
}

// refused returns the targets whose key another target of the pool or a replica of another pool has.
func (c *Collector) refused() (all []*target.Target) {
	for _, p := range c.running {
		all = append(all, p.duplicates...)
		for key, t := range p.targets {
			if r := c.replicas[key]; r == nil || r.foundBy != p {
				all = append(all, t)
			}
		}
	}
	return all
}

// Refused returns the name and page of each target that is not scraped, since another has its name, sorted.
func (c *Collector) Refused() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.refused() {
		all = append(all, t.Key()+" at "+target.Public(t.MetricsURL))
	}
	slices.Sort(all)
	return all
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
