package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// replicaView is the page of one replica.
type replicaView struct {
	frame
	*replica

	// State has what the JSON of /targets says of the replica, without secrets.
	State targetState
	// Reason, Since and Runbook are why it is in that state.
	Reason, Since, Runbook string
	evidence
	Refresh int
}

// serveReplica shows all that is known of the one replica that target names, as
// HTML or as JSON.
func (s *Server) serveReplica(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("target")
	slot := s.slot(key)
	if slot == nil {
		http.Error(w, fmt.Sprintf("No replica is named %q; / lists them", key), http.StatusNotFound)
		return
	}
	w.Header().Set("Vary", "Accept")
	v := s.replicaView(slot, time.Now())
	if wantsJSON(r) {
		writeJSON(w, s.detail(v))
		return
	}
	s.render(w, "replica.html", v)
}

// slot finds a replica by its key; nil when there is none.
func (s *Server) slot(key string) *snapshot.Slot {
	for _, slot := range s.opts.Store.Slots() {
		if slot.Target().Key() == key {
			return slot
		}
	}
	return nil
}

// replicaView is what is known of a replica at that moment.
func (s *Server) replicaView(slot *snapshot.Slot, now time.Time) *replicaView {
	clean := newScrubber()
	r := s.readReplica(slot)
	r.Odd = s.odd(r)
	recent := drawAll([]*replica{r}, s.history)[0]
	v := &replicaView{
		frame: s.frame(r.Key()+" – trtllm_exporter", now), replica: r,
		State:  readTarget(r.Target, r.status, clean),
		Reason: sentence(clean.text(r.status.StateReason)), Runbook: s.runbook(r.status.Runbook),
		Refresh: int(history.Every.Seconds()),
	}
	if since := s.since(r); !since.IsZero() {
		v.Since = age(now.Sub(since))
	}
	v.evidence = evidence{
		Labels: origins(r), Changes: changes(recent.Changes, clean, now), Failure: lastFailure(r, &recent, clean, v),
		Lists: notMet(v.State.Checks), Commands: commands(r),
	}
	return v
}

// odd says whether the versions of the replica are not those of most of its pool.
func (s *Server) odd(r *replica) bool {
	pool := []*replica{r}
	for _, other := range s.judged() {
		if other.PoolID == r.PoolID && other.ReplicaID != r.ReplicaID {
			pool = append(pool, other)
		}
	}
	markOdd(pool)
	return r.Odd
}

// changes are the history of states, the newest first.
func changes(past []history.Change, clean scrubber, now time.Time) []Change {
	all := make([]Change, 0, len(past))
	until := now
	for _, c := range slices.Backward(past) {
		v := target.Verdict{State: c.State, Severity: c.Severity}
		condition := conditionOf(&v)
		all = append(all, Change{
			At: stamp(c.At), Lasted: age(until.Sub(c.At)), Word: stateWord(&v, condition), Tone: condition.Tone(),
			Reason: sentence(clean.text(c.Reason)),
		})
		until = c.At
	}
	return all
}

// lastFailure is that of the status, or one that is over and was noted; nil when
// there was none.
func lastFailure(r *replica, recent *history.Recent, clean scrubber, v *replicaView) *Failure {
	if s := &r.status; s.LastError != "" {
		return &Failure{At: v.Ago(s.LastScrape), Reason: s.LastReason, Text: clean.text(s.LastError)}
	}
	if f := &recent.Failure; f.Text != "" {
		return &Failure{At: v.Ago(f.At), Reason: f.Reason, Text: clean.text(f.Text), Over: true}
	}
	return nil
}

// notMet are the lists with what is not met in them.
func notMet(lists []target.CheckList) []Checks {
	titles := map[string][3]string{
		assess.Expected:     {"Not as its pool expects", "other is as expected", "others are as expected"},
		assess.Capabilities: {"What the server does not expose", "other is exposed", "others are exposed"},
		assess.Determinism:  {"What may make equal requests answer differently", "other condition holds", "other conditions hold"},
		assess.Unanswered:   {"What the server did not answer", "", ""},
	}
	var all []Checks
	for _, list := range lists {
		title := titles[list.Name]
		c := Checks{Title: cmp.Or(title[0], list.Name)}
		met := 0
		for _, one := range list.Checks {
			if one.OK {
				met++
				continue
			}
			c.NotOK = append(c.NotOK, one)
		}
		if met > 0 {
			c.Others = plural(met, title[1], title[2])
		}
		if len(c.NotOK) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// stamp is a moment in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// PoolLink is the address of the pool.
func (v *replicaView) PoolLink() string { return filter{Pool: v.PoolID}.link() }

// Scraped says how the scrapes of the replica went.
func (v *replicaView) Scraped() string {
	t := &v.State
	if t.LastScrape.IsZero() {
		if v.Silent {
			return "never: it binds no port"
		}
		return "not yet"
	}
	said := []string{v.Ago(t.LastScrape), "took " + t.Took(), "every " + v.Interval.String()}
	if t.Failures > 0 {
		said = append(said, inGroups(strconv.FormatUint(t.Failures, 10))+" of "+inGroups(strconv.FormatUint(t.Scrapes, 10))+" failed")
	} else {
		said = append(said, plural(int(t.Scrapes), "scrape", "scrapes")+", none failed")
	}
	return strings.Join(said, ", ")
}
