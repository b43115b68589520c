package web

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

// spark is a small drawing of the last minutes of one number.
type spark struct {
	// Line is a path in a box of Width by sparkHeight.
	Line  string
	Width int
	Label string
}

// The size of the box in which a spark is drawn; the page stretches it.
const (
	sparkHeight = 20
	sparkPoints = 60
)

// draw draws samples, the oldest first, in a box that is as wide as the longest
// of the sparks that are next to each other; nil without any that is known.
func draw(samples []float64, longest int, of string) *spark {
	step := (longest + sparkPoints - 1) / sparkPoints
	if step == 0 {
		return nil
	}
	points := thin(samples, step)
	top, some := 0.0, false
	for _, v := range points {
		if !math.IsNaN(v) {
			top, some = max(top, v), true
		}
	}
	if !some || len(points) < 2 {
		return nil
	}
	width := (longest+step-1)/step - 1
	return &spark{
		Line: trace(points, width-len(points)+1, top), Width: width,
		Label: of + ", last " + age(time.Duration(len(samples))*history.Every) + ": highest " + grouped(top),
	}
}

// thin takes one of each so many samples, counted from the newest.
func thin(samples []float64, step int) []float64 {
	var points []float64
	for i := len(samples) - 1; i >= 0; i -= step {
		points = append(points, samples[i])
	}
	slices.Reverse(points)
	return points
}

// trace is a line through the points from x on, with a gap where a number is not known.
func trace(points []float64, x int, top float64) string {
	var line strings.Builder
	before := -1
	for i, v := range points {
		if math.IsNaN(v) {
			before = -1
			continue
		}
		y := level(v, top)
		if before < 0 {
			fmt.Fprintf(&line, "M%d %d", x+i, y)
		} else {
			fmt.Fprintf(&line, "l1 %d", y-before)
		}
		before = y
	}
	return line.String()
}

// level is how far from the top of the box a value is drawn; the line keeps off
// the edges.
func level(v, top float64) int {
	if top <= 0 {
		return sparkHeight - 1
	}
	return sparkHeight - 1 - int(math.Round(max(v, 0)/top*(sparkHeight-2)))
}
