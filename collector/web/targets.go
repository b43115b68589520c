package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
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

// targetsDocument is the JSON of /targets.
type targetsDocument struct {
	Summary  counts           `json:"summary"`
	Searches []*target.Search `json:"discovery,omitempty"`
	Targets  []targetState    `json:"targets"`
}

// targetsView is /targets for people.
type targetsView struct {
	frame

	Verdict  Verdict
	Summary  counts
	Searches []*target.Search
	Pools    []targetsOfPool
}

// targetsOfPool is one pool with its replicas.
type targetsOfPool struct {
	PoolID  string
	Targets []*replica
	counts
}

// counts sums up how the last scrapes went.
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

// serveTargets shows every replica as HTML, or as JSON to who asks for it by
// ?format=json or by the Accept header; with ?dropped also what relabeling dropped.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	all, now := s.readReplicas(), time.Now()
	searches := s.searches(r.URL.Query().Has("dropped"))
	pools, summary := targetsByPool(all)
	if wantsJSON(r) {
		doc := targetsDocument{Summary: summary, Searches: searches, Targets: make([]targetState, len(all))}
		for i, r := range all {
			doc.Targets[i] = r.state(s.pages.differences.ofTarget(r.Key()))
		}
		writeJSON(w, doc)
		return
	}
	for _, r := range all {
		r.Differing = s.pages.differences.ofTarget(r.Key())
	}
	s.render(w, "targets.html", &targetsView{
		frame:   s.frame("Targets - trtllm_exporter", now),
		Verdict: judgeFleet(all, now), Summary: summary, Pools: pools, Searches: searches,
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

// targetsByPool groups replicas, which come in the order of their keys: those of a pool
// may have others between them where the name of a pool has a slash.
func targetsByPool(all []*replica) (pools []targetsOfPool, summary counts) {
	places := map[string]int{}
	for _, r := range all {
		at, begun := places[r.PoolID]
		if !begun {
			at = len(pools)
			places[r.PoolID], pools = at, append(pools, targetsOfPool{PoolID: r.PoolID})
		}
		pools[at].Targets = append(pools[at].Targets, r)
		pools[at].add(r.Status.Health)
		summary.add(r.Status.Health)
	}
	return pools, summary
}

// Took is the duration of the last scrape.
func (r *replica) Took() string {
	switch d := r.Status.LastDuration.Seconds(); {
	case r.Status.LastScrape.IsZero():
		return ""
	case d >= 1:
		return strconv.FormatFloat(d, 'f', 2, 64) + " s"
	default:
		return strconv.FormatFloat(d*1000, 'f', 1, 64) + " ms"
	}
}

// MetricsURL is where its page is looked for, without secrets.
func (r *replica) MetricsURL() string { return address(r.Target.MetricsURL) }

// Known is a version that is known, empty for one that is not.
func (*replica) Known(version string) string { return known(version) }

// VersionSource says in words where the TensorRT-LLM version comes from.
func (r *replica) VersionSource() string {
	return strings.ReplaceAll(known(r.Status.VersionSource), "_", " ")
}

// EngineSource reports whether the kind was configured or found out.
func (r *replica) EngineSource() string {
	detected := known(r.Status.DetectedEngine)
	switch {
	case r.Target.Auto() && detected != "":
		return "detected"
	case r.Target.Auto():
		return ""
	case detected != "" && detected != r.Engine:
		return "configured, looks like " + detected
	}
	return "configured"
}

// Samples is the number of samples of the last page; empty where it could not be read.
func (r *replica) Samples() string {
	if !r.IsUp() {
		return ""
	}
	return inGroups(strconv.Itoa(r.Status.Samples))
}

// IsUp reports whether the last scrape was good.
func (r *replica) IsUp() bool { return r.Status.Health == target.HealthUp }

// Note explains what is wrong with a replica, or why it does not serve, unless the
// error of its scrape does.
func (r *replica) Note() string {
	if r.Status.LastError != "" || r.State == stateReady && r.Severity == fine {
		return ""
	}
	return r.Status.StateReason
}

// NotMet are all checks that are not met, with their reasons.
func (r *replica) NotMet() []target.Check {
	var all []target.Check
	for _, list := range r.Status.Checks {
		for _, c := range list.Checks {
			if !c.OK {
				all = append(all, c)
			}
		}
	}
	return all
}

// Summary names the checks that are not met, by list.
func (r *replica) Summary() []string {
	var clauses []string
	for _, list := range assess.Lists() {
		names := target.NotMet(target.ListOf(r.Status.Checks, list.Name))
		if list.Clause != "" && len(names) > 0 {
			clauses = append(clauses, list.Clause+": "+strings.Join(names, ", "))
		}
	}
	return clauses
}
