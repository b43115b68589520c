package web

import (
	"sync"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// difference is a family of which one target says something else than the page.
type difference struct {
	Family string `json:"family"`
	// In is what it differs in: help, type or unit.
	In string `json:"in"`
	// Says is the target's word; HELP is not repeated: it may be long, and hold
	// what a log must not.
	Says string `json:"says"`
}

// differences are what targets differ in from the whole page that was planned
// last, by the keys of the targets.
type differences struct {
	mu     sync.Mutex
	layout *exposition.Layout
	of     map[string][]difference
}

// ofTarget says what a target differs in.
func (d *differences) ofTarget(key string) []difference {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[key]
}

// note takes in a page, unless it is planned as the one before.
func (d *differences) note(pl *pagePlan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.layout == pl.layout {
		return
	}
	d.layout, d.of = pl.layout, nil
	for _, one := range pl.layout.Conflicts() {
		pool, replica := pl.owner(one.Block)
		if replica == "" {
			continue
		}
		if d.of == nil {
			d.of = make(map[string][]difference)
		}
		key := pool + "/" + replica
		d.of[key] = append(d.of[key], difference{Family: one.Family, In: one.Kind, Says: says(&one)})
	}
}

// says is the word of a target that differs.
func says(d *exposition.Conflict) string {
	if d.Kind == exposition.ConflictHelp {
		return "another text"
	}
	return d.Value
}

// owner is the target of a block; empty for the exporter's own.
func (pl *pagePlan) owner(block int) (pool, replica string) {
	lset := pl.blocks[block].Shape().Labels(0)
	return lset.Get("pool_id"), lset.Get("replica_id")
}
