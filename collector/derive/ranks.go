package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// rank is an engine behind a model id: a data-parallel rank of a model. Fields are empty
// where the server does not distinguish them.
type rank struct{ model, number string }

// whileAwake returns a value that is absent while a rank's engine sleeps.
func (p *Plan) whileAwake(id string, r rank, e Eval) Eval {
	states := p.rankColumns(p.groupsOf(engine.EngineAwake, id), r)
	if len(states) == 0 {
		return e
	}
	awake := largest(states)
	return func(w *Window) (float64, bool) {
		if v, ok := awake(w); ok && v <= 0 {
			return 0, false
		}
		return e(w)
	}
}

func (p *Plan) ranks(groups []*group) []rank {
	all := make(map[rank]bool)
	for _, g := range groups {
		for _, m := range g.members {
			all[p.rankOf(m)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b rank) int {
		return cmp.Or(strings.Compare(a.model, b.model), strings.Compare(a.number, b.number))
	})
}

func (p *Plan) rankOf(source int) rank {
	in := &p.sources[source]
	r := rank{model: in.Model}
	if in.meaning.Rank != "" {
		r.number = in.Labels.Get(in.meaning.Rank)
	}
	return r
}

// rankColumns returns the columns of groups that belong to a rank, or to several
// together.
func (p *Plan) rankColumns(groups []*group, wanted rank) []int {
	own, shared := p.columnsOfRank(groups, wanted)
	return slices.Concat(own, shared)
}

// progressColumns returns the columns of groups that move with the work of a rank: its
// own if it has any, since what ranks count together goes on while one stands still.
func (p *Plan) progressColumns(groups []*group, wanted rank) []int {
	if own, _ := p.columnsOfRank(groups, wanted); len(own) > 0 && wanted.number != "" {
		return own
	}
	return p.rankColumns(groups, wanted)
}

func (p *Plan) columnsOfRank(groups []*group, wanted rank) (own, shared []int) {
	for _, g := range groups {
		for _, m := range g.members {
			switch r := p.rankOf(m); {
			case r.model != wanted.model && r.model != "":
			case r.number == wanted.number:
				own = append(own, p.column(m))
			case r.number == "":
				shared = append(shared, p.column(m))
			}
		}
	}
	return own, shared
}
