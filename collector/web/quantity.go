package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NoValue stands for an unknown number, which is never shown as 0.
const NoValue = "–"

type sum struct {
	value *float64
	// partial is true if some of the numbers are unknown.
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

// String formats a sum of counts or rates. A partial sum of 0 says nothing.
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

// grouped formats a number with its digits in groups of three, with a fraction only below ten.
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

func plural(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return grouped(float64(n)) + " " + plural
}

type spark struct {
	// Line is an SVG path in a box of Width by sparkHeight, which the page stretches.
	Line  string
	Width int
	Label string
}

const (
	sparkHeight = 20
	maxPoints   = 60
)

// newSpark draws samples, the oldest first, in a box as wide as the longest of the sparks that
// are compared. It returns nil if there are fewer than two points or all are unknown.
func newSpark(name string, samples []float64, longest int) *spark {
	step := max((longest+maxPoints-1)/maxPoints, 1)
	var points []float64
	highest := math.Inf(-1)
	for i := len(samples) - 1; i >= 0; i -= step {
		points = append(points, samples[i])
		if samples[i] > highest {
			highest = max(samples[i], 0)
		}
	}
	if highest < 0 || len(points) < 2 {
		return nil
	}
	slices.Reverse(points)
	width := (longest+step-1)/step - 1
	return &spark{
		Line: path(points, width-len(points)+1, highest), Width: width,
		Label: name + ", last " + age(time.Duration(len(samples))*sampleInterval) + ": highest " + grouped(highest),
	}
}

// path draws a line through the points from x on, with gaps for unknown numbers.
func path(points []float64, x int, highest float64) string {
	var line strings.Builder
	lastY := -1
	for i, v := range points {
		if math.IsNaN(v) {
			lastY = -1
			continue
		}
		y := sparkHeight - 1 // The line stays off the edges of the box.
		if highest > 0 {
			y -= int(math.Round(max(v, 0) / highest * (sparkHeight - 2)))
		}
		if lastY < 0 {
			fmt.Fprintf(&line, "M%d %d", x+i, y)
		} else {
			fmt.Fprintf(&line, "l1 %d", y-lastY)
		}
		lastY = y
	}
	return line.String()
}
