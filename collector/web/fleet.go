package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Limits that keep the fleet page small for thousands of replicas. The other rows are a link away.
const (
	// unfoldedRows is the number of replicas up to which all rows are shown.
	unfoldedRows = 60
	maxRows      = 150
	// maxPoolRows limits the rows of a folded pool, healthyPoolRows its rows of healthy replicas
	// unless there are manyPools.
	maxPoolRows     = 15
	healthyPoolRows = 5
	manyPools       = 8
	// searchableReplicas is the number of replicas above which the page has a search form.
	searchableReplicas = 15
)

// Fleet is the JSON document of /?format=json. Unknown values are nil and omitted, never 0.
type Fleet struct {
	Time    time.Time `json:"at"`
	Version string    `json:"version"`
	Summary Summary   `json:"verdict"`
	// Searches describes pools that have no targets or wait for them.
	Searches []string `json:"discovery,omitempty"`
	// Pools and Replicas are sorted, the worst first.
	Pools    []Pool    `json:"pools"`
	Replicas []Replica `json:"replicas"`
}

// Fleet returns the state of all replicas.
func (s *Server) Fleet() *Fleet { return s.fleetView(filter{}, time.Now()).document() }

type fleetView struct {
	frame

	Summary Summary
	// LoadRunbook links to the runbook about full replicas.
	LoadRunbook string
	Searches    []string
	Problems    []*problem
	// MoreProblems counts the problems that are only behind MoreLink.
	MoreProblems int
	MoreLink     string
	Filter       filter
	// Total is the number of replicas, Found the number that the filter selects.
	Total, Found int
	// Pools lists all pools with selected replicas, for HTML only the pools that are shown with
	// rows.
	Pools []*poolView
	// OtherPools lists pools that are shown without rows.
	OtherPools []*poolView
	// Previous and Next link to the other rows.
	Previous, Next string
	Refresh        int
	// Scrapes enables the columns about scrapes on /targets, and Sources is what discovery found.
	Scrapes bool
	Sources []target.PoolDiscovery

	selected []*replica
}

func (s *Server) serveFleet(w http.ResponseWriter, r *http.Request, f filter) {
	v := s.fleetView(f, time.Now())
	if wantsJSON(r) {
		writeJSON(w, v.document())
		return
	}
	v.layOut(s.history)
	s.render(w, http.StatusOK, "fleet.html", v)
}

// readFleet copies the state of all replicas, the worst first.
func (s *Server) readFleet(now time.Time) (all []*replica, byPool map[string][]*replica) {
	byPool = map[string][]*replica{}
	for _, slot := range s.opts.Store.Slots() {
		r := s.readReplica(slot)
		if r.Figures = s.history.figures(slot); !r.Since.IsZero() {
			r.For = age(now.Sub(r.Since))
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *replica) int {
		return cmp.Or(
			cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)),
			cmp.Compare(stateRank(a.State), stateRank(b.State)),
			strings.Compare(a.sortKey, b.sortKey),
		)
	})
	for _, r := range all {
		byPool[r.PoolID] = append(byPool[r.PoolID], r)
	}
	for _, pool := range byPool {
		compareWithPool(pool)
	}
	return all, byPool
}

func (s *Server) fleetView(f filter, now time.Time) *fleetView {
	all, byPool := s.readFleet(now)
	searches := s.describeSearches(func(search *target.PoolDiscovery) string { return shortened(noTargets(search)) })
	v := &fleetView{
		frame:       s.frame("", now),
		Summary:     summarize(all, byPool, now),
		LoadRunbook: s.runbook("LLMPoolSaturated"),
		Searches:    searches[:min(len(searches), maxProblems)],
		Filter:      f,
		Total:       len(all),
		Refresh:     int(sampleInterval.Seconds()),
	}
	v.Title, v.Tone = v.Summary.Headline+" – trtllm_exporter", v.Summary.Severity
	v.selected = f.apply(all)
	v.Found = len(v.selected)
	var hidden []*replica
	if v.Problems, hidden = problems(v.selected); len(hidden) > 0 {
		v.MoreProblems, v.MoreLink = len(hidden), filter{State: hidden[0].Severity}.link()
	}
	f.sort(v.selected)
	v.Pools = s.poolViews(v.selected, byPool)
	return v
}

func (v *fleetView) document() *Fleet {
	return &Fleet{
		Time: milliseconds(v.now), Version: v.Version, Summary: v.Summary, Searches: v.Searches,
		Pools:    mapped(v.Pools, func(p *poolView) Pool { return p.Pool }),
		Replicas: mapped(v.selected, func(r *replica) Replica { return r.Replica }),
	}
}

func (*fleetView) Columns() []Column { return Columns() }

func (v *fleetView) HasObjectives() bool {
	return slices.ContainsFunc(
		slices.Concat(v.Pools, v.OtherPools),
		func(p *poolView) bool { return len(p.Objectives) > 0 },
	)
}

func (v *fleetView) Searchable() bool { return v.Total > searchableReplicas || v.Filter.Active() }

// FoundText describes how many replicas the filter selects.
func (v *fleetView) FoundText() string {
	return grouped(float64(v.Found)) + " of " + plural(v.Total, "replica", "replicas")
}

// layOut reduces the rows to what the page has space for.
func (v *fleetView) layOut(past *history) {
	if v.Filter.Active() {
		v.paginate()
	} else if v.Found > unfoldedRows {
		v.fold()
	}
	var rows []*replica
	for _, p := range v.Pools {
		rows = append(rows, p.Rows...)
	}
	drawSparks(rows, past)
}

// paginate reduces the rows to one page, from the first row that was requested.
func (v *fleetView) paginate() {
	first := v.Filter.From
	for _, p := range v.Pools {
		size := len(p.Rows)
		p.Rows = p.Rows[min(max(first, 0), size):min(max(first+maxRows, 0), size)]
		first -= size
	}
	v.Pools = slices.DeleteFunc(v.Pools, func(p *poolView) bool { return len(p.Rows) == 0 })
	if v.Filter.From > 0 {
		v.Previous = v.Filter.pageLink(max(v.Filter.From-maxRows, 0))
	}
	if next := v.Filter.From + maxRows; next < v.Found {
		v.Next = v.Filter.pageLink(next)
	}
}

// fold omits most healthy replicas, and all rows of pools that do not fit.
func (v *fleetView) fold() {
	remaining, healthyRows := maxRows, healthyPoolRows
	if len(v.Pools) > manyPools {
		healthyRows = 0
	}
	v.Pools = slices.DeleteFunc(v.Pools, func(p *poolView) bool {
		p.fold(healthyRows)
		remaining -= len(p.Rows) + 1 // The head of a table takes as much space as a row.
		if remaining >= 0 && len(p.Rows) > 0 {
			return false
		}
		v.OtherPools = append(v.OtherPools, p)
		return true
	})
}

// drawSparks draws the last minutes of the rows on a common time scale, and returns their history.
func drawSparks(rows []*replica, past *history) []recentHistory {
	recent, longest := make([]recentHistory, len(rows)), 0
	for i, r := range rows {
		recent[i] = past.recent(r.Key())
		longest = max(longest, len(recent[i].tokens))
	}
	for i, r := range rows {
		r.TokensSpark = newSpark("Tokens/s", recent[i].tokens, longest)
		r.WaitingSpark = newSpark("Waiting", recent[i].waiting, longest)
	}
	return recent
}

type filter struct {
	// State is a state or a severity, Text a part of what is shown about a replica.
	State, Pool, Text string
	// Sort is the name of a column, sorted in descending order.
	Sort string
	// From is the index of the first row.
	From int
}

// readFilter parses a query. A from that is not a number counts as 0.
func readFilter(values url.Values) (filter, error) {
	f := filter{State: values.Get("state"), Pool: values.Get("pool"), Text: values.Get("q"), Sort: values.Get("sort")}
	if from, err := strconv.Atoi(values.Get("from")); err == nil && from > 0 {
		f.From = min(from, 1<<30) // A sum of positions does not overflow.
	}
	if f.State != "" && !slices.Contains(f.States(), f.State) {
		return f, fmt.Errorf("state: there is no %q; use %s", f.State, strings.Join(f.States(), ", "))
	}
	if f.Sort != "" && Largest(f.Sort) == nil {
		return f, fmt.Errorf("sort: there is no column %q", f.Sort)
	}
	return f, nil
}

// filtered refuses a query that selects by what there is not.
func (s *Server) filtered(
	serve func(http.ResponseWriter, *http.Request, filter),
) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		f, err := readFilter(r.URL.Query())
		if err != nil {
			s.refuse(w, r, http.StatusBadRequest, "The address asks for something that there is not", sentence(err.Error()))
			return
		}
		serve(w, r, f)
	}
}

// States returns the values of State: severities, then states.
func (filter) States() []string {
	states := mapped(assess.States(), func(s assess.State) string { return string(s) })
	return slices.Concat(severities(), slices.DeleteFunc(states, func(s string) bool { return s == unknown }))
}

// Active reports whether the filter selects or sorts anything.
func (f filter) Active() bool { return f.State != "" || f.Pool != "" || f.Text != "" || f.Sort != "" }

func (f *filter) apply(all []*replica) []*replica {
	if !f.Active() {
		return all
	}
	return slices.DeleteFunc(all, func(r *replica) bool { return !r.matches(f) })
}

func (f *filter) sort(all []*replica) {
	if order := Largest(f.Sort); order != nil {
		slices.SortStableFunc(all, func(a, b *replica) int { return order(&a.Replica, &b.Replica) })
	}
}

func (f filter) link() string {
	values := url.Values{"state": {f.State}, "pool": {f.Pool}, "q": {f.Text}, "sort": {f.Sort}}
	if f.From > 0 {
		values.Set("from", strconv.Itoa(f.From))
	}
	maps.DeleteFunc(values, func(_ string, value []string) bool { return value[0] == "" })
	return "?" + values.Encode()
}

// SortLink returns the query for the same selection sorted by column.
func (f filter) SortLink(column string) string {
	f.Sort, f.From = column, 0
	return f.link()
}

func (f filter) pageLink(from int) string {
	f.From = from
	return f.link()
}
