package derive

import (
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
		return strings.Compare(a.model+"\x00"+a.number, b.model+"\x00"+b.number)
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
	return p.columnsIf(groups, func(r rank) bool {
		return (r.model == wanted.model || r.model == "") && (r.number == wanted.number || r.number == "")
	})
}

// progressColumns returns the columns of groups that move with the work of a rank: its
// own if it has any, since what ranks count together goes on while one stands still.
func (p *Plan) progressColumns(groups []*group, wanted rank) []int {
	own := p.columnsIf(groups, func(r rank) bool {
		return wanted.number != "" && r.number == wanted.number && (r.model == wanted.model || r.model == "")
	})
	if len(own) > 0 {
		return own
	}
	return p.rankColumns(groups, wanted)
}

// columnsIf returns the columns of groups whose ranks are wanted.
func (p *Plan) columnsIf(groups []*group, wanted func(r rank) bool) (columns []int) {
	for _, g := range groups {
		for _, m := range g.members {
			if wanted(p.rankOf(m)) {
				columns = append(columns, p.column(m))
			}
		}
	}
	return columns
}
