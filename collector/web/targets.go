package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TargetState is a target in the JSON document of /targets, without secrets. Unknown values are
// omitted.
type TargetState struct {
	*target.Target
	target.Status

	// PageURL is the URL of the last scrape.
	PageURL      string       `json:"page_url,omitempty"`
	Interval     float64      `json:"scrape_interval_seconds"`
	Timeout      float64      `json:"scrape_timeout_seconds"`
	LastDuration *float64     `json:"last_scrape_duration_seconds,omitempty"`
	Differs      []difference `json:"differs,omitempty"`
}

// NewTargetState copies the state of a target.
func NewTargetState(slot *snapshot.Slot) TargetState {
	t, status := *slot.Target(), scrubbed(slot.Status())
	t.MetricsURL, t.APIURL = target.Public(t.MetricsURL), target.Public(t.APIURL)
	state := TargetState{
		Target:   &t,
		Status:   status,
		PageURL:  target.Public(status.PageURL),
		Interval: t.Interval.Seconds(),
		Timeout:  t.Timeout.Seconds(),
	}
	if !status.LastScrape.IsZero() {
		state.LastDuration = new(status.LastDuration.Seconds())
	}
	return state
}

// MarshalJSON implements json.Marshaler. It adds each non-empty list of checks under its name.
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

// targetsDocument is the JSON document of /targets. Summary counts targets by the health of the
// last scrape.
type targetsDocument struct {
	Summary  map[string]int         `json:"summary"`
	Searches []target.PoolDiscovery `json:"discovery,omitempty"`
	Targets  []TargetState          `json:"targets"`
}

// serveTargets shows all targets; with ?dropped also the dropped targets.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request, f filter) {
	searches := s.searches(r.URL.Query().Has("dropped"))
	if !wantsJSON(r) {
		v := s.fleetView(f, time.Now())
		v.Scrapes, v.Sources, v.Title = true, searches, "Targets – trtllm_exporter"
		v.layOut(s.history)
		s.render(w, http.StatusOK, "targets.html", v)
		return
	}
	doc := targetsDocument{
		Summary:  map[string]int{"up": 0, "down": 0, "unknown": 0, "total": 0},
		Searches: searches,
		Targets:  []TargetState{},
	}
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

// wantsJSON reports whether the client prefers JSON. Browsers get HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// milliseconds truncates a time for JSON.
func milliseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func noTargets(s *target.PoolDiscovery) string { return sentence(cmp.Or(s.Waiting(), s.Problem())) }

// searches returns what discovery found for each pool, without secrets.
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

type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// serveDiscovery lists one target for each replica and one for the exporter itself, so that
// Prometheus can scrape each separately: up is then per replica, and no page is large. The
// identity is in __meta labels, because the series already have pool_id and replica_id.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	scheme, host, _ := strings.Cut(s.baseURL(r), "://")
	part := func(key, instance string) group {
		return group{
			[]string{host},
			map[string]string{
				"__scheme__":       scheme,
				"__metrics_path__": "/metrics",
				"__param_target":   key,
				"instance":         instance,
			},
		}
	}
	groups := []group{part(selfTarget, host)}
	for _, slot := range s.opts.Store.Slots() {
		t := slot.Target()
		g := part(t.Key(), t.Key())
		g.Labels["__meta_trtllm_exporter_pool_id"] = t.PoolID
		g.Labels["__meta_trtllm_exporter_replica_id"] = t.ReplicaID
		if engine := slot.Status().DetectedEngine; engine != "" {
			g.Labels["__meta_trtllm_exporter_engine"] = engine
		}
		groups = append(groups, g)
	}
	writeJSON(w, groups)
}

func (s *Server) baseURL(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + s.host(r)
	}
	return "http://" + s.host(r)
}

// host returns the address at which the request arrived. The Host header, which clients choose, is
// used only if it is a listen address or the name of our certificate that the client requested.
func (s *Server) host(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if r.TLS != nil && r.TLS.ServerName != "" && strings.EqualFold(name, r.TLS.ServerName) ||
		slices.Contains(s.opts.ListenAddresses, r.Host) {
		return r.Host
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return local.String()
	}
	return s.Addr()
}

// writeJSON writes v with its length, which the gate needs to limit slow clients.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, "The answer could not be encoded", http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}
