package web

import (
	"math"
	"net/http"
	"time"
)

// Fleet is what / says, for programs: /?format=json. What is not known is nil
// and left out of the JSON, never 0.
type Fleet struct {
	// At is when the answer was made.
	At      time.Time `json:"at"`
	Version string    `json:"version"`
	Verdict Verdict   `json:"verdict"`
	// Searches are sentences about pools that have no targets, or wait for them.
	Searches []string `json:"discovery,omitempty"`
	// Pools and Replicas come the worst first.
	Pools    []Pool    `json:"pools"`
	Replicas []Replica `json:"replicas"`
}

// Verdict is what is said of the whole fleet.
type Verdict struct {
	// Severity is that of the worst replica: broken, look, unknown or ok.
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	// Age says how old the data is, Late that it is older than it should be.
	Age  string `json:"age,omitempty"`
	Late bool   `json:"late,omitempty"`
}

// Pool sums the replicas of a pool up.
type Pool struct {
	PoolID   string `json:"pool_id"`
	Severity string `json:"severity"`
	// Tally says how many serve, and of all that are not fine why. Serving are those
	// that answer requests, of which some need a look.
	Tally    string `json:"tally"`
	Replicas int    `json:"replicas"`
	Serving  int    `json:"serving"`
	Broken   int    `json:"broken"`
	Look     int    `json:"look"`
	Unknown  int    `json:"unknown"`
	// Tokens are generated tokens a second, Waiting requests. A sum of which parts
	// are not known is Partly.
	Tokens  *float64 `json:"tokens_per_second,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	Partly  bool     `json:"partly,omitempty"`
}

// Replica is a row of the page.
type Replica struct {
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	Severity  string `json:"severity"`
	State     string `json:"state"`
	// Word is the state for people: one that is ready and yet has something wrong
	// is not called ready.
	Word   string `json:"word"`
	Reason string `json:"reason,omitempty"`
	// Since is when the verdict began.
	Since   time.Time `json:"since,omitzero"`
	Runbook string    `json:"runbook,omitempty"`
	Engine  string    `json:"engine,omitempty"`
	// Version is that of the server, TRTLLM that of TensorRT-LLM where it has one of
	// its own; Differs says that they are not those of most of the pool.
	Version string `json:"version,omitempty"`
	TRTLLM  string `json:"trtllm_version,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Numbers
}

// Numbers are those of the page, with its units: seconds and shares of one.
type Numbers struct {
	Tokens     *float64 `json:"tokens_per_second,omitempty"`
	Waiting    *float64 `json:"waiting,omitempty"`
	Running    *float64 `json:"running,omitempty"`
	Limit      *float64 `json:"running_limit,omitempty"`
	Cache      *float64 `json:"kv_cache_ratio,omitempty"`
	FirstToken *float64 `json:"first_token_seconds,omitempty"`
	Duration   *float64 `json:"request_seconds,omitempty"`
	Failed     *float64 `json:"failed_ratio,omitempty"`
}

// document is the pool as data.
func (p *poolView) document() Pool {
	return Pool{
		PoolID: p.Name, Severity: p.count.worst().String(), Tally: p.Tally(), Replicas: p.count.total(),
		Serving: p.count.serving(), Broken: p.count.by[broken], Look: p.count.by[look] + p.count.changing, Unknown: p.count.by[untried],
		Tokens: known64(p.Tokens.value), Waiting: known64(p.Waiting.value), Partly: p.Tokens.partly || p.Waiting.partly,
	}
}

// replicaDocument is the row as data.
func (s *Server) replicaDocument(r *replica, clean scrubber) Replica {
	d := Replica{
		PoolID: r.PoolID, ReplicaID: r.ReplicaID, Severity: r.condition.String(), State: r.status.State, Word: r.Word(),
		Reason: brief(sentence(clean.text(wrong(&r.status)))), Since: moment(s.since(r)), Runbook: s.runbook(r.status.Runbook),
		Engine: r.kind(), TRTLLM: r.Library(), Differs: r.Odd,
		Numbers: Numbers{Tokens: known64(r.Figures.Tokens), Waiting: known64(r.Figures.Waiting), Running: known64(r.Figures.Running), Limit: known64(r.Figures.Limit), Cache: known64(r.Figures.Cache), FirstToken: known64(r.Figures.FirstToken), Duration: known64(r.Figures.Duration), Failed: known64(r.Figures.Failed)},
	}
	if version := r.Server(); version != nothing {
		d.Version = version
	}
	return d
}

// known64 is nil for a number that is not known.
func known64(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// writeFleet answers with the fleet as far as the filter takes it.
func (s *Server) writeFleet(w http.ResponseWriter, f filter, now time.Time) {
	all, byPool := s.readFleet()
	v := s.newFleetView(f, all, now)
	all = f.take(all)
	doc := &Fleet{
		At: moment(now), Version: v.Version, Verdict: v.Verdict.Verdict, Searches: v.Searches,
		Pools: []Pool{}, Replicas: make([]Replica, len(all)),
	}
	for _, p := range poolViews(all, byPool) {
		doc.Pools = append(doc.Pools, p.document())
	}
	clean := newScrubber()
	for i, r := range all {
		doc.Replicas[i] = s.replicaDocument(r, clean)
	}
	writeJSON(w, doc)
}
