package web

import (
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// difference is a family that one target describes differently from the page.
type difference struct {
	Family string `json:"family"`
	// In is what differs: help, type or unit.
	In string `json:"in"`
	// Says is the target's value. HELP is left out: it may be long, and hold secrets.
	Says string `json:"says"`
}

// differences holds how targets differ from the last plan of the whole page, by their keys.
type differences struct {
	mu       sync.Mutex
	layout   *exposition.Layout
	byTarget map[string][]difference
}

// ofTarget returns the differences of a target.
func (d *differences) ofTarget(key string) []difference {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byTarget[key]
}

// note replaces the differences by those of a page, unless its layout is that of the last one.
func (d *differences) note(pl *pagePlan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.layout == pl.layout {
		return
	}
	d.layout, d.byTarget = pl.layout, map[string][]difference{}
	for _, found := range pl.layout.Conflicts() {
		if pool, replica := pl.owner(found.Block); replica != "" {
			key := pool + "/" + replica
			d.byTarget[key] = append(d.byTarget[key], difference{Family: found.Family, In: found.Kind, Says: says(&found)})
		}
	}
}

// says returns the value of a target that differs.
func says(d *exposition.Conflict) string {
	if d.Kind == exposition.ConflictHelp {
		return "a different text"
	}
	return d.Value
}

// owner returns the target of a block; empty for the exporter's own block.
func (pl *pagePlan) owner(block int) (pool, replica string) {
	lset := pl.blocks[block].Shape().Labels(0)
	return lset.Get("pool_id"), lset.Get("replica_id")
}
