package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Budget limits the derived series of one target; a zero field means no limit.
type Budget struct {
	exposition.Budget

	// Models limits the models with derived series.
	Models int
}

// Dropped counts models that exceed a budget, and series of the other models that do.
type Dropped struct{ Models, Series int }

// Dropped returns how much the budget dropped from the last page.
func (d *Deriver) Dropped() Dropped { return d.dropped }

// priority orders model ids within a budget: entry is true for a model that clients call and for
// series without a model, served if the server lists the model as ready. Traffic comes last.
type priority struct {
	entry, served bool
	traffic       float64
}

// byPriority returns model ids in the order in which a budget admits them. Some pages have model
// names that clients made up and that are not served.
func byPriority(ids map[string]priority) []string {
	return slices.SortedFunc(maps.Keys(ids), func(a, b string) int {
		x, y := ids[a], ids[b]
		return cmp.Or(cmp.Compare(flag(y.entry), flag(x.entry)), cmp.Compare(flag(y.served), flag(x.served)), cmp.Compare(y.traffic, x.traffic), strings.Compare(a, b))
	})
}

// dropModels drops the sources of models that exceed the limit, and returns the number of these
// models. The block may be nil.
func (p *Plan) dropModels(limit int, block *exposition.Block) int {
	if limit == 0 {
		return 0
	}
	ids, served := make(map[string]priority), p.identity.Topology.Served()
	for i := range p.sources {
		s := &p.sources[i]
		if s.Model == "" {
			continue
		}
		r := ids[s.id]
		r.entry = r.entry || p.identity.Topology.Role(s.Model).Front()
		r.served = served[s.id]
		if counts := s.meaning.Counter && (s.class == "" || s.class == engine.ClassOK); counts && block != nil {
			r.traffic += max(block.Number(s.Place), 0)
		}
		ids[s.id] = r
	}
	if len(ids) <= limit {
		return 0
	}
	admitted := byPriority(ids)[:limit]
	p.sources = slices.DeleteFunc(p.sources, func(s source) bool { return s.Model != "" && !slices.Contains(admitted, s.id) })
	return len(ids) - limit
}

// dropSeries drops all series of the models that do not fit, and returns the number of series.
func dropSeries(all []exposition.ComputedSeries, served map[string]bool, limit exposition.Budget) int {
	if limit == (exposition.Budget{}) {
		return 0
	}
	costs := make(map[string]exposition.Budget)
	ids := make(map[string]priority)
	for i := range all {
		id := all[i].Labels.Get("model_id")
		ids[id] = priority{entry: id == "", served: served[id]}
		if !all[i].Hidden {
			costs[id] = costs[id].Add(all[i].Cost())
		}
	}
	admitted, used := make(map[string]bool, len(ids)), exposition.Budget{}
	for _, id := range byPriority(ids) {
		if with := used.Add(costs[id]); limit.Fits(with) {
			admitted[id], used = true, with
		}
	}
	dropped := 0
	for i := range all {
		if all[i].Omit = !admitted[all[i].Labels.Get("model_id")]; all[i].Omit && !all[i].Hidden {
			dropped++
		}
	}
	return dropped
}
