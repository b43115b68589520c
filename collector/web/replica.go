package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// Replica is a row of the page of the fleet, for programs too.
type Replica struct {
	PoolID    string `json:"pool_id"`
	ReplicaID string `json:"replica_id"`
	Severity  string `json:"severity"`
	State     string `json:"state"`
	// Word is the state for people: one that is ready and yet has something wrong
	// is not called ready.
	Word   string `json:"word"`
	Reason string `json:"reason,omitempty"`
	// Since is when the verdict began, For how long ago that is, for people.
	Since   time.Time `json:"since,omitzero"`
	For     string    `json:"for,omitempty"`
	Runbook string    `json:"runbook,omitempty"`
	Engine  string    `json:"engine,omitempty"`
	// Version is that of the server, TRTLLM that of TensorRT-LLM where it has one of
	// its own; Differs says that they are not those of most of the pool.
	Version string `json:"version,omitempty"`
	TRTLLM  string `json:"trtllm_version,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	history.Figures
}

// replica is one replica at one moment.
type replica struct {
	Replica

	Target *target.Target
	// Status is without secrets.
	Status target.Status
	// mixed says that its pool has other kinds of servers too, name sorts by pool and replica.
	mixed bool
	name  string
	// TokensDrawn and WaitingDrawn are there for the rows that are shown only.
	TokensDrawn, WaitingDrawn *spark
}

// readReplica copies what is known of a replica, without its numbers.
func (s *Server) readReplica(slot *snapshot.Slot) *replica {
	r := &replica{Target: slot.Target(), Status: scrubbed(slot.Status())}
	r.Replica = Replica{
		PoolID: r.Target.PoolID, ReplicaID: r.Target.ReplicaID,
		Severity: severityOf(&r.Status.Verdict), State: r.Status.State, Word: wordOf(&r.Status.Verdict),
		Reason: brief(sentence(wrong(&r.Status))), Since: s.since(r), Runbook: s.runbook(r.Status.Runbook),
		Engine: known(r.Status.DetectedEngine), Version: cmp.Or(known(r.Status.EngineVersion), known(r.Status.TRTLLMVersion)),
	}
	r.name = natural(r.PoolID) + "\x00" + natural(r.ReplicaID) + "\x00" + r.Key()
	if !r.Target.Auto() {
		r.Engine = r.Target.Engine
	}
	if library := known(r.Status.TRTLLMVersion); library != r.Version {
		r.TRTLLM = library
	}
	return r
}

// since is when the verdict on a replica began, zero when that is not known. A
// status dates its state only, which something wrong with a replica that is ready
// does not change.
func (s *Server) since(r *replica) time.Time {
	if r.Status.State != stateReady {
		return r.Status.StateSince
	}
	return moment(s.history.Since(r.Key(), r.Status.State, r.Status.Severity))
}

// Key names the replica in a query.
func (r *replica) Key() string { return r.Target.Key() }

// Serves reports whether it answers requests: it is ready, or its API is and its page
// cannot be read, and no request of the canary says otherwise.
func (r *replica) Serves() bool {
	state := assess.State(r.State)
	return r.Severity != broken && (state == assess.Ready || state == assess.Blind)
}

// Page is the address of the replica's own page.
func (r *replica) Page() string { return "replica?target=" + url.QueryEscape(r.Key()) }

// Full reports whether the replica has as many requests as it may.
func (r *Replica) Full() bool { return r.Saturated != nil && *r.Saturated > 0 }

// Held are the requests that take one of the places there are: those that run, and of a
// replica that is full those that wait in one.
func (r *Replica) Held() *float64 {
	if r.Full() && r.Running != nil && r.Waiting != nil && r.Limit != nil {
		return new(max(*r.Running, min(*r.Running+*r.Waiting, *r.Limit)))
	}
	return r.Running
}

// Fails reports whether the share of requests that the server failed is worth a colour.
func (r *replica) Fails() bool { return r.Failed != nil && *r.Failed >= 0.01 }

// NamedKind is the name of the kind of server in a pool of several kinds, where a version alone
// does not say what it is a version of.
func (r *replica) NamedKind() string {
	if !r.mixed {
		return ""
	}
	return r.Engine
}

// release is equal for replicas of equal versions; empty where none is known.
func (r *replica) release() string { return strings.TrimSpace(r.Version + " " + r.TRTLLM) }

// known is a version or a kind, empty when it is not known.
func known(word string) string {
	if word == unknown {
		return ""
	}
	return word
}

// matches reports whether a filter takes the replica, by what is shown of it.
func (r *replica) matches(f *filter) bool {
	if f.Pool != "" && r.PoolID != f.Pool || f.State != "" && f.State != r.Severity && f.State != r.State {
		return false
	}
	if f.Text == "" {
		return true
	}
	texts := []string{r.PoolID + "/" + r.ReplicaID, r.Word, r.release(), r.Status.StateReason, address(r.Target.MetricsURL)}
	for _, l := range origins(r) {
		texts = append(texts, l.Name+"="+l.Value)
	}
	word := strings.ToLower(f.Text)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) })
}

// compareReplicas orders the worst first, and by name what is as bad.
func compareReplicas(a, b *replica) int {
	return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(stateRank(a.State), stateRank(b.State)),
		strings.Compare(a.name, b.name))
}

// markMixed marks the replicas of a pool that has several kinds of servers.
func markMixed(pool []*replica) {
	kinds := map[string]bool{}
	for _, r := range pool {
		if r.Engine != "" {
			kinds[r.Engine] = true
		}
	}
	for _, r := range pool {
		r.mixed = len(kinds) > 1
	}
}

// markOdd marks the replicas of a pool whose versions are not those of most of it
// that are the same kind of server; where no version has a majority, all that are
// known.
func markOdd(pool []*replica) {
	byKind := map[string]map[string]int{}
	for _, r := range pool {
		if v := r.release(); v != "" {
			if byKind[r.Engine] == nil {
				byKind[r.Engine] = map[string]int{}
			}
			byKind[r.Engine][v]++
		}
	}
	for _, r := range pool {
		all := 0
		for _, n := range byKind[r.Engine] {
			all += n
		}
		n := byKind[r.Engine][r.release()]
		r.Differs = n > 0 && len(byKind[r.Engine]) > 1 && 2*n <= all
	}
}

// MetricsURL is where its page is looked for, without secrets.
func (r *replica) MetricsURL() string { return address(r.Target.MetricsURL) }

// Took is the duration of the last scrape.
func (r *replica) Took() string { return Seconds(new(r.Status.LastDuration.Seconds())) }

// Samples is the number of samples of the last page; empty where it could not be read.
func (r *replica) Samples() string {
	if r.Status.Health != target.HealthUp {
		return ""
	}
	return grouped(float64(r.Status.Samples))
}

// late reports whether the replica should have been asked again by now.
func (r *replica) late(now time.Time) bool {
	last := r.Status.LastScrape
	return !r.Target.Silent && !last.IsZero() && now.Sub(last) > 3*r.Target.Interval+r.Target.Timeout
}
