package web

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// pagePlan is the order of the blocks of one moment on a page. It holds no lock, so a slow client
// delays no other.
type pagePlan struct {
	blocks []*exposition.Block
	layout *exposition.Layout
}

// plan plans the page of a selection: the exporter's own block, which comes first, and those of the
// targets. Only the merger of all replicas is kept: one of some replicas would keep their pages in
// memory until the same part is requested again. When the conflicts of the whole page changed, the
// exporter's own series are read again, so that the page shows them.
func (p *pages) plan(q *query) *pagePlan {
	targets := p.store.Blocks(q.filter())
	if !q.whole() {
		return p.merge(new(exposition.Merger), q, targets)
	}
	p.merging.Lock()
	defer p.merging.Unlock()
	pl := p.merge(&p.merger, q, targets)
	if q.all() && p.differences.update(pl) {
		p.metrics.merged(pl.layout.Stats())
		p.logDifferences(pl)
		pl = p.merge(&p.merger, q, targets)
	}
	return pl
}

func (p *pages) merge(m *exposition.Merger, q *query, targets []*exposition.Block) *pagePlan {
	pl := &pagePlan{blocks: targets}
	if q.own() {
		if own := p.own.block(); own != nil {
			pl.blocks = slices.Concat([]*exposition.Block{own}, targets)
		}
	}
	pl.layout = m.Layout(pl.blocks)
	return pl
}

// owner returns the target of a block; empty for the exporter itself.
func (pl *pagePlan) owner(block int) (pool, replica string) {
	lset := pl.blocks[block].Shape().Labels(0)
	return lset.Get("pool_id"), lset.Get("replica_id")
}

// difference is a family that one target describes differently from the page.
type difference struct {
	Family string `json:"family"`
	// In is what differs: help, type or unit.
	In string `json:"in"`
	// Value is that of the target. HELP is left out: it may be long, and hold secrets.
	Value string `json:"says"`
}

func newDifference(c *exposition.Conflict) difference {
	if c.Kind == exposition.ConflictHelp {
		return difference{c.Family, c.Kind, "a different text"}
	}
	return difference{c.Family, c.Kind, c.Value}
}

type differences struct {
	layout   *exposition.Layout
	stats    exposition.MergeStats
	byTarget map[string][]difference
}

func (p *pages) differencesOf(key string) []difference {
	p.merging.Lock()
	defer p.merging.Unlock()
	return p.differences.byTarget[key]
}

// update replaces the differences by those of a page, and reports whether their counts changed.
func (d *differences) update(pl *pagePlan) bool {
	if d.layout == pl.layout {
		return false
	}
	before := d.stats
	d.layout, d.stats, d.byTarget = pl.layout, pl.layout.Stats(), map[string][]difference{}
	for _, c := range pl.layout.Conflicts() {
		if pool, replica := pl.owner(c.Block); replica != "" {
			d.byTarget[pool+"/"+replica] = append(d.byTarget[pool+"/"+replica], newDifference(&c))
		}
	}
	return d.stats != before
}

const maxLoggedDifferences = 10

// logDifferences logs which targets describe a family differently from the page.
func (p *pages) logDifferences(pl *pagePlan) {
	all := pl.layout.Conflicts()
	for _, c := range all[:min(len(all), maxLoggedDifferences)] {
		pool, replica := pl.owner(c.Block)
		d := newDifference(&c)
		p.own.logger.Info("Target differs from others", "pool_id", pool, "replica_id", replica, "family", d.Family, "in", d.In, "says", d.Value)
	}
}
