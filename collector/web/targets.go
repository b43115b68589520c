package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TargetState is the JSON of a target on /targets, without secrets. Unknown values are left out.
type TargetState struct {
	*target.Target
	target.Status

	// PageURL is where the page was scraped last.
	PageURL      string       `json:"page_url,omitempty"`
	Interval     float64      `json:"scrape_interval_seconds"`
	Timeout      float64      `json:"scrape_timeout_seconds"`
	LastDuration *float64     `json:"last_scrape_duration_seconds,omitempty"`
	Differs      []difference `json:"differs,omitempty"`
}

// NewTargetState copies the state of a target.
func NewTargetState(slot *snapshot.Slot) TargetState {
	t, status := *slot.Target(), scrubbed(slot.Status())
	t.MetricsURL, t.APIURL = address(t.MetricsURL), address(t.APIURL)
	state := TargetState{Target: &t, Status: status, PageURL: address(status.PageURL), Interval: t.Interval.Seconds(), Timeout: t.Timeout.Seconds()}
	if !status.LastScrape.IsZero() {
		state.LastDuration = new(status.LastDuration.Seconds())
	}
	return state
}

// MarshalJSON adds each list of checks that is not empty under its name.
func (t TargetState) MarshalJSON() ([]byte, error) {
	type plain TargetState
	text, err := json.Marshal(plain(t))
	for _, list := range t.Checks {
		if err == nil && len(list.Checks) > 0 {
			var checks []byte
			checks, err = json.Marshal(list.Checks)
			text = fmt.Appendf(text[:len(text)-1], ",%q:%s}", list.Name, checks)
		}
	}
	return text, err
}

// targetsDocument is the JSON of /targets. Summary counts targets by the health of the last
// scrape.
type targetsDocument struct {
	Summary  map[string]int         `json:"summary"`
	Searches []target.PoolDiscovery `json:"discovery,omitempty"`
	Targets  []TargetState          `json:"targets"`
}

// serveTargets shows the scrapes of every replica, as HTML or JSON; with ?dropped also the
// targets that relabeling dropped.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request, f filter) {
	searches := s.searches(r.URL.Query().Has("dropped"))
	if !wantsJSON(r) {
		v := s.fleetView(f, time.Now())
		v.Scrapes, v.Sources, v.Title = true, searches, "Targets – trtllm_exporter"
		v.layOut(s.history)
		s.render(w, http.StatusOK, "targets.html", v)
		return
	}
	doc := targetsDocument{Summary: map[string]int{"up": 0, "down": 0, "unknown": 0, "total": 0}, Searches: searches, Targets: []TargetState{}}
	for _, slot := range s.opts.Store.Slots() {
		r := s.readReplica(slot)
		doc.Summary["total"]++
		doc.Summary[string(r.Status.Health)]++
		if r.matches(&f) {
			state := NewTargetState(slot)
			state.Differs = s.pages.differencesOf(r.Key())
			doc.Targets = append(doc.Targets, state)
		}
	}
	writeJSON(w, doc)
}

// wantsJSON reports whether the client asks for JSON; browsers get HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// milliseconds rounds a time as JSON has it.
func milliseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func noTargets(s *target.PoolDiscovery) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches returns what discovery found for each pool, without secrets; with what relabeling
// dropped only if asked for.
func (s *Server) searches(dropped bool) []target.PoolDiscovery {
	all := s.opts.Searches()
	for i := range all {
		search := &all[i]
		if search.Error = target.Scrub(search.Error); !dropped {
			search.Drops = nil
		}
		for j := range search.Sources {
			search.Sources[j].LastError = target.Scrub(search.Sources[j].LastError)
		}
	}
	return all
}

func (s *Server) describeSearches(text func(*target.PoolDiscovery) string) []string {
	texts := mapped(s.searches(true), func(search target.PoolDiscovery) string { return text(&search) })
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

func (s *Server) searchProblems() []string {
	texts := s.describeSearches(func(search *target.PoolDiscovery) string { return shortened(noTargets(search)) })
	return texts[:min(len(texts), maxProblems)]
}
