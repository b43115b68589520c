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
	var count [fine + 1]int
	var v verdict
	var oldest time.Time
	late := 0
	for _, r := range all {
		count[r.condition]++
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
	v.speak(count, len(all))
	return v
}

// speak puts counts into words.
func (v *verdict) speak(count [fine + 1]int, total int) {
	of := func(n int) string {
		if total == 1 {
			return "The one replica"
		}
		return inGroups(strconv.Itoa(n)) + " of " + plural(total, "replica", "replicas")
	}
	var said []string
	for _, some := range []struct {
		condition condition
		one, many string
	}{
		{broken, " does not serve.", " do not serve."}, {look, " needs a look.", " need a look."}, {untried, " was not tried yet.", " were not tried yet."},
	} {
		n := count[some.condition]
		if n == 0 {
			continue
		}
		who := inGroups(strconv.Itoa(n))
		if len(said) == 0 {
			who, v.severity = of(n), some.condition
		}
		said = append(said, who+verb(n, some.one, some.many))
	}
	switch {
	case total == 0:
		said, v.severity = []string{"No replica is known."}, untried
	case len(said) == 0 && total == 1:
		said, v.severity = []string{"The one replica serves."}, fine
	case len(said) == 0:
		said, v.severity = []string{"All " + inGroups(strconv.Itoa(total)) + " replicas serve."}, fine
	}
	v.Headline, v.Rest = said[0], strings.Join(said[1:], " ")
	v.Severity, v.Sentence = v.severity.String(), strings.Join(said, " ")
}

// verb agrees with a number.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
