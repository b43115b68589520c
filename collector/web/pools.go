package web

import (
	"cmp"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// Pool sums the replicas of a pool up.
type Pool struct {
	PoolID   string `json:"pool_id"`
	Severity string `json:"severity"`
	// Tally says how many serve, and of all that are not fine why. Serving are those
	// that answer requests, of which some need a look.
	Tally    string `json:"tally"`
	Replicas int    `json:"replicas"`
	Serving  int    `json:"serving"`
	// Saturated are the replicas that have as many requests as they may.
	Saturated int `json:"saturated"`
	// Tokens are generated tokens a second, Waiting requests. A sum of which parts
	// are not known is Partly.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Partly  bool     `json:"partly,omitempty"`
}

// poolView is one pool of the page of the fleet.
type poolView struct {
	Pool

	// Rows are the replicas that are shown, the worst first.
	Rows []*replica
	// Folded says how many are not, Link is where all of the pool are.
	Folded, Link string
	// TokensText and WaitingText are the sums for people.
	TokensText, WaitingText string
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
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(a.shareServing(), b.shareServing()), CompareNames(a.PoolID, b.PoolID))
	})
	return pools
}

// newPoolView sums a pool up, whose replicas come the worst first.
func newPoolView(name string, all []*replica) *poolView {
	count := tallyOf(all)
	tokens, wait := seenByClients(all, func(f *history.Figures) *float64 { return f.Tokens }), seenByClients(all, waiting)
	return &poolView{
		Pool: Pool{
			PoolID: name, Severity: count.worst, Tally: count.head("serving") + count.others(),
			Replicas: count.total, Serving: count.serving, Saturated: count.saturated,
			Tokens: tokens.value, Waiting: wait.value, Partly: tokens.partly || wait.partly,
		},
		Link: filter{Pool: name}.link(), TokensText: tokens.String(), WaitingText: wait.String(),
	}
}

// waiting is the figure of the requests that wait.
func waiting(f *history.Figures) *float64 { return f.Waiting }

// seenByClients adds a figure up over one tier of a pool, for a router and the engines
// behind it both count what passes through them: over its routers, or over its workers
// where no router has it. It is the rule of the recording rules.
func seenByClients(all []*replica, figure func(f *history.Figures) *float64) sum {
	var first, workers sum
	for _, r := range all {
		if r.Status.Worker {
			workers.add(figure(&r.Figures))
		} else {
			first.add(figure(&r.Figures))
		}
	}
	if first.value == nil && workers != (sum{}) {
		return workers
	}
	return first
}

// shareServing is the share of replicas that serve.
func (p *poolView) shareServing() float64 { return float64(p.Serving) / float64(max(p.Replicas, 1)) }

// fold leaves most of the rows away that need nobody's attention, but for so
// many, and those beyond the bound.
func (p *poolView) fold(fines int) {
	end := slices.IndexFunc(p.Rows, func(r *replica) bool { return r.Severity == fine })
	if end < 0 {
		end = len(p.Rows)
	}
	end = min(end+fines, len(p.Rows), rowsOfPool)
	if end == len(p.Rows) {
		return
	}
	p.Folded = plural(len(p.Rows)-end, "more replica", "more replicas")
	if p.Rows[end].Severity == fine {
		p.Folded = plural(len(p.Rows)-end, "more replica that serves", "more replicas that serve")
	}
	p.Rows = p.Rows[:end]
}
