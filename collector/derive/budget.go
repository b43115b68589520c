package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
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

// preferred says how much a budget prefers a model id.
type preferred struct {
	// front says that clients call a model of it, or that it is of none, served that
	// the server lists one as ready; traffic is what was counted of it.
	front, served bool
	traffic       float64
}

// ranked are model ids in the order in which a budget serves them: names that
// clients make up come to some pages, and are served by nobody.
func ranked(ids map[string]preferred) []string {
	last := func(first bool) int {
		if first {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(ids), func(a, b string) int {
		x, y := ids[a], ids[b]
		return cmp.Or(last(x.front)-last(y.front), last(x.served)-last(y.served), cmp.Compare(y.traffic, x.traffic), strings.Compare(a, b))
	})
}

// boundModels leaves out the sources of models beyond the most there may be, of
// which those that clients call are the last to go, among them those that the server
// lists, then those with the most traffic by the numbers of a page, nil for none;
// what belongs to no model stays. It returns how many models those are.
func (p *Plan) boundModels(most int, page *exposition.Block) int {
	if most == 0 {
		return 0
	}
	ids, served := make(map[string]preferred), p.identity.Topology.Served()
	for i := range p.sources {
		s := &p.sources[i]
		if s.Model == "" {
			continue
		}
		r := ids[s.id]
		r.front = r.front || p.identity.Topology.Role(s.Model).Front()
		r.served = served[s.id]
		if counts := s.meaning.Counter && (s.class == "" || s.class == engine.ClassOK); counts && page != nil {
			r.traffic += max(page.Number(s.Place), 0)
		}
		ids[s.id] = r
	}
	if len(ids) <= most {
		return 0
	}
	kept := make(map[string]bool, most)
	for _, id := range ranked(ids)[:most] {
		kept[id] = true
	}
	p.sources = slices.DeleteFunc(p.sources, func(s source) bool { return s.Model != "" && !kept[s.id] })
	return len(ids) - most
}

// boundSeries leaves out all series of the models for which there is no room
// next to those of no model, of those that are not served first; it returns how many
// series those are.
func boundSeries(all []exposition.ComputedSeries, served map[string]bool, limit exposition.Budget) int {
	if limit == (exposition.Budget{}) {
		return 0
	}
	costs := make(map[string]exposition.Budget)
	ids := make(map[string]preferred)
	for i := range all {
		id := all[i].Labels.Get("model_id")
		ids[id] = preferred{front: id == "", served: served[id]}
		if all[i].Hidden {
			continue
		}
		costs[id] = costs[id].Add(all[i].Cost())
	}
	kept, taken := make(map[string]bool, len(ids)), exposition.Budget{}
	for _, id := range ranked(ids) {
		if with := taken.Add(costs[id]); limit.Fits(with) {
			kept[id], taken = true, with
		}
	}
	left := 0
	for i := range all {
		if all[i].Omit = !kept[all[i].Labels.Get("model_id")]; all[i].Omit && !all[i].Hidden {
			left++
		}
	}
	return left
}
