package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// The bounds of the page of the fleet, which keep it small and quick for
// thousands of replicas. What is beyond them is a link away.
const (
	// rowsUnfolded is how many replicas are all shown; of more, those that serve
	// are folded to one line for each pool.
	rowsUnfolded = 60
	// rowsShown is the most rows of one page.
	rowsShown = 150
	// rowsOfPool is the most rows of a pool whose replicas are folded, finesOfPool
	// how many of those that serve are among them unless there are manyPools.
	rowsOfPool  = 15
	finesOfPool = 5
	manyPools   = 8
	// poolsListed is the most pools that are named.
	poolsListed = 1000
	// searchableFrom is how many replicas are found without a search.
	searchableFrom = 15
)

// fleetView is the page of the fleet.
type fleetView struct {
	frame

	Verdict Verdict
	// LoadRunbook is the address of what to do about full replicas.
	LoadRunbook string
	// Searches are sentences about pools that have no targets, or wait for them.
	Searches []string
	Problems []*problem
	// MoreProblems is how many are beyond the bound, at MoreLink.
	MoreProblems int
	MoreLink     string
	Filter       filter
	// Total is the whole fleet, Found what the filter takes of it.
	Total, Found int
	// Searchable reports whether there are enough replicas for a search.
	Searchable bool
	Pools      []*poolView
	// Rest are pools of which only the sums are shown.
	Rest     []*poolView
	RestMore int
	// Before and After are the addresses of the other rows.
	Before, After string
	Refresh       int
	// Sources are what discovery found, for /targets, which has columns about the scrapes.
	Scrapes bool
	Sources []*target.PoolDiscovery
}

// serveFleet shows the verdict, what is wrong, and every pool, as HTML or as JSON.
func (s *Server) serveFleet(w http.ResponseWriter, r *http.Request, f filter) {
	if wantsJSON(r) {
		writeJSON(w, s.fleet(f))
		return
	}
	s.render(w, http.StatusOK, "fleet.html", s.fleetView(f, time.Now()))
}

// readFleet copies what is known of all replicas, the worst first.
func (s *Server) readFleet(now time.Time) (all []*replica, byPool map[string][]*replica) {
	slots := s.opts.Store.Slots()
	all, byPool = make([]*replica, 0, len(slots)), map[string][]*replica{}
	for _, slot := range slots {
		r := s.readReplica(slot)
		if r.Figures = s.history.Figures(slot); !r.Since.IsZero() {
			r.For = age(now.Sub(r.Since))
		}
		all = append(all, r)
	}
	slices.SortFunc(all, compareReplicas)
	for _, r := range all {
		byPool[r.PoolID] = append(byPool[r.PoolID], r)
	}
	for _, pool := range byPool {
		markMixed(pool)
		markOdd(pool)
	}
	return all, byPool
}

// fleetView is the fleet at that moment, as far as the filter takes it.
func (s *Server) fleetView(f filter, now time.Time) *fleetView {
	all, byPool := s.readFleet(now)
	v := &fleetView{
		frame: s.frame("", now), Verdict: judgeFleet(all, byPool, now), Filter: f, Total: len(all),
		Searchable: len(all) > searchableFrom || f.Active(), Searches: s.searchProblems(), Refresh: int(history.Every.Seconds()),
	}
	v.Title, v.Tone, v.LoadRunbook = v.Verdict.Headline+" – trtllm_exporter", v.Verdict.Severity, s.runbook("LLMPoolSaturated")
	all = f.take(all)
	v.Found = len(all)
	problems, more := problems(all)
	if v.Problems, v.MoreProblems = problems, len(more); len(more) > 0 {
		v.MoreLink = filter{State: more[0].Severity}.link()
	}
	f.sort(all)
	v.fill(poolViews(all, byPool), s.history)
	return v
}

// Columns are the numbers of a row.
func (*fleetView) Columns() []Column { return Columns() }

// FoundText is how many replicas the filter takes.
func (v *fleetView) FoundText() string {
	return grouped(float64(v.Found)) + " of " + plural(v.Total, "replica", "replicas")
}

// fill takes the rows that there is room for.
func (v *fleetView) fill(pools []*poolView, past *history.History) {
	switch {
	case v.Filter.Active():
		v.page(pools)
	case v.Found <= rowsUnfolded:
		v.Pools = pools
	default:
		v.fold(pools)
	}
	var shown []*replica
	for _, p := range v.Pools {
		shown = append(shown, p.Rows...)
	}
	if len(v.Rest) > poolsListed {
		v.Rest, v.RestMore = v.Rest[:poolsListed], len(v.Rest)-poolsListed
	}
	drawAll(shown, past)
}

// page takes the rows from the one that was asked for on.
func (v *fleetView) page(pools []*poolView) {
	from, left := v.Filter.From, rowsShown
	for _, p := range pools {
		if from >= len(p.Rows) {
			from -= len(p.Rows)
			continue
		}
		if left == 0 {
			break
		}
		end := min(from+left, len(p.Rows))
		left -= end - from
		p.Rows, from = p.Rows[from:end], 0
		v.Pools = append(v.Pools, p)
	}
	if v.Filter.From > 0 {
		v.Before = v.Filter.at(max(v.Filter.From-rowsShown, 0))
	}
	if next := v.Filter.From + rowsShown; next < v.Found {
		v.After = v.Filter.at(next)
	}
}

// fold leaves most replicas that serve away, and shows only the sums of pools
// for which there is no room.
func (v *fleetView) fold(pools []*poolView) {
	left, fines := rowsShown, finesOfPool
	if len(pools) > manyPools {
		fines = 0
	}
	for _, p := range pools {
		p.fold(fines)
		// The head of a table takes as much room as a row.
		left -= len(p.Rows) + 1
		if left < 0 || len(p.Rows) == 0 {
			v.Rest = append(v.Rest, p)
			continue
		}
		v.Pools = append(v.Pools, p)
	}
}

// drawAll draws the last minutes of the rows that are shown, at one scale of time,
// and gives what is kept of them.
func drawAll(rows []*replica, past *history.History) []history.Recent {
	recent, longest := make([]history.Recent, len(rows)), 0
	for i, r := range rows {
		recent[i] = past.Recent(r.Key())
		longest = max(longest, len(recent[i].Tokens))
	}
	for i, r := range rows {
		r.TokensDrawn = draw(recent[i].Tokens, longest, "Tokens/s")
		r.WaitingDrawn = draw(recent[i].Waiting, longest, "Waiting")
	}
	return recent
}
