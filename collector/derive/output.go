package derive

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Output limits the derived series of one target; a zero field means no limit.
type Output struct {
	exposition.Volume

	// Models limits the models with derived series.
	Models int
}

// Dropped counts models that exceed the limits, and series of the other models that do.
type Dropped struct{ Models, Series int }

// Dropped returns how much the limits dropped from the last page.
func (d *Deriver) Dropped() Dropped { return d.dropped }

// priority orders model ids within a limit: entry is true for a model that clients call, served if
// the server lists the model as ready. Traffic comes last.
type priority struct {
	entry, served bool
	traffic       float64
}

// byPriority returns model ids in the order in which a limit admits them. Some pages have model
// names that clients made up and that are not served.
func byPriority(ids map[string]priority) []string {
	return slices.SortedFunc(maps.Keys(ids), func(a, b string) int {
		x, y := ids[a], ids[b]
		return cmp.Or(
			cmp.Compare(flag(y.entry), flag(x.entry)),
			cmp.Compare(flag(y.served), flag(x.served)),
			cmp.Compare(y.traffic, x.traffic),
			strings.Compare(a, b),
		)
	})
}

// priorities returns the priorities of the models on a page. The block may be nil.
func (n *Naming) priorities(page *engine.Page, block *exposition.Block) map[string]priority {
	all, served := make(map[string]priority), n.Topology.Served()
	for _, s := range page.Sources() {
		if s.Model == "" || s.Unloaded {
			continue
		}
		model := n.Topology.ModelID(s.Model)
		r := all[model]
		r.entry = r.entry || n.Topology.Role(s.Model).MayFront()
		r.served = served[model]
		if block != nil && countsEnds(&s) {
			r.traffic += max(block.Number(s.Place), 0)
		}
		all[model] = r
	}
	return all
}

// dropModels drops the sources of models that exceed the limit, and counts these models. The block
// may be nil.
func (ix *index) dropModels(limit int, block *exposition.Block) {
	if limit == 0 {
		return
	}
	ids := ix.naming.priorities(ix.building.page, block)
	if len(ids) <= limit {
		return
	}
	admitted := byPriority(ids)[:limit]
	exceeds := func(s source) bool { return s.name != "" && !slices.Contains(admitted, s.id) }
	ix.building.sources = slices.DeleteFunc(ix.building.sources, exceeds)
	ix.droppedModels = len(ids) - limit
}

// dropSeries leaves out all series of the models that do not fit, and returns the number of series.
func dropSeries(all []exposition.ComputedSeries, limit exposition.Volume, priorities func() map[string]priority) int {
	if limit == (exposition.Volume{}) {
		return 0
	}
	costs, total := costsOf(all)
	if limit.Fits(total) {
		return 0
	}
	admitted, dropped := admit(costs, limit, priorities()), 0
	for i := range all {
		if all[i].Omit || admitted[all[i].Labels.Get("model_id")] {
			continue
		}
		all[i].Omit = true
		if !all[i].Hidden {
			dropped++
		}
	}
	return dropped
}

// costsOf returns what the series that are written cost by model id, empty for the replica's own, and all together.
func costsOf(all []exposition.ComputedSeries) (costs map[string]exposition.Volume, total exposition.Volume) {
	costs = make(map[string]exposition.Volume)
	for i := range all {
		cost, id := exposition.Volume{}, all[i].Labels.Get("model_id")
		if !all[i].Hidden && !all[i].Omit {
			cost = all[i].Cost()
		}
		costs[id], total = costs[id].Add(cost), total.Add(cost)
	}
	return costs, total
}

// admit returns the model ids whose series fit into a limit, by priority: the replica's own come first.
func admit(
	costs map[string]exposition.Volume, limit exposition.Volume, known map[string]priority,
) map[string]bool {
	ids := make(map[string]priority, len(costs))
	for id := range costs {
		ids[id] = known[id]
	}
	ids[""] = priority{entry: true, served: true, traffic: math.Inf(1)}
	admitted, used := make(map[string]bool, len(ids)), exposition.Volume{}
	for _, id := range byPriority(ids) {
		if with := used.Add(costs[id]); limit.Fits(with) {
			admitted[id], used = true, with
		}
	}
	return admitted
}
