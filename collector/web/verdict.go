package web

import (
	"strconv"
	"strings"
	"time"
)

// verdict is what is said of the whole fleet.
type verdict struct {
	Verdict

	severity condition
	// Headline is the worst that is true, Rest what else is not fine.
	Headline, Rest string
}

// Tone is the colour of the sentence.
func (v *verdict) Tone() string { return v.severity.Tone() }

// judgeFleet sums the verdicts on all replicas up.
func judgeFleet(all []*replica, now time.Time) verdict {
	var count tally
	var v verdict
	var oldest time.Time
	late := 0
	for _, r := range all {
		if r.counts() {
			count.add(r)
		}
		if at := r.status.LastScrape; !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
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
	v.speak(&count)
	return v
}

// speak puts counts into words.
func (v *verdict) speak(count *tally) {
	total := count.total()
	said := count.others([4][2]string{
		{" does not serve.", " do not serve."},
		{" is starting or ending.", " are starting or ending."},
		{" needs a look.", " need a look."},
		{" was not tried yet.", " were not tried yet."},
	})
	v.severity = count.worst()
	switch {
	case total == 0:
		said, v.severity = []string{"No replica is known."}, untried
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
	v.Severity, v.Sentence = v.severity.String(), strings.Join(said, " ")
}

// tally counts replicas: by condition, and apart from these those that need a look and
// serve nothing, for they start or end.
type tally struct {
	by       [fine + 1]int
	changing int
}

// add counts a replica.
func (t *tally) add(r *replica) {
	if r.condition == look && !r.serves() {
		t.changing++
		return
	}
	t.by[r.condition]++
}

// total is how many were counted, serving how many of them answer requests.
func (t *tally) total() int   { return t.changing + t.by[broken] + t.by[untried] + t.serving() }
func (t *tally) serving() int { return t.by[look] + t.by[fine] }

// worst is the condition of the worst replica.
func (t *tally) worst() condition {
	for c, n := range t.by {
		if n > 0 || condition(c) == look && t.changing > 0 {
			return condition(c)
		}
	}
	return fine
}

// others are how many replicas are anything but fine, the worst first, with the words
// for one and for many.
func (t *tally) others(words [4][2]string) []string {
	var said []string
	for i, n := range []int{t.by[broken], t.changing, t.by[look], t.by[untried]} {
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
