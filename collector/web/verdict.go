package web

import (
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// Verdict is what is said of the whole fleet.
type Verdict struct {
	// Severity is that of the worst replica: broken, look, unknown or ok.
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	// Load says how many replicas are full, and what waits; empty where none is.
	Load string `json:"load,omitempty"`
	// Age says how old the data is, Late that it is older than it should be.
	Age  string `json:"age,omitempty"`
	Late bool   `json:"late,omitempty"`
	// Headline is the front of the sentence, Rest what is said of those that are not fine.
	Headline string `json:"-"`
	Rest     string `json:"-"`
}

// Said is all that is said of the fleet.
func (v *Verdict) Said() string { return strings.TrimSpace(v.Sentence + " " + v.Load) }

// judgeFleet sums the verdicts on all replicas up, which come the worst first.
func judgeFleet(all []*replica, byPool map[string][]*replica, now time.Time) Verdict {
	var oldest time.Time
	late := 0
	for _, r := range all {
		if at := r.Status.LastScrape; !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
		if r.late(now) {
			late++
		}
	}
	count := tallyOf(all)
	rest := count.others()
	v := Verdict{Severity: count.worst, Late: late > 0, Headline: count.head("replicas serve")}
	if !oldest.IsZero() {
		v.Age = "Data " + age(now.Sub(oldest)) + " old"
	}
	if v.Late {
		v.Age += ": " + plural(late, "replica was", "replicas were") + " not asked in time"
	}
	switch {
	case count.total == 0:
		v.Severity, v.Headline = unknown, "No replica is known"
	case count.total == 1 && rest == "":
		v.Headline = "The one replica serves"
	case count.total == 1:
		v.Headline, rest = "The one replica"+strings.TrimPrefix(rest, ": 1"), ""
	case rest == "":
		v.Headline = "All " + grouped(float64(count.total)) + " replicas serve"
	}
	if count.saturated > 0 {
		var wait sum
		for _, pool := range byPool {
			wait.add(seenByClients(pool, waiting).value)
		}
		v.Load = plural(count.saturated, "replica is", "replicas are") + " full, " + wait.String() + " requests wait."
	}
	v.Rest = rest + "."
	v.Sentence = v.Headline + v.Rest
	return v
}

// tally counts replicas that have a state of their own.
type tally struct {
	total, serving, saturated int
	worst                     string
	// words are those for what is not fine, the worst first, each with how many are so.
	words []string
	by    map[string]int
}

// tallyOf counts replicas, which come the worst first.
func tallyOf(all []*replica) *tally {
	t := &tally{by: map[string]int{}, worst: fine}
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
		if r.Severity == fine {
			continue
		}
		t.by[r.Word]++
		if t.by[r.Word] == 1 {
			t.words = append(t.words, r.Word)
		}
		if severityRank(r.Severity) < severityRank(t.worst) {
			t.worst = r.Severity
		}
	}
	return t
}

// head says how many serve.
func (t *tally) head(serve string) string {
	return grouped(float64(t.serving)) + " of " + grouped(float64(t.total)) + " " + serve
}

// others says of all that are not fine what they do; empty where all are.
func (t *tally) others() string {
	all := make([]string, len(t.words))
	for i, word := range t.words {
		all[i] = said(t.by[word], word)
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}
