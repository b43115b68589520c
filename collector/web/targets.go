package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// targetState is one replica as /targets shows it. What is not known is left
// out of the JSON.
type targetState struct {
	PoolID    string        `json:"pool_id"`
	ReplicaID string        `json:"replica_id"`
	Health    target.Health `json:"health"`
	target.Verdict
	serverState
	MetricsURL string            `json:"metrics_url"`
	APIURL     string            `json:"api_url,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	scrapeState
	Differs []difference `json:"differs,omitempty"`
	knownState
}

// serverState is what its server is.
type serverState struct {
	Engine         string `json:"engine"`
	DetectedEngine string `json:"detected_engine,omitempty"`
	EngineEvidence string `json:"engine_evidence,omitempty"`
	EngineVersion  string `json:"engine_version,omitempty"`
	TRTLLMVersion  string `json:"trtllm_version,omitempty"`
	VersionSource  string `json:"trtllm_version_source,omitempty"`
}

// scrapeState is how it is scraped.
type scrapeState struct {
	Interval     float64   `json:"scrape_interval_seconds"`
	Timeout      float64   `json:"scrape_timeout_seconds"`
	LastScrape   time.Time `json:"last_scrape,omitzero"`
	LastSuccess  time.Time `json:"last_success,omitzero"`
	LastDuration *float64  `json:"last_scrape_duration_seconds,omitempty"`
	LastReason   string    `json:"last_failure_reason,omitempty"`
	LastError    string    `json:"last_error,omitempty"`
	Samples      int       `json:"samples"`
	BodyBytes    int64     `json:"body_bytes"`
	Scrapes      uint64    `json:"scrapes"`
	Failures     uint64    `json:"scrape_failures"`
	LeftOut      []string  `json:"left_out,omitempty"`
}

// poolState is one pool with its replicas.
type poolState struct {
	PoolID  string
	Targets []targetState
	counts
}

// counts sums replicas up.
type counts struct {
	Total   int `json:"total"`
	Up      int `json:"up"`
	Down    int `json:"down"`
	Unknown int `json:"unknown"`
}

func (c *counts) add(h target.Health) {
	c.Total++
	switch h {
	case target.HealthUp:
		c.Up++
	case target.HealthDown:
		c.Down++
	default:
		c.Unknown++
	}
}

// targetsDocument is the JSON of /targets.
type targetsDocument struct {
	Summary  counts          `json:"summary"`
	Searches []target.Search `json:"discovery,omitempty"`
	Targets  []targetState   `json:"targets"`
}

// serveTargets shows every replica as HTML, or as JSON to who asks for it by
// ?format=json or by the Accept header; with ?dropped also what relabeling dropped.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	doc := readTargets(s.opts.Store.Slots())
	for i := range doc.Targets {
		doc.Targets[i].Differs = s.pages.differences.ofTarget(doc.Targets[i].Key())
	}
	doc.Searches = s.searches(r.URL.Query().Has("dropped"))
	if wantsJSON(r) {
		writeJSON(w, doc)
		return
	}
	now := time.Now()
	s.render(w, "targets.html", &pageView{
		frame:   s.frame("Targets - trtllm_exporter", now),
		Verdict: judgeFleet(s.judged(), now), Summary: doc.Summary, Pools: byPool(doc.Targets), Searches: searchViews(doc.Searches),
	})
}

// wantsJSON reads what the client asks for; browsers get HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// readTargets copies the state of all replicas, in the order of their keys.
func readTargets(slots []*snapshot.Slot) targetsDocument {
	doc := targetsDocument{Targets: make([]targetState, 0, len(slots))}
	clean := newScrubber()
	for _, slot := range slots {
		t := readTarget(slot.Target(), slot.Status(), clean)
		doc.Summary.add(t.Health)
		doc.Targets = append(doc.Targets, t)
	}
	return doc
}

// readTarget copies the state of one replica without secrets.
func readTarget(t *target.Target, status target.Status, clean scrubber) targetState {
	state := targetState{
		PoolID: t.PoolID, ReplicaID: t.ReplicaID, Health: status.Health,
		Verdict:     status.Verdict,
		serverState: serverState{Engine: t.Engine, DetectedEngine: status.DetectedEngine, EngineEvidence: status.EngineEvidence, EngineVersion: status.EngineVersion, TRTLLMVersion: status.TRTLLMVersion, VersionSource: status.VersionSource},
		MetricsURL:  address(t.MetricsURL), Labels: t.Labels,
		scrapeState: scrapeState{Interval: t.Interval.Seconds(), Timeout: t.Timeout.Seconds(), LastScrape: moment(status.LastScrape), LastSuccess: moment(status.LastSuccess), LastReason: status.LastReason, LastError: clean.text(status.LastError), Samples: status.Samples, BodyBytes: status.BodyBytes, Scrapes: status.Scrapes, Failures: status.Failures},
	}
	state.StateReason, state.StateSince = clean.text(status.StateReason), moment(status.StateSince)
	for _, what := range status.LeftOut {
		state.LeftOut = append(state.LeftOut, clean.text(what))
	}
	state.knownState = readKnown(t, &status, clean)
	if state.Health == "" {
		state.Health = target.HealthUnknown
	}
	if t.APIURL != "" {
		state.APIURL = address(t.APIURL)
	}
	if !status.LastScrape.IsZero() {
		state.LastDuration = new(status.LastDuration.Seconds())
	}
	return state
}

// moment is a time as JSON has it.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// byPool groups replicas, which come in the order of their keys: those of a pool may
// have others between them where the name of a pool has a slash.
func byPool(targets []targetState) []poolState {
	var pools []poolState
	places := map[string]int{}
	for _, t := range targets {
		at, begun := places[t.PoolID]
		if !begun {
			at = len(pools)
			places[t.PoolID], pools = at, append(pools, poolState{PoolID: t.PoolID})
		}
		pool := &pools[at]
		pool.Targets = append(pool.Targets, t)
		pool.add(t.Health)
	}
	return pools
}
