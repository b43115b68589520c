package web

import "github.com/trtllm-exporter/trtllm_exporter/collector/exposition"

// sheet is a page before it is written: the blocks of one moment and the plan of
// their order. It holds no lock, so a slow client delays no other.
type sheet struct {
	targets []*exposition.Block
	own     *exposition.Block
	blocks  []*exposition.Block
	layout  *exposition.Layout
	only    func(name string) bool
}

// lay takes the blocks of a selection and plans their page. The whole page also
// says how its targets disagree; when that has changed, the exporter's own
// series are read again, so that a page counts its own conflicts.
func (p *pages) lay(s *selection) *sheet {
	sh := &sheet{targets: p.store.Blocks(s.filter()), only: s.only()}
	if s.own() {
		sh.own = p.own.block()
	}
	sh.plan(s)
	if !s.all() {
		return sh
	}
	p.metrics.pageBytes.Set(float64(sh.layout.TextLength(sh.blocks, nil)))
	if p.conflictsChanged(sh.layout.Stats()) {
		p.nameDifferences(sh)
		sh.own = p.own.block()
		sh.plan(s)
	}
	p.differences.note(sh)
	return sh
}

// plan merges the exporter's own block, which comes first, with those of the targets.
func (sh *sheet) plan(s *selection) {
	sh.blocks = sh.targets
	if sh.own != nil {
		sh.blocks = append([]*exposition.Block{sh.own}, sh.targets...)
	}
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	sh.layout = s.plan.merger.Layout(sh.blocks)
}

// conflictsChanged notes the conflicts of a page and reports whether they are
// other than those of the page before.
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

// mostDifferences bounds what is logged of one page.
const mostDifferences = 10

// nameDifferences logs which targets say something else of a family than the
// page.
func (p *pages) nameDifferences(sh *sheet) {
	all := sh.layout.Differences()
	for _, d := range all[:min(len(all), mostDifferences)] {
		pool, replica := sh.owner(d.Block)
		p.own.logger.Info("Target differs from others", "pool_id", pool, "replica_id", replica, "family", d.Family, "in", d.Kind, "says", says(&d))
	}
}
