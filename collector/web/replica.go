package web

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Replica is a row of the fleet page, and its JSON document.
type Replica struct {
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	Severity  string `json:"severity"`
	State     string `json:"state"`
	// Word is the state as it is shown: a replica with a problem is not called ready.
	Word   string `json:"word"`
	Reason string `json:"reason,omitempty"`
	// Since is when the verdict began, For the formatted time since then.
	Since   time.Time `json:"since,omitzero"`
	For     string    `json:"for,omitempty"`
	Runbook string    `json:"runbook,omitempty"`
	Engine  string    `json:"engine,omitempty"`
	// Version is the server's version, TRTLLM the version of TensorRT-LLM if that is another one.
	// Differs is true if most of the pool has other versions.
	Version string `json:"version,omitempty"`
	TRTLLM  string `json:"trtllm_version,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Figures
}

// replica is the state of one replica while a request is served.
type replica struct {
	Replica

	Target *target.Target
	// Status contains no secrets.
	Status target.Status
	// Kind is the kind of server in a pool that has several, else empty.
	Kind    string
	sortKey string
	// TokensSpark and WaitingSpark are set for rows that are shown.
	TokensSpark, WaitingSpark *spark
}

// readReplica copies the state of a replica, without its numbers.
func (s *Server) readReplica(slot *snapshot.Slot) *replica {
	r := &replica{Target: slot.Target(), Status: scrubbed(slot.Status())}
	r.Replica = Replica{
		PoolID:    r.Target.PoolID,
		ReplicaID: r.Target.ReplicaID,
		Severity:  severityOf(&r.Status.Assessment),
		State:     r.Status.State,
		Word:      wordFor(&r.Status.Assessment),
		Reason:    shortened(sentence(problemText(&r.Status))),
		Since:     s.since(r),
		Runbook:   s.runbook(r.Status.Runbook),
		Engine:    ifKnown(r.Status.DetectedEngine),
		Version:   cmp.Or(ifKnown(r.Status.EngineVersion), ifKnown(r.Status.TRTLLMVersion)),
	}
	r.sortKey = natural(r.PoolID) + "\x00" + natural(r.ReplicaID) + "\x00" + r.Key()
	if !r.Target.Auto() {
		r.Engine = r.Target.Engine
	}
	if library := ifKnown(r.Status.TRTLLMVersion); library != r.Version {
		r.TRTLLM = library
	}
	return r
}

// since returns when the verdict began, zero if unknown. Status.StateSince does not change when a
// ready replica gets a problem.
func (s *Server) since(r *replica) time.Time {
	if r.Status.State != stateReady {
		return r.Status.StateSince
	}
	return milliseconds(s.history.since(r.Key(), r.Status.State, r.Status.Severity))
}

// Key returns the name of the replica in a query.
func (r *replica) Key() string { return r.Target.Key() }

// Serves reports whether the replica answers requests as far as is known.
func (r *replica) Serves() bool { return assess.Serves(assess.State(r.State), r.Status.ProbeReady) }

func (r *replica) Page() string { return "replica?target=" + url.QueryEscape(r.Key()) }

// Full reports whether the replica has as many requests as it can take.
func (r *Replica) Full() bool { return r.Saturated != nil && *r.Saturated > 0 }

// inside returns how many of the waiting requests the limit of running ones has room for: those a
// server has accepted, and does not run yet.
func (r *Replica) inside() float64 {
	if r.Running == nil || r.Waiting == nil || r.Limit == nil {
		return 0
	}
	return max(0, min(*r.Waiting, *r.Limit-*r.Running))
}

// Occupied returns the number of request slots that running and waiting requests occupy.
func (r *Replica) Occupied() *float64 {
	if inside := r.inside(); inside > 0 {
		return new(*r.Running + inside)
	}
	return r.Running
}

// RunningText formats running requests and their limit. Waiting ones are shown beside them as long
// as some would fit, so that their slots do not look free; a full replica has none.
func (r *Replica) RunningText() string {
	text := Count(r.Running)
	switch {
	case r.Limit == nil:
		return text
	case r.inside() > 0 && r.Full() && *r.Occupied() >= *r.Limit:
		text = Count(r.Occupied())
	case r.inside() > 0:
		text += " + " + Count(r.Waiting)
	}
	return text + " / " + Count(r.Limit)
}

// Bar is drawn in a box of 100 by 8: what runs, and next to it what waits for a slot.
type Bar struct{ Running, Waiting float64 }

// Load returns the bar of running and waiting requests, nil if there is no limit to compare with.
func (r *Replica) Load() *Bar {
	if r.Running == nil || r.Limit == nil || *r.Limit <= 0 {
		return nil
	}
	share := func(v float64) float64 { return math.Round(1000*min(v / *r.Limit, 1)) / 10 }
	return &Bar{Running: share(*r.Running), Waiting: share(r.inside())}
}

// Fails reports whether the page highlights the ratio of failed requests.
func (r *replica) Fails() bool { return r.Failed != nil && *r.Failed >= 0.01 }

func (r *replica) release() string { return strings.TrimSpace(r.Version + " " + r.TRTLLM) }

func ifKnown(value string) string {
	if value == unknown {
		return ""
	}
	return value
}

// matches reports whether a filter selects the replica by what is shown about it.
func (r *replica) matches(f *filter) bool {
	if f.Pool != "" && r.PoolID != f.Pool || f.State != "" && f.State != r.Severity && f.State != r.State {
		return false
	}
	if f.Text == "" {
		return true
	}
	texts := []string{r.PoolID + "/" + r.ReplicaID, r.Word, r.release(), r.Status.StateReason, r.MetricsURL()}
	for _, l := range origins(r) {
		texts = append(texts, l.Name+"="+l.Value)
	}
	word := strings.ToLower(f.Text)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) })
}

// compareWithPool sets the fields that depend on the other replicas of the pool: whether it has
// several kinds of servers, and whether most replicas of the same kind have other versions.
// Without a majority, every replica with a known version differs.
func compareWithPool(pool []*replica) {
	type server struct{ engine, release string }
	count, engines, total := map[server]int{}, map[string]bool{}, map[string]int{}
	for _, r := range pool {
		if r.Engine != "" {
			engines[r.Engine] = true
		}
		if r.release() != "" {
			count[server{r.Engine, r.release()}]++
			total[r.Engine]++
		}
	}
	for _, r := range pool {
		n := count[server{r.Engine, r.release()}]
		if r.Differs = n > 0 && 2*n <= total[r.Engine]; len(engines) > 1 {
			r.Kind = r.Engine
		}
	}
}

func (r *replica) MetricsURL() string { return target.Public(r.Target.MetricsURL) }

func (r *replica) ScrapeTime() string { return Seconds(new(r.Status.LastDuration.Seconds())) }

// Samples returns the number of samples on the last page, empty if it could not be read.
func (r *replica) Samples() string {
	if r.Status.Health != target.HealthUp {
		return ""
	}
	return grouped(float64(r.Status.Samples))
}

func (r *replica) overdue(now time.Time) bool {
	last := r.Status.LastScrape
	return !r.Target.Silent && !last.IsZero() && now.Sub(last) > 3*r.Target.Interval+r.Target.Timeout
}

// Column is a number by which replicas can be sorted.
type Column struct {
	// Name is used in URLs and flags, Head is the title.
	Name, Head string
	value      func(r *Replica) *float64
}

// Columns returns all columns in the order in which they are shown.
func Columns() []Column {
	return []Column{
		{"tokens", "Tokens/s", func(r *Replica) *float64 { return r.Tokens }},
		{"waiting", "Waiting", func(r *Replica) *float64 { return r.Waiting }},
		{"running", "Running", (*Replica).Occupied},
		{"kv", "KV cache", func(r *Replica) *float64 { return r.Cache }},
		{"first-token", "First token", func(r *Replica) *float64 { return r.FirstToken }},
		{"request", "Request", func(r *Replica) *float64 { return r.Duration }},
		{"failed", "Failed", func(r *Replica) *float64 { return r.Failed }},
	}
}

// Largest returns a comparison by the named column, the largest number first and unknown ones
// last. It returns nil if there is no such column.
func Largest(name string) func(a, b *Replica) int {
	all := Columns()
	i := slices.IndexFunc(all, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	lowest := math.Inf(-1)
	return func(a, b *Replica) int {
		return cmp.Compare(*cmp.Or(all[i].value(b), &lowest), *cmp.Or(all[i].value(a), &lowest))
	}
}

// scrubbed returns a status without secrets, which URLs in errors may contain.
func scrubbed(s target.Status) target.Status {
	s.Health = cmp.Or(s.Health, target.HealthUnknown)
	s.StateReason, s.LastError = target.Scrub(s.StateReason), target.Scrub(s.LastError)
	for _, t := range []*time.Time{&s.LastScrape, &s.LastSuccess, &s.StateSince} {
		*t = milliseconds(*t)
	}
	s.LeftOut = mapped(s.LeftOut, target.Scrub)
	s.Checks = mapped(s.Checks, func(l target.CheckList) target.CheckList {
		l.Checks = mapped(l.Checks, func(c target.Check) target.Check {
			c.Reason = target.Scrub(c.Reason)
			return c
		})
		return l
	})
	if s.Canary != nil {
		c := *s.Canary
		c.Reason, c.CancelReason, c.At = target.Scrub(c.Reason), target.Scrub(c.CancelReason), milliseconds(c.At)
		s.Canary = &c
	}
	return s
}

// mapped returns the results of f for each element.
func mapped[E, F any](list []E, f func(E) F) []F {
	out := make([]F, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}
