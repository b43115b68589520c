package web

import (
	"strconv"
	"strings"
	"time"
)

// Verdict is what is said of the whole fleet.
type Verdict struct {
	// Severity is that of the worst replica: broken, look, unknown or ok.
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	// Age says how old the data is, Late that it is older than it should be.
	Age  string `json:"age,omitempty"`
	Late bool   `json:"late,omitempty"`
	// Headline is the front of the sentence, the worst that is true; Rest what else is
	// not fine.
	Headline string `json:"-"`
	Rest     string `json:"-"`
}

// judgeFleet sums the verdicts on all replicas up.
func judgeFleet(all []*replica, now time.Time) Verdict {
	var v Verdict
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
	if !oldest.IsZero() {
		v.Age = "Data " + age(now.Sub(oldest)) + " old"
	}
	if v.Late = late > 0; v.Late {
		v.Age += ": " + plural(late, "replica was", "replicas were") + " not asked in time"
	}
	v.speak(tallyOf(all))
	return v
}

// speak puts counts into words.
func (v *Verdict) speak(count *tally) {
	total := count.total()
	said := count.others([4][2]string{
		{" does not serve.", " do not serve."},
		{" is starting or ending.", " are starting or ending."},
		{" needs a look.", " need a look."},
		{" was not tried yet.", " were not tried yet."},
	})
	v.Severity = count.worst()
	switch {
	case total == 0:
		said, v.Severity = []string{"No replica is known."}, unknown
	case len(said) == 0 && total == 1:
		said = []string{"The one replica serves."}
	case len(said) == 0:
		said = []string{"All " + inGroups(strconv.Itoa(total)) + " replicas serve."}
	case total == 1:
		said[0] = "The one replica" + strings.TrimPrefix(said[0], "1")
	default:
		worst, is, _ := strings.Cut(said[0], " ")
		said[0] = worst + " of " + plural(total, "replica", "replicas") + " " + is
	}
	v.Headline, v.Rest = said[0], strings.Join(said[1:], " ")
	v.Sentence = strings.Join(said, " ")
}

// tally counts replicas: by severity, and apart from these those that need a look and
// serve nothing, for they start or end.
type tally struct {
	by       map[string]int
	changing int
}

// tallyOf counts replicas that have a state of their own.
func tallyOf(all []*replica) *tally {
	t := &tally{by: map[string]int{}}
	for _, r := range all {
		switch {
		case !r.counted():
		case r.Severity == look && !r.serves():
			t.changing++
		default:
			t.by[r.Severity]++
		}
	}
	return t
}

// total is how many were counted, serving how many of them answer requests.
func (t *tally) total() int   { return t.changing + t.by[broken] + t.by[unknown] + t.serving() }
func (t *tally) serving() int { return t.by[look] + t.by[fine] }

// worst is the severity of the worst replica.
func (t *tally) worst() string {
	for _, s := range severities() {
		if t.by[s] > 0 || s == look && t.changing > 0 {
			return s
		}
	}
	return fine
}

// text says how many serve, and of all that are not fine why.
func (t *tally) text() string {
	serving := inGroups(strconv.Itoa(t.serving())) + " of " + inGroups(strconv.Itoa(t.total())) + " serving"
	return strings.Join(append([]string{serving}, t.others([4][2]string{
		{" does not", " do not"}, {" starting or ending", " starting or ending"}, {" needs a look", " need a look"}, {" not tried yet", " not tried yet"},
	})...), ", ")
}

// others are how many replicas are anything but fine, the worst first, with the words
// for one and for many.
func (t *tally) others(words [4][2]string) []string {
	var said []string
	for i, n := range []int{t.by[broken], t.changing, t.by[look], t.by[unknown]} {
		if n > 0 {
			said = append(said, inGroups(strconv.Itoa(n))+verb(n, words[i][0], words[i][1]))
		}
	}
	return said
}

// verb agrees with a number.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
