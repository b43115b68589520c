package web

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Nothing is how a number that is not known is shown: never as 0.
const Nothing = "–"

// sum is a number of several replicas.
type sum struct {
	value *float64
	// partly is true where some parts are not known.
	partly bool
}

// add adds what is known.
func (s *sum) add(v *float64) {
	switch {
	case v == nil:
		s.partly = true
	case s.value == nil:
		s.value = new(*v)
	default:
		*s.value += *v
	}
}

// String is a count or a rate.
func (s sum) String() string {
	switch {
	case s.value == nil, s.partly && *s.value == 0: // At least nothing is no news.
		return Nothing
	case s.partly:
		return "≥ " + grouped(*s.value)
	}
	return grouped(*s.value)
}

// Count is the text of a count or a rate.
func Count(v *float64) string {
	if v == nil {
		return Nothing
	}
	return grouped(*v)
}

// grouped writes a number without fractions, but for those below ten.
func grouped(v float64) string {
	if v != math.Trunc(v) && math.Abs(v) < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return inGroups(strconv.FormatInt(int64(math.Round(v)), 10))
}

// inGroups puts narrow spaces between groups of three digits.
func inGroups(digits string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = "-", rest
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Seconds writes a duration of a request.
func Seconds(v *float64) string {
	switch {
	case v == nil:
		return Nothing
	case *v < 0.0995:
		return strconv.FormatFloat(*v*1000, 'f', 0, 64) + " ms"
	case *v < 9.95:
		return strconv.FormatFloat(*v, 'f', 2, 64) + " s"
	}
	return grouped(math.Round(*v)) + " s"
}

// Percent writes a share.
func Percent(v *float64) string {
	switch {
	case v == nil:
		return Nothing
	case *v == 0:
		return "0 %"
	case *v < 0.001:
		return "< 0.1 %"
	case *v < 0.0995:
		return strconv.FormatFloat(*v*100, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(*v*100, 'f', 0, 64) + " %"
}

// age says how old something is.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + " d"
	}
}

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(float64(n)) + " " + many
}
