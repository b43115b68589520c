package web

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// nothing is how a number that is not known is shown: never as 0.
const nothing = "–"

// quantity is a number of a replica or of a sum of them.
type quantity struct {
	value float64
	// partly is true of a sum of which some parts are not known.
	partly bool
}

// total adds up what is known.
func total(values []float64) quantity {
	q := quantity{value: math.NaN()}
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			q.partly = true
		case math.IsNaN(q.value):
			q.value = v
		default:
			q.value += v
		}
	}
	return q
}

// Known is false where there is nothing to show.
func (q quantity) Known() bool { return !math.IsNaN(q.value) }

// String is a count or a rate.
func (q quantity) String() string {
	switch {
	case !q.Known(), q.partly && q.value == 0: // At least nothing is no news.
		return nothing
	case q.partly:
		return "≥ " + grouped(q.value)
	}
	return grouped(q.value)
}

// count is the text of a count or a rate.
func count(v float64) string { return quantity{value: v}.String() }

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

// seconds writes a duration of a request.
func seconds(v float64) string {
	switch {
	case math.IsNaN(v):
		return nothing
	case v < 0.0995:
		return strconv.FormatFloat(v*1000, 'f', 0, 64) + " ms"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 2, 64) + " s"
	default:
		return grouped(math.Round(v)) + " s"
	}
}

// percent writes a share.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return nothing
	case v == 0:
		return "0 %"
	case v < 0.001:
		return "< 0.1 %"
	case v < 0.0995:
		return strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(v*100, 'f', 0, 64) + " %"
	}
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
	return inGroups(strconv.Itoa(n)) + " " + verb(n, one, many)
}

// gauge is a bar of a share.
type gauge struct {
	Text string
	// Width is in percent; Hot when next to nothing is left.
	Width int
	Hot   bool
	Known bool
}

// share makes a bar.
func share(of float64, text string) gauge {
	if math.IsNaN(of) {
		return gauge{Text: text}
	}
	return gauge{Text: text, Width: int(math.Round(100 * min(max(of, 0), 1))), Hot: of >= 0.95, Known: true}
}
