package derive

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// labelThan is the version that another one is compared with.
const labelThan = "than"

// pair are two versions of one model that clients can call side by side.
type pair struct{ newer, older front }

// pairs are the versions of each entry model of an id, every one with the one
// before it.
func (p *Plan) pairs(id string) []pair {
	fronts := slices.Clone(p.fronts(id))
	slices.SortStableFunc(fronts, func(a, b front) int {
		return cmp.Or(cmp.Compare(a.model, b.model), compareVersions(a.version, b.version))
	})
	var all []pair
	for i := 1; i < len(fronts); i++ {
		if fronts[i].model == fronts[i-1].model {
			all = append(all, pair{fronts[i], fronts[i-1]})
		}
	}
	return all
}

// compareVersions orders the versions of a model, which Triton takes from the
// names of folders: numbers by value.
func compareVersions(a, b string) int {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// difference is by how much one version is above another, as an interval; nil
// where that cannot be known.
type difference func(w *Window) (interval, bool)

// comparison is something of which less is better, in which versions are
// compared.
type comparison struct {
	inputs inputs
	// of is the difference of a pair, and what holds it back.
	of func(p *Plan, id string, of pair) (difference, Gate)
}

// comparisons are all of them, by the word of label by.
func comparisons() map[string]comparison {
	return map[string]comparison{"errors": failedMore(), "duration": tookLonger(), "first_token": cameLater()}
}

// failedMore compares the shares of requests that failed by the server's fault.
func failedMore() comparison {
	return comparison{allOf(engine.ModelSuccess, engine.ModelFailed), func(p *Plan, id string, of pair) (difference, Gate) {
		a, b := p.outcome(id, of.newer), p.outcome(id, of.older)
		if a == nil || b == nil || !a.known || !b.known {
			return nil, nil
		}
		return func(w *Window) (interval, bool) {
			newer, okNewer := a.ended(w)
			older, okOlder := b.ended(w)
			if !okNewer || !okOlder || newer.total <= 0 || older.total <= 0 {
				return interval{}, false
			}
			return sharesDiffer(a.since(w, newer.row, engine.ClassServer), newer.total, b.since(w, older.row, engine.ClassServer), older.total), true
		}, p.onlyWithout(checkFrozen, id)
	}}
}

// tookLonger compares the mean times of requests that succeeded.
func tookLonger() comparison {
	return comparison{allOf(engine.ModelSuccess, engine.ModelRequestSeconds), func(p *Plan, id string, of pair) (difference, Gate) {
		if !p.trusted(of.newer.model) {
			return nil, nil
		}
		times := func(at front) (of, by []int) {
			return p.counted(p.at(engine.ModelRequestSeconds, id, at)), p.counted(p.at(engine.ModelSuccess, id, at))
		}
		gate := every(p.onlyWithout(checkFrozen, id), p.onlyWithout(checkDurations, of.newer.model))
		return means(of, times), gate
	}}
}

// cameLater compares the mean times to the first token.
func cameLater() comparison {
	return comparison{allOf(engine.ModelFirstResponse), func(p *Plan, id string, of pair) (difference, Gate) {
		return means(of, func(at front) (of, by []int) {
			return p.observations(selected(firstTokens().of(p, id, at), func(g *group) bool { return g.meaning.Scope == engine.OfModel }))
		}), nil
	}}
}

// means is the difference of two means, given the sums and counts of each.
func means(of pair, times func(at front) (of, by []int)) difference {
	sumA, countA := times(of.newer)
	sumB, countB := times(of.older)
	if len(sumA) == 0 || len(countA) == 0 || len(sumB) == 0 || len(countB) == 0 {
		return nil
	}
	return func(w *Window) (interval, bool) {
		a, okA := w.sampled(sumA, countA)
		b, okB := w.sampled(sumB, countB)
		if !okA || !okB {
			return interval{}, false
		}
		return meansDiffer(a, b), true
	}
}

// compared makes series of each two versions of an entry model, given the pairs of
// labels that name them.
func compared(in inputs, of func(p *Plan, f *Family, id string, both pair, named []string)) Rule {
	return Rule{inputs: in, scope: OfModel, labels: []string{"version", labelThan}, why: whyPages, compile: func(p *Plan, f *Family) {
		for _, id := range p.ids(in) {
			for _, both := range p.pairs(id) {
				of(p, f, id, both, []string{"model", both.newer.model, "version", both.newer.version, labelThan, both.older.version})
			}
		}
	}}
}

// bounds are the bounds of the difference of each two versions.
func bounds(c comparison) Rule {
	return compared(c.inputs, func(p *Plan, f *Family, id string, both pair, named []string) {
		d, gate := c.of(p, id, both)
		if d == nil {
			return
		}
		d = once(p, d)
		for _, bound := range []string{"lower", "upper"} {
			p.emit(f, p.forModel(id, slices.Concat(named, []string{labelBound, bound})...), gate, func(w *Window) (float64, bool) {
				v, ok := d(w)
				if bound == "lower" {
					return v.lower, ok
				}
				return v.upper, ok
			})
		}
	}).by(labelBound)
}

// worse says of each two versions in what the newer one is certainly worse.
func worse() Rule {
	var in inputs
	for _, name := range sorted(comparisons()) {
		in = in.or(comparisons()[name].inputs)
	}
	return compared(in, func(p *Plan, f *Family, id string, both pair, named []string) {
		for _, name := range sorted(comparisons()) {
			if d, gate := comparisons()[name].of(p, id, both); d != nil {
				p.emit(f, p.forModel(id, slices.Concat(named, []string{"by", name})...), gate, func(w *Window) (float64, bool) {
					v, ok := d(w)
					return flag(v.lower > 0), ok
				})
			}
		}
	}).by("by")
}

// tokensByVersion are the tokens of a counter by model and version, where the
// server says of which they are.
func tokensByVersion(signal engine.Signal) Rule {
	return Rule{inputs: allOf(signal, engine.ModelSuccess), scope: OfModel, labels: []string{"version"}, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, g := range p.all(signal) {
			var all []front
			members := make(map[front][]int)
			for _, m := range g.members {
				at := front{p.sources[m].Model, p.sources[m].Version}
				if at.version != "" && members[at] == nil {
					all = append(all, at)
				}
				members[at] = append(members[at], m)
			}
			for _, at := range all {
				p.emit(f, p.forFront(g.id, at), p.gateOf(g), combine(p.columnsOf(members[at]), engine.Sum))
			}
		}
	}}
}
