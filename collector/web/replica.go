package web

import (
	"cmp"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// replica is one replica at one moment, as the pages of the fleet show it.
type replica struct {
	*target.Target

	status    target.Status
	condition condition
	Figures   history.Figures
	// Odd says that the versions are not those of most of the pool.
	Odd bool
	// mixed says that its pool has other kinds of servers too.
	mixed bool
	// Tokens and Waiting are drawn for the rows that are shown only.
	Tokens, Waiting *spark
}

// judged is a replica with what the verdict on it says.
func judged(slot *snapshot.Slot) *replica {
	r := &replica{Target: slot.Target(), status: slot.Status()}
	r.condition = conditionOf(&r.status.Verdict)
	return r
}

// counts says whether it is one of those that serve or do not: of what has no state
// of its own neither is said.
func (r *replica) counts() bool { return r.status.State != string(assess.Silent) }

// serves reports whether it answers requests: it is ready, or its API is and its page
// cannot be read, and no request of the canary says otherwise.
func (r *replica) serves() bool {
	state := assess.State(r.status.State)
	return r.condition != broken && (state == assess.Ready || state == assess.Blind)
}

// readReplica copies what is known of a replica.
func (s *Server) readReplica(slot *snapshot.Slot) *replica {
	r := judged(slot)
	r.Figures = s.history.Figures(slot)
	return r
}

// Tone and Word say what the replica is doing, in colour and in words.
func (r *replica) Tone() string { return r.condition.Tone() }

// Word is the state for people.
func (r *replica) Word() string { return stateWord(&r.status.Verdict, r.condition) }

// Page is the address of the replica's own page.
func (r *replica) Page() string { return "replica?target=" + url.QueryEscape(r.Key()) }

// Running is the requests that run, of those that may.
func (r *replica) Running() gauge {
	f := &r.Figures
	text := count(f.Running)
	if !math.IsNaN(f.Running) && !math.IsNaN(f.Limit) {
		return share(f.Running/max(f.Limit, 1), text+" / "+grouped(f.Limit))
	}
	return gauge{Text: text}
}

// Cache is the use of the KV cache.
func (r *replica) Cache() gauge { return share(r.Figures.Cache, percent(r.Figures.Cache)) }

// Fails says whether the share of requests that the server failed is worth a colour.
func (r *replica) Fails() bool { return r.Figures.Failed >= 0.01 }

// Server is the version of the server, of TensorRT-LLM where only that is known.
func (r *replica) Server() string {
	return cmp.Or(known(r.status.EngineVersion), known(r.status.TRTLLMVersion), nothing)
}

// Library is the version of TensorRT-LLM where the server has one of its own.
func (r *replica) Library() string {
	if v := known(r.status.TRTLLMVersion); v != r.Server() {
		return v
	}
	return ""
}

// NamedKind is the name of the kind of server in a pool of several kinds, where a version alone
// does not say what it is a version of.
func (r *replica) NamedKind() string {
	if !r.mixed {
		return ""
	}
	return r.kind()
}

// release is equal for replicas of equal versions; empty where none is known.
func (r *replica) release() string {
	return strings.TrimSpace(strings.TrimPrefix(r.Server(), nothing) + " " + r.Library())
}

// known is a version or a kind, empty when it is not known.
func known(word string) string {
	if word == unknown {
		return ""
	}
	return word
}

// matches says whether a filter takes the replica, by what is shown of it.
func (r *replica) matches(f *filter, clean scrubber) bool {
	if f.Pool != "" && r.PoolID != f.Pool {
		return false
	}
	if f.State != "" && f.State != r.condition.String() && f.State != r.status.State {
		return false
	}
	if f.Text == "" {
		return true
	}
	word := strings.ToLower(f.Text)
	for _, text := range []string{r.PoolID, r.ReplicaID, r.Word(), r.release(), clean.text(r.status.StateReason), r.status.DetectedEngine, address(r.MetricsURL)} {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	for name, value := range r.Labels {
		if strings.Contains(strings.ToLower(name+"="+value), word) {
			return true
		}
	}
	return false
}

// compareReplicas orders the worst first, and by name what is as bad.
func compareReplicas(a, b *replica) int {
	return cmp.Or(cmp.Compare(a.condition, b.condition), cmp.Compare(stateRank(a.status.State), stateRank(b.status.State)),
		CompareNames(a.PoolID, b.PoolID), CompareNames(a.ReplicaID, b.ReplicaID))
}

// markMixed marks the replicas of a pool that has several kinds of servers.
func markMixed(pool []*replica) {
	kinds := map[string]bool{}
	for _, r := range pool {
		if kind := r.kind(); kind != "" {
			kinds[kind] = true
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
	count, versions, kinds := map[[2]string]int{}, map[string]int{}, map[string]int{}
	for _, r := range pool {
		if v := r.release(); v != "" {
			key := [2]string{r.kind(), v}
			if count[key] == 0 {
				kinds[r.kind()]++
			}
			count[key]++
			versions[r.kind()]++
		}
	}
	for _, r := range pool {
		n := count[[2]string{r.kind(), r.release()}]
		r.Odd = n > 0 && kinds[r.kind()] > 1 && 2*n <= versions[r.kind()]
	}
}

// kind is that of the server, as far as it is known.
func (r *replica) kind() string {
	if !r.Auto() {
		return r.Engine
	}
	return known(r.status.DetectedEngine)
}

// late says that the replica should have been asked again by now.
func (r *replica) late(now time.Time) bool {
	last := r.status.LastScrape
	return !r.Silent && !last.IsZero() && now.Sub(last) > 3*r.Interval+r.Timeout
}
