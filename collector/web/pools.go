package web

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Pool summarizes the replicas of a pool.
type Pool struct {
	PoolID string `json:"pool_id"`
	// Severity is the worst severity of the replicas.
	Severity string `json:"severity"`
	// Tally describes how many replicas serve, and how many have which problem.
	Tally    string `json:"tally"`
	Replicas int    `json:"replicas"`
	Serving  int    `json:"serving"`
	// Saturated counts the serving replicas that have as many requests as they can take.
	Saturated int `json:"saturated"`
	// Partly is true if the numbers of some replicas are unknown.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Partly  bool     `json:"partly,omitempty"`
	// Objectives lists the configured objectives.
	Objectives []Objective `json:"objectives,omitempty"`
	// HourlyCost is the declared cost of the replicas, nil unless it is declared.
	HourlyCost *Cost `json:"cost_per_hour,omitempty"`
}

// PoolConfig is what the configuration promises and declares of a pool.
type PoolConfig struct {
	Objectives []Objective
	// ReplicaHour is the cost of a replica for an hour, nil unless it is declared.
	ReplicaHour *Cost
}

// Cost is an amount of a currency, a code of ISO 4217.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type poolView struct {
	Pool

	// Rows lists the replicas that are shown, the worst first.
	Rows []*replica
	// Folded describes how many are not shown. Link is the query for all replicas of the pool.
	Folded, Link string
}

// TokensText formats the tokens per second.
func (p *Pool) TokensText() string { return sum{p.Tokens, p.Partly}.String() }

// CostText formats what the pool costs, empty if that is not declared.
func (p *Pool) CostText() string {
	if p.HourlyCost == nil {
		return ""
	}
	amount := strconv.FormatFloat(math.Round(100*p.HourlyCost.Amount)/100, 'f', -1, 64)
	return amount + " " + p.HourlyCost.Currency + " an hour"
}

// of returns the cost of several replicas.
func (c *Cost) of(replicas int) *Cost {
	if c == nil {
		return nil
	}
	return &Cost{Amount: c.Amount * float64(replicas), Currency: c.Currency}
}

// WaitingText formats the number of waiting requests.
func (p *Pool) WaitingText() string { return sum{p.Waiting, p.Partly}.String() }

// poolViews groups the selected replicas by pool, the worst pool first. The sums cover all
// replicas in byPool.
func (s *Server) poolViews(selected []*replica, byPool map[string][]*replica) []*poolView {
	views, configured := map[string]*poolView{}, s.opts.Pools()
	var pools []*poolView
	for _, r := range selected {
		p := views[r.PoolID]
		if p == nil {
			p = newPoolView(r.PoolID, byPool[r.PoolID])
			p.Objectives = s.objectives(configured[r.PoolID].Objectives, byPool[r.PoolID])
			p.HourlyCost = configured[r.PoolID].ReplicaHour.of(p.Replicas)
			views[r.PoolID] = p
			pools = append(pools, p)
		}
		p.Rows = append(p.Rows, r)
	}
	slices.SortFunc(pools, func(a, b *poolView) int {
		return cmp.Or(
			cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)),
			cmp.Compare(a.servingRatio(), b.servingRatio()),
			CompareNames(a.PoolID, b.PoolID),
		)
	})
	return pools
}

// newPoolView summarizes a pool. Its replicas must be sorted, the worst first.
func newPoolView(id string, all []*replica) *poolView {
	t := newTally(all)
	tokens, wait := poolSum(all, func(f *Figures) *float64 { return f.Tokens }), poolSum(all, waiting)
	return &poolView{
		Pool: Pool{
			PoolID: id, Severity: t.worst, Tally: t.serves("serving") + t.problems(),
			Replicas: t.total, Serving: t.serving, Saturated: t.saturated,
			Tokens: tokens.value, Waiting: wait.value, Partly: tokens.partial || wait.partial,
		},
		Link: filter{Pool: id}.link(),
	}
}

func waiting(f *Figures) *float64 { return f.Waiting }

func poolSum(all []*replica, figure func(f *Figures) *float64) sum {
	var s sum
	for _, r := range tier(all, func(r *replica) bool { return figure(&r.Figures) != nil }) {
		s.add(figure(&r.Figures))
	}
	return s
}

// tier returns the replicas whose numbers can be added up, which are the ones that clients talk
// to. A router and the engines behind it count the same requests, so workers count only if no
// other replica has the number. The recording rules do the same.
func tier(all []*replica, has func(r *replica) bool) []*replica {
	var frontends, workers []*replica
	for _, r := range all {
		if r.Status.Worker {
			workers = append(workers, r)
		} else {
			frontends = append(frontends, r)
		}
	}
	if len(workers) == 0 || slices.ContainsFunc(frontends, has) {
		return frontends
	}
	return workers
}

func (p *poolView) servingRatio() float64 { return float64(p.Serving) / float64(max(p.Replicas, 1)) }

// fold omits all but a few of the healthy rows, and rows beyond the limit.
func (p *poolView) fold(healthyRows int) {
	end := slices.IndexFunc(p.Rows, func(r *replica) bool { return r.Severity == healthy })
	if end < 0 {
		end = len(p.Rows)
	}
	end = min(end+healthyRows, len(p.Rows), maxPoolRows)
	if end == len(p.Rows) {
		return
	}
	p.Folded = plural(len(p.Rows)-end, "more replica", "more replicas")
	if p.Rows[end].Severity == healthy {
		p.Folded = plural(len(p.Rows)-end, "more replica that serves", "more replicas that serve")
	}
	p.Rows = p.Rows[:end]
}

// Objective is an objective of a pool, and how its replicas met it in the last ten minutes.
type Objective struct {
	Name string `json:"name"`
	// Goal is the ratio of good requests, Within how long they may take, 0 for no limit.
	Goal   float64 `json:"goal_ratio"`
	Within float64 `json:"within_seconds,omitempty"`
	// Good is the ratio of good requests as the alerts compute it, nil if unknown.
	Requests float64  `json:"requests"`
	Good     *float64 `json:"good_ratio,omitempty"`
	// Severity is ok if the objective was met, look if it was missed.
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Runbook  string `json:"runbook,omitempty"`
}

func (s *Server) objectives(configured []Objective, all []*replica) []Objective {
	return mapped(configured, func(o Objective) Objective {
		counts, measured := poolCounts(all, o.Name)
		text := "not measured"
		o.Requests, o.Severity, o.Runbook = counts.requests, unknown, s.runbook("LLMSLOBlind")
		if measured {
			text, o.Runbook = "no requests", ""
		}
		if o.Requests > 0 {
			o.Good, o.Severity, text = new(1-counts.bad/o.Requests), healthy, ""
			if counts.badAtMost > counts.bad {
				text = "at most "
			}
			if *o.Good < o.Goal {
				o.Severity, o.Runbook = look, s.runbook("LLMSLOBurnFast")
			}
			// The ratio is rounded down, so that a missed goal does not look like a met one.
			text += strconv.FormatFloat(math.Floor(*o.Good*1e4+1e-6)/100, 'f', -1, 64) + " %"
		}
		name := o.Name
		if o.Within > 0 {
			name += " ≤ " + strconv.FormatFloat(o.Within, 'f', -1, 64) + " s"
		}
		o.Text = name + ": " + text + ", goal " + strconv.FormatFloat(math.Round(o.Goal*1e6)/1e4, 'f', -1, 64) + " %"
		return o
	})
}

// poolCounts adds up the counts of an objective; measured is false if no replica has any.
func poolCounts(all []*replica, name string) (sum objectiveCounts, measured bool) {
	for _, r := range tier(all, func(r *replica) bool { return r.objectives[name] != objectiveCounts{} }) {
		c, ok := r.objectives[name]
		sum.requests += c.requests
		sum.bad += c.bad
		sum.badAtMost += c.badAtMost
		measured = measured || ok
	}
	return sum, measured
}
