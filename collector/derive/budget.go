package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Budget bounds the derived series of one target; a zero field is no bound.
type Budget struct {
	exposition.Budget

	// Models is the most models that have derived series.
	Models int
}

// LeftOut are the derived series that the budget leaves out: those of so many
// models, and so many series of others.
type LeftOut struct{ Models, Series int }

// LeftOut says what the last page lacks for the budget's sake.
func (d *Deriver) LeftOut() LeftOut { return d.left }

// ranked are model ids in the order in which a budget serves them: some come
// first.
func ranked(ids map[string]bool) []string {
	place := map[bool]int{true: 0, false: 1}
	return slices.SortedFunc(maps.Keys(ids), func(a, b string) int {
		return cmp.Or(place[ids[a]]-place[ids[b]], strings.Compare(a, b))
	})
}

// boundModels leaves out the sources of models beyond the most there may be, of
// which those that clients call are the last to go; what belongs to no model
// stays. It returns how many models those are.
func (p *Plan) boundModels(most int) int {
	if most == 0 {
		return 0
	}
	front := make(map[string]bool)
	for i := range p.sources {
		if s := &p.sources[i]; s.Model != "" {
			front[s.id] = front[s.id] || p.identity.Topology.Role(s.Model).Front()
		}
	}
	if len(front) <= most {
		return 0
	}
	kept := make(map[string]bool, most)
	for _, id := range ranked(front)[:most] {
		kept[id] = true
	}
	p.sources = slices.DeleteFunc(p.sources, func(s source) bool { return s.Model != "" && !kept[s.id] })
	return len(front) - most
}

// boundSeries leaves out all series of the models for which there is no room
// next to those of no model; it returns how many series those are.
func boundSeries(all []exposition.ComputedSeries, limit exposition.Budget) int {
	if limit == (exposition.Budget{}) {
		return 0
	}
	costs := make(map[string]exposition.Budget)
	ids := make(map[string]bool)
	for i := range all {
		id := all[i].Labels.Get("model_id")
		ids[id] = id == ""
		if all[i].Aside {
			continue
		}
		costs[id] = costs[id].Plus(all[i].Cost())
	}
	kept, taken := make(map[string]bool, len(ids)), exposition.Budget{}
	for _, id := range ranked(ids) {
		if with := taken.Plus(costs[id]); limit.Has(with) {
			kept[id], taken = true, with
		}
	}
	left := 0
	for i := range all {
		if all[i].Left = !kept[all[i].Labels.Get("model_id")]; all[i].Left && !all[i].Aside {
			left++
		}
	}
	return left
}
