package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// poolView is one pool of the page of the fleet.
type poolView struct {
	Name string
	// Rows are the replicas that are shown, the worst first.
	Rows []*replica
	// Folded says how many are not, Link is where all of the pool are.
	Folded, Link string
	// Tokens and Waiting are sums over the pool, whatever is shown of it.
	Tokens, Waiting quantity

	count tally
}

// poolViews groups the replicas that a filter took, the worst pool first; the
// sums are over all of byPool.
func poolViews(taken []*replica, byPool map[string][]*replica) []*poolView {
	views := map[string]*poolView{}
	var pools []*poolView
	for _, r := range taken {
		p := views[r.PoolID]
		if p == nil {
			p = newPoolView(r.PoolID, byPool[r.PoolID])
			views[r.PoolID] = p
			pools = append(pools, p)
		}
		p.Rows = append(p.Rows, r)
	}
	slices.SortFunc(pools, func(a, b *poolView) int {
		return cmp.Or(cmp.Compare(a.count.worst(), b.count.worst()), cmp.Compare(b.shareBroken(), a.shareBroken()), CompareNames(a.Name, b.Name))
	})
	return pools
}

// newPoolView sums a pool up.
func newPoolView(name string, all []*replica) *poolView {
	p := &poolView{Name: name, Link: filter{Pool: name}.link()}
	for _, r := range all {
		if r.counts() {
			p.count.add(r)
		}
	}
	p.Tokens = seenByClients(all, func(f *history.Figures) float64 { return f.Tokens })
	p.Waiting = seenByClients(all, func(f *history.Figures) float64 { return f.Waiting })
	return p
}

// seenByClients adds a figure up over one tier of a pool, for a router and the engines
// behind it both count what passes through them: over its routers, or over its workers
// where no router has it. It is the rule of the recording rules.
func seenByClients(all []*replica, figure func(f *history.Figures) float64) quantity {
	var first, workers []float64
	for _, r := range all {
		if v := figure(&r.Figures); r.status.Worker {
			workers = append(workers, v)
		} else {
			first = append(first, v)
		}
	}
	if q := total(first); q.Known() || len(workers) == 0 {
		return q
	}
	return total(workers)
}

// shareBroken is the share of replicas that do not serve.
func (p *poolView) shareBroken() float64 {
	return float64(p.count.by[broken]) / float64(max(p.count.total(), 1))
}

// Tone is the colour of the pool.
func (p *poolView) Tone() string { return p.count.worst().Tone() }

// Tally says how many serve, and of all that are not fine why.
func (p *poolView) Tally() string {
	serving := inGroups(strconv.Itoa(p.count.serving())) + " of " + inGroups(strconv.Itoa(p.count.total())) + " serving"
	others := p.count.others([4][2]string{
		{" does not", " do not"}, {" starting or ending", " starting or ending"}, {" needs a look", " need a look"}, {" not tried yet", " not tried yet"},
	})
	return strings.Join(append([]string{serving}, others...), ", ")
}

// fold leaves most of the rows away that need nobody's attention, but for so
// many, and those beyond the bound.
func (p *poolView) fold(fines int) {
	end := slices.IndexFunc(p.Rows, func(r *replica) bool { return r.condition == fine })
	if end < 0 {
		end = len(p.Rows)
	}
	end = min(end+fines, len(p.Rows), rowsOfPool)
	if end == len(p.Rows) {
		return
	}
	p.Folded = plural(len(p.Rows)-end, "more replica", "more replicas")
	if p.Rows[end].condition == fine {
		p.Folded = plural(len(p.Rows)-end, "more replica that serves", "more replicas that serve")
	}
	p.Rows = p.Rows[:end]
}
