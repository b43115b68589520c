package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// targetState is one replica as the JSON of /targets has it. What is not known is left
// out.
type targetState struct {
	*target.Target
	target.Status

	Interval     float64      `json:"scrape_interval_seconds"`
	Timeout      float64      `json:"scrape_timeout_seconds"`
	LastDuration *float64     `json:"last_scrape_duration_seconds,omitempty"`
	Differs      []difference `json:"differs,omitempty"`
}

// MarshalJSON puts each list of checks that is not empty under its name.
func (t targetState) MarshalJSON() ([]byte, error) {
	type plain targetState
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

// targetsDocument is the JSON of /targets; its summary counts how the last scrapes went.
type targetsDocument struct {
	Summary  map[string]int          `json:"summary"`
	Searches []*target.PoolDiscovery `json:"discovery,omitempty"`
	Targets  []targetState           `json:"targets"`
}

// serveTargets shows how the scrapes of every replica go, as HTML, or as JSON to who asks
// for it by ?format=json or by the Accept header; with ?dropped also what relabeling dropped.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request, f filter) {
	searches := s.searches(r.URL.Query().Has("dropped"))
	if !wantsJSON(r) {
		v := s.fleetView(f, time.Now())
		v.Scrapes, v.Sources, v.Title = true, searches, "Targets – trtllm_exporter"
		s.render(w, http.StatusOK, "targets.html", v)
		return
	}
	doc := targetsDocument{Summary: map[string]int{"up": 0, "down": 0, "unknown": 0, "total": 0}, Searches: searches, Targets: []targetState{}}
	for _, slot := range s.opts.Store.Slots() {
		r := s.readReplica(slot)
		doc.Summary["total"]++
		doc.Summary[string(r.Status.Health)]++
		if r.matches(&f) {
			doc.Targets = append(doc.Targets, r.state(s.pages.differences.ofTarget(r.Key())))
		}
	}
	writeJSON(w, doc)
}

// wantsJSON reads what the client asks for; browsers get HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// state is the replica as the JSON of /targets has it.
func (r *replica) state(differs []difference) targetState {
	t := *r.Target
	t.MetricsURL = address(t.MetricsURL)
	if t.APIURL != "" {
		t.APIURL = address(t.APIURL)
	}
	state := targetState{Target: &t, Status: r.Status, Interval: t.Interval.Seconds(), Timeout: t.Timeout.Seconds(), Differs: differs}
	if !r.Status.LastScrape.IsZero() {
		state.LastDuration = new(r.Status.LastDuration.Seconds())
	}
	return state
}

// moment is a time as JSON has it.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
