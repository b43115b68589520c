package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// Detail is what /replica says, for programs too:
// /replica?target=POOL/REPLICA&format=json.
type Detail struct {
	Replica

	// Scraped says how the scrapes of the replica went, Page is where.
	Scraped string `json:"scraped"`
	Page    string `json:"page"`
	// Labels are those that the exporter adds to its series.
	Labels []Origin `json:"labels"`
	// Changes are its states, the newest first, as far as this exporter remembers.
	Changes []Change `json:"changes,omitempty"`
	// Failure is the last scrape that failed; nil when none did.
	Failure *Failure `json:"last_failure,omitempty"`
	// Lists are what the server does not expose, what is not as expected, and so on.
	Lists []Checks `json:"lists,omitempty"`
	// Steps are what the runbook says to look at first, with the names of the replica.
	Steps    []string  `json:"first_checks,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Origin is a label of a replica's series with where its value comes from.
type Origin struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Change is a line of the history of states.
type Change struct {
	At       string `json:"at"`
	Lasted   string `json:"lasted"`
	Word     string `json:"word"`
	Severity string `json:"-"`
	Reason   string `json:"reason,omitempty"`
}

// Failure is the last scrape that failed.
type Failure struct {
	At     string `json:"at"`
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text"`
	// Over says that scrapes have succeeded since.
	Over bool `json:"over"`
}

// Checks is a list of checks with those that are not met.
type Checks struct {
	// Title is what not being met means, Others how many are met.
	Title  string         `json:"title"`
	Others string         `json:"others,omitempty"`
	NotOK  []target.Check `json:"checks"`
}

// Command is one that repeats what the exporter does.
type Command struct {
	What string `json:"what"`
	Line string `json:"line"`
}

// replicaView is the page of one replica.
type replicaView struct {
	frame
	Detail

	Row *replica
	// Grafana is its address; empty where none was given.
	Grafana string
	Refresh int
}

// serveReplica shows all that is known of the one replica that target names, as
// HTML or as JSON.
func (s *Server) serveReplica(w http.ResponseWriter, r *http.Request) {
	key, now := r.URL.Query().Get("target"), time.Now()
	all, _ := s.readFleet(now) // What differs is known by the others of its pool.
	at := slices.IndexFunc(all, func(o *replica) bool { return o.Key() == key })
	w.Header().Set("Vary", "Accept")
	switch {
	case at < 0 && strings.Contains(r.Header.Get("Accept"), "text/html"):
		pool, _, _ := strings.Cut(key, "/")
		s.render(w, http.StatusNotFound, "gone.html", &struct {
			frame
			Key, Pool string
		}{s.frame("No such replica", now), key, pool})
		return
	case at < 0:
		http.Error(w, fmt.Sprintf("No replica is named %q; / lists them", key), http.StatusNotFound)
		return
	}
	v := s.replicaView(all[at], s.baseFor(r), now)
	if wantsJSON(r) {
		writeJSON(w, &v.Detail)
		return
	}
	s.render(w, http.StatusOK, "replica.html", v)
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

// replicaView is what is known of a replica at that moment, for who reaches this
// exporter at base.
func (s *Server) replicaView(r *replica, base string, now time.Time) *replicaView {
	r.Reason = sentence(r.Status.StateReason)
	recent := drawAll([]*replica{r}, s.history)[0]
	v := &replicaView{frame: s.frame(r.Key()+" – trtllm_exporter", now), Row: r, Grafana: s.opts.Grafana, Refresh: int(history.Every.Seconds())}
	v.Tone = r.Severity
	v.Detail = Detail{
		Replica: r.Replica, Scraped: v.scraped(), Page: address(r.Status.PageURL),
		Labels: origins(r), Changes: changes(recent.Changes, now), Failure: v.lastFailure(&recent),
		Lists: s.notMet(r), Steps: r.steps(base), Commands: s.commands(r),
	}
	return v
}

// changes are the history of states, the newest first.
func changes(past []history.Change, now time.Time) []Change {
	all := make([]Change, 0, len(past))
	until := now
	for _, c := range slices.Backward(past) {
		was := &target.Verdict{State: c.State, Severity: c.Severity, Runbook: c.Runbook}
		all = append(all, Change{
			At: stamp(c.At), Lasted: age(until.Sub(c.At)), Word: wordOf(was), Severity: severityOf(was),
			Reason: sentence(target.Scrub(c.Reason)),
		})
		until = c.At
	}
	return all
}

// lastFailure is that of the status, or one that is over and was noted; nil when
// there was none.
func (v *replicaView) lastFailure(recent *history.Recent) *Failure {
	if s := &v.Row.Status; s.LastError != "" {
		return &Failure{At: v.Ago(s.LastScrape), Reason: s.LastReason, Text: s.LastError}
	}
	if f := &recent.Failure; f.Text != "" {
		return &Failure{At: v.Ago(f.At), Reason: f.Reason, Text: target.Scrub(f.Text), Over: true}
	}
	return nil
}

// notMet are the lists with what is not met in them, what is left off the page, and how
// the replica's page differs from those of others.
func (s *Server) notMet(r *replica) []Checks {
	titles := map[string][3]string{
		assess.Expected:     {"Not as its pool expects", "other is as expected", "others are as expected"},
		assess.Capabilities: {"What the server does not expose", "other is exposed", "others are exposed"},
		assess.Determinism:  {"What may make equal requests answer differently", "other condition holds", "other conditions hold"},
		assess.Unanswered:   {"What the server did not answer", "", ""},
	}
	var all []Checks
	for _, list := range r.Status.Checks {
		title := titles[list.Name]
		c := Checks{Title: cmp.Or(title[0], list.Name)}
		for _, one := range list.Checks {
			if !one.OK {
				c.NotOK = append(c.NotOK, one)
			}
		}
		if met := len(list.Checks) - len(c.NotOK); met > 0 {
			c.Others = plural(met, title[1], title[2])
		}
		if len(c.NotOK) > 0 {
			all = append(all, c)
		}
	}
	if left := r.Status.LeftOut; len(left) > 0 {
		all = append(all, Checks{Title: "Left off /metrics", NotOK: mapped(left, func(text string) target.Check { return target.Failed("series", text, "") })})
	}
	if differs := s.pages.differences.ofTarget(r.Key()); len(differs) > 0 {
		all = append(all, Checks{
			Title: "Families that other targets describe otherwise",
			NotOK: mapped(differs, func(d difference) target.Check { return target.Failed(d.Family, d.In+": "+d.Says, "") }),
		})
	}
	return all
}

// steps are the first checks of the runbook, with the names of the replica in place of
// those that stand for them.
func (r *replica) steps(base string) []string {
	entry := alerts.EntryOf(r.Status.Runbook)
	if entry == nil {
		return nil
	}
	names := strings.NewReplacer(mapped([]string{
		"http://EXPORTER:9802", base, "POOL_ID", r.PoolID, "REPLICA_ID", r.ReplicaID,
		"REPLICA_PAGE", address(cmp.Or(r.Status.PageURL, r.Target.MetricsURL)), "REPLICA_API", address(cmp.Or(r.Status.APIURL, r.Target.APIURL, "REPLICA_API")),
	}, harmless)...)
	return mapped(entry.Checks, names.Replace)
}

// stamp is a moment in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// PoolLink is the address of the pool.
func (v *replicaView) PoolLink() string { return "./" + filter{Pool: v.PoolID}.link() }

// scraped says how the scrapes of the replica went.
func (v *replicaView) scraped() string {
	t, s := v.Row.Target, &v.Row.Status
	if s.LastScrape.IsZero() {
		if t.Silent {
			return "never: it binds no port"
		}
		return "not yet"
	}
	said := []string{v.Ago(s.LastScrape), "took " + v.Row.Took(), "every " + t.Interval.String()}
	if s.Failures > 0 {
		said = append(said, inGroups(strconv.FormatUint(s.Failures, 10))+" of "+inGroups(strconv.FormatUint(s.Scrapes, 10))+" failed")
	} else {
		said = append(said, plural(int(s.Scrapes), "scrape", "scrapes")+", none failed")
	}
	return strings.Join(said, ", ")
}
