package web

import (
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// Verdict summarizes the fleet.
type Verdict struct {
	// Severity is that of the worst replica.
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	// Load tells how many replicas are full, and how many requests wait; empty if none is full.
	Load string `json:"load,omitempty"`
	// Age tells how old the data is, Late reports that it is older than it should be.
	Age  string `json:"age,omitempty"`
	Late bool   `json:"late,omitempty"`
	// Headline begins the sentence, Rest is about the replicas with problems.
	Headline string `json:"-"`
	Rest     string `json:"-"`
}

// Text returns the sentence and the load.
func (v *Verdict) Text() string { return strings.TrimSpace(v.Sentence + " " + v.Load) }

// judgeFleet summarizes all replicas, which come the worst first.
func judgeFleet(all []*replica, byPool map[string][]*replica, now time.Time) Verdict {
	t := newTally(all)
	rest := t.problems()
	v := Verdict{Severity: t.worst, Headline: t.serves("replicas serve")}
	v.Age, v.Late = dataAge(all, now)
	switch {
	case t.total == 0:
		v.Severity, v.Headline = unknown, "There are no replicas"
	case t.total == 1 && rest == "":
		v.Headline = "The only replica serves"
	case t.total == 1:
		v.Headline, rest = "The only replica"+strings.TrimPrefix(rest, ": 1"), ""
	case rest == "":
		v.Headline = "All " + grouped(float64(t.total)) + " replicas serve"
	}
	if t.saturated > 0 {
		var wait sum
		for _, pool := range byPool {
			wait.add(poolSum(pool, waiting).value)
		}
		requests := " requests wait."
		if wait.String() == "1" {
			requests = " request waits."
		}
		v.Load = plural(t.saturated, "replica is", "replicas are") + " full, " + wait.String() + requests
	}
	v.Rest = rest + "."
	v.Sentence = v.Headline + v.Rest
	return v
}

// dataAge tells how old the oldest scrape is, and reports whether scrapes are overdue.
func dataAge(all []*replica, now time.Time) (text string, late bool) {
	var oldest time.Time
	overdue := 0
	for _, r := range all {
		if last := r.Status.LastScrape; !last.IsZero() && (oldest.IsZero() || last.Before(oldest)) {
			oldest = last
		}
		if r.overdue(now) {
			overdue++
		}
	}
	if !oldest.IsZero() {
		text = "Data " + age(now.Sub(oldest)) + " old"
	}
	if overdue > 0 {
		text += ": " + plural(overdue, "replica was", "replicas were") + " not scraped in time"
	}
	return text, overdue > 0
}

// tally counts replicas by what they are doing.
type tally struct {
	total, serving, saturated int
	worst                     string
	// words are those of replicas with problems, the worst first, with their counts.
	words  []string
	counts map[string]int
}

// newTally counts replicas, which come the worst first. Silent ones have no state of their own.
func newTally(all []*replica) *tally {
	t := &tally{counts: map[string]int{}, worst: healthy}
	for _, r := range all {
		if r.State == string(assess.Silent) {
			continue
		}
		t.total++
		if r.Serves() {
			t.serving++
		}
		if r.Full() {
			t.saturated++
		}
		if r.Severity == healthy {
			continue
		}
		t.counts[r.Word]++
		if t.counts[r.Word] == 1 {
			t.words = append(t.words, r.Word)
		}
		if severityRank(r.Severity) < severityRank(t.worst) {
			t.worst = r.Severity
		}
	}
	return t
}

func (t *tally) serves(verb string) string {
	return grouped(float64(t.serving)) + " of " + grouped(float64(t.total)) + " " + verb
}

func (t *tally) problems() string {
	if len(t.words) == 0 {
		return ""
	}
	return ": " + strings.Join(mapped(t.words, func(word string) string { return clause(t.counts[word], word) }), ", ")
}
