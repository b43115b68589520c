package web

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Summary says how the fleet is.
type Summary struct {
	// Severity is the severity of the worst replica.
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	// Load describes how many serving replicas are full, and how many requests wait; empty if
	// none is full.
	Load string `json:"load,omitempty"`
	// Age describes how old the data is. Late is true if it is older than it should be.
	Age  string `json:"age,omitempty"`
	Late bool   `json:"late,omitempty"`
	// Headline is the beginning of the sentence, Rest describes the replicas with problems.
	Headline string `json:"-"`
	Rest     string `json:"-"`
}

// Text returns the sentence and the load.
func (s *Summary) Text() string { return strings.TrimSpace(s.Sentence + " " + s.Load) }

// summarize summarizes all replicas. They must be sorted, the worst first.
func summarize(all []*replica, byPool map[string][]*replica, now time.Time) Summary {
	t := newTally(all)
	problems := t.problems()
	s := Summary{Severity: t.worst, Headline: t.serves("replicas serve")}
	if t.unread > 0 {
		s.Headline = t.serves("replicas are known to serve")
	}
	s.Age, s.Late = dataAge(all, now)
	switch {
	case t.total == 0:
		s.Severity, s.Headline = unknown, "There are no replicas"
	case t.total == 1 && problems == "":
		s.Headline = "The only replica serves"
	case t.total == 1:
		s.Headline, problems = "The only replica"+strings.TrimPrefix(problems, ": 1"), ""
	case problems == "":
		s.Headline = "All " + grouped(float64(t.total)) + " replicas serve"
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
		s.Load = plural(t.saturated, "replica is", "replicas are") + " full, " + wait.String() + requests
	}
	s.Rest = problems + "."
	s.Sentence = s.Headline + s.Rest
	return s
}

// dataAge describes how old the oldest scrape is, and reports whether scrapes are overdue.
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
	// unread counts those that answer, and of which nobody knows whether they serve.
	unread int
	worst  string
	// words lists the Words of replicas with problems, the worst first; counts holds their
	// numbers.
	words  []string
	counts map[string]int
}

// newTally counts replicas, which must be sorted, the worst first. Silent replicas have no state.
func newTally(all []*replica) *tally {
	t := &tally{counts: map[string]int{}, worst: healthy}
	for _, r := range all {
		if r.State == string(assess.Silent) {
			continue
		}
		if t.total == 0 {
			t.worst = r.Severity
		}
		t.total++
		if !r.Serves() && r.State == string(assess.Blind) && r.Status.LastSuccess.IsZero() {
			t.unread++
		}
		if r.Serves() {
			t.serving++
			if r.Full() {
				t.saturated++
			}
		}
		if r.Severity == healthy {
			continue
		}
		t.counts[r.Word]++
		if t.counts[r.Word] == 1 {
			t.words = append(t.words, r.Word)
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

// Severities of a replica. Until it is judged, it is unknown, never healthy.
const (
	broken  = string(assess.Broken)
	look    = string(assess.Look)
	unknown = "unknown"
	healthy = string(assess.OK)
)

const stateReady = string(assess.Ready)

func severities() []string { return []string{broken, look, unknown, healthy} }

func severityRank(severity string) int { return slices.Index(severities(), severity) }

// stateRank returns the sort order of states within a severity: states that certainly serve
// nothing come first.
func stateRank(state string) int { return slices.Index(assess.States(), assess.State(state)) }

func severityOf(v *target.Assessment) string {
	if slices.Contains(severities(), v.Severity) {
		return v.Severity
	}
	return unknown
}

// wordFor describes a verdict in a word or two.
func wordFor(v *target.Assessment) string {
	severity := severityOf(v)
	switch {
	case severity == unknown:
		return "not tried yet"
	case v.State == string(assess.Unknown) && !v.Judged:
		return "never read" // Somebody answers there.
	case v.State == string(assess.Unknown):
		return "never seen"
	case v.State != stateReady || severity == healthy:
		return strings.ReplaceAll(v.State, "_", " ")
	}
	return cmp.Or(map[string]string{
		"LLMExpectationMismatch": "differs",
		"LLMReplicaSuspected":    "suspected",
		"LLMPoolSaturated":       "slow",
	}[v.Runbook], "check")
}

// clause returns a clause that says for how many replicas a word applies.
func clause(n int, word string) string {
	verbs := map[string][2]string{
		"never seen": {"was never seen", "were never seen"},
		"never read": {"was never read", "were never read"},
		"not tried yet": {
			"was not tried yet", "were not tried yet",
		},
		"canary failing": {
			"fails canary requests", "fail canary requests",
		},
		"differs": {"differs", "differ"},
		"check":   {"needs attention", "need attention"},
	}[word]
	return plural(n, cmp.Or(verbs[0], "is "+word), cmp.Or(verbs[1], "are "+word))
}

// sentence turns a reason into a sentence. It does not capitalize an address or a name.
func sentence(reason string) string {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(reason)
	if word, _, _ := strings.Cut(reason, " "); !strings.ContainsAny(word, "/:_") {
		reason = string(unicode.ToUpper(first)) + reason[size:]
	}
	return strings.TrimSuffix(reason, ".") + "."
}

// shortened truncates a long text, which the page of the replica shows in full.
func shortened(text string) string {
	const maxRunes = 280
	runes := []rune(text)
	if len(runes) <= maxRunes {
		return text
	}
	return string(runes[:maxRunes]) + "…"
}

// CompareNames compares names in natural order: r2 before r10.
func CompareNames(a, b string) int {
	return cmp.Or(strings.Compare(natural(a), natural(b)), strings.Compare(a, b))
}

var digits = regexp.MustCompile(`\d+`)

// natural prefixes each number with its length, so that numbers in names sort by value.
func natural(name string) string {
	return digits.ReplaceAllStringFunc(name, func(n string) string {
		n = strings.TrimLeft(n, "0")
		return string(rune(len(n))) + n
	})
}
