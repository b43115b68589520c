package collector

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// searched notes what became of what discovery found. A pool that has no target
// is a problem, and said once.
func (c *Collector) searched(p *pool, s *target.PoolDiscovery) {
	id := p.cfg.PoolID
	was := p.search.Problem()
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
	case problem != "" && was == "":
		c.opts.Logger.Warn("Pool has no targets", "pool_id", id, "reason", problem)
	case problem == "" && was != "":
		c.opts.Logger.Info("Pool has targets again", "pool_id", id, "targets", s.Targets)
	}
}

// countRefused counts the targets of each pool that are left out now: those that
// have the key of another of their search, and those whose key is that of another
// search's replica.
func (c *Collector) countRefused() {
	refused := make(map[string]int)
	for id, p := range c.running {
		refused[id] += 0
		for _, t := range p.refused {
			refused[t.PoolID]++
		}
		for key, t := range p.wanted {
			if l := c.replicas[key]; l == nil || l.search != p {
				refused[t.PoolID]++
			}
		}
	}
	c.metrics.refuse(refused)
}

// Searches are what discovery and relabeling have found of every pool, in the
// order of the pools' names.
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
