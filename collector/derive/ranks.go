package derive

import (
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// rank is one of the engines behind a model id: of a model, and a data-parallel
// rank of it; empty where the server makes no difference.
type rank struct{ model, number string }

// awake has a value only while an engine does not sleep.
func (p *Plan) awake(id string, of rank, e Eval) Eval {
	states := p.ofRank(p.of(engine.EngineAwake, id), of)
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

// ranks are the ranks of some groups in order.
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

// rankOf is the rank that a source is of.
func (p *Plan) rankOf(source int) rank {
	in := &p.sources[source]
	of := rank{model: in.Model}
	if in.meaning.Rank != "" {
		of.number = in.Labels.Get(in.meaning.Rank)
	}
	return of
}

// ofRank are the columns of groups that are of a rank, or of several together.
func (p *Plan) ofRank(groups []*group, wanted rank) []int {
	return p.columnsIf(groups, func(of rank) bool {
		return (of.model == wanted.model || of.model == "") && (of.number == wanted.number || of.number == "")
	})
}

// movesOf are the columns of groups that move with the work of a rank: those of
// its own, if it has any, for what several ranks count together goes on while one
// of them stands still.
func (p *Plan) movesOf(groups []*group, wanted rank) []int {
	own := p.columnsIf(groups, func(of rank) bool {
		return wanted.number != "" && of.number == wanted.number && (of.model == wanted.model || of.model == "")
	})
	if len(own) > 0 {
		return own
	}
	return p.ofRank(groups, wanted)
}

// columnsIf are the columns of groups that are of ranks that are wanted.
func (p *Plan) columnsIf(groups []*group, wanted func(of rank) bool) (columns []int) {
	for _, g := range groups {
		for _, m := range g.members {
			if wanted(p.rankOf(m)) {
				columns = append(columns, p.column(m))
			}
		}
	}
	return columns
}
