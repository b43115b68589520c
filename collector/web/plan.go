package web

import "github.com/trtllm-exporter/trtllm_exporter/collector/exposition"

// pagePlan is the order of the blocks of one moment on a page. It holds no lock, so a slow client
// delays no other.
type pagePlan struct {
	targets []*exposition.Block
	own     *exposition.Block
	blocks  []*exposition.Block
	layout  *exposition.Layout
	only    func(name string) bool
}

// lay plans the page of a selection. The whole page also counts how its targets disagree; when that
// changed, the exporter's own series are read again, so that the page shows its own conflicts.
func (p *pages) lay(s *selection) *pagePlan {
	pl := &pagePlan{targets: p.store.Blocks(s.filter()), only: s.only()}
	if s.own() {
		pl.own = p.own.block()
	}
	pl.plan(s)
	if !s.all() {
		return pl
	}
	if p.conflictsChanged(pl.layout.Stats()) {
		p.nameDifferences(pl)
		pl.own = p.own.block()
		pl.plan(s)
	}
	p.differences.note(pl)
	return pl
}

// plan merges the exporter's own block, which comes first, with those of the targets.
func (pl *pagePlan) plan(s *selection) {
	pl.blocks = pl.targets
	if pl.own != nil {
		pl.blocks = append([]*exposition.Block{pl.own}, pl.targets...)
	}
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	pl.layout = s.plan.merger.Layout(pl.blocks)
}

// conflictsChanged records the conflicts of a page, and reports whether they changed.
func (p *pages) conflictsChanged(now exposition.MergeStats) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now == p.conflicts {
		return false
	}
	p.conflicts = now
	p.metrics.merged(now)
	return true
}

// mostDifferences limits the differences that are logged for one page.
const mostDifferences = 10

// nameDifferences logs which targets describe a family differently from the page.
func (p *pages) nameDifferences(pl *pagePlan) {
	all := pl.layout.Conflicts()
	for _, d := range all[:min(len(all), mostDifferences)] {
		pool, replica := pl.owner(d.Block)
		p.own.logger.Info("Target differs from others", "pool_id", pool, "replica_id", replica, "family", d.Family, "in", d.Kind, "says", says(&d))
	}
}
