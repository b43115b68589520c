package web

import (
	"math"
	"strconv"
	"time"
)

// NoValue stands for an unknown number, which is never shown as 0.
const NoValue = "–"

type sum struct {
	value *float64
	// partial reports that some of the numbers are unknown.
	partial bool
}

func (s *sum) add(v *float64) {
	switch {
	case v == nil:
		s.partial = true
	case s.value == nil:
		s.value = new(*v)
	default:
		*s.value += *v
	}
}

// String formats a sum of counts or rates. A partial sum of 0 tells nothing.
func (s sum) String() string {
	switch {
	case s.value == nil, s.partial && *s.value == 0:
		return NoValue
	case s.partial:
		return "≥ " + grouped(*s.value)
	}
	return grouped(*s.value)
}

// Count formats a count or a rate.
func Count(v *float64) string { return sum{value: v}.String() }

// grouped formats a number in groups of three digits, with a fraction only below ten.
func grouped(v float64) string {
	if v != math.Trunc(v) && math.Abs(v) < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	text := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// Seconds formats the duration of a request.
func Seconds(v *float64) string {
	switch {
	case v == nil:
		return NoValue
	case *v < 0.0995:
		return strconv.FormatFloat(*v*1000, 'f', 0, 64) + " ms"
	case *v < 9.95:
		return strconv.FormatFloat(*v, 'f', 2, 64) + " s"
	}
	return grouped(math.Round(*v)) + " s"
}

// Percent formats a ratio.
func Percent(v *float64) string {
	switch {
	case v == nil:
		return NoValue
	case *v == 0:
		return "0 %"
	case *v < 0.001:
		return "< 0.1 %"
	case *v < 0.0995:
		return strconv.FormatFloat(*v*100, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(*v*100, 'f', 0, 64) + " %"
}

// age formats a duration in its largest unit.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " d"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(float64(n)) + " " + many
}
