package web

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web/history"
)

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

// newSpark draws samples, the oldest first, in a box as wide as the longest of the sparks next
// to each other; nil with fewer than two points or without a known one.
func newSpark(name string, samples []float64, longest int) *spark {
	step := (longest + maxPoints - 1) / maxPoints
	if step == 0 {
		return nil
	}
	var points []float64
	for i := len(samples) - 1; i >= 0; i -= step {
		points = append(points, samples[i])
	}
	slices.Reverse(points)
	highest, known := 0.0, false
	for _, v := range points {
		if !math.IsNaN(v) {
			highest, known = max(highest, v), true
		}
	}
	if !known || len(points) < 2 {
		return nil
	}
	width := (longest+step-1)/step - 1
	return &spark{
		Line: path(points, width-len(points)+1, highest), Width: width,
		Label: name + ", last " + age(time.Duration(len(samples))*history.SampleInterval) + ": highest " + grouped(highest),
	}
}

// path draws a line through the points from x on, with gaps where the number is unknown.
func path(points []float64, x int, highest float64) string {
	var line strings.Builder
	last := -1
	for i, v := range points {
		if math.IsNaN(v) {
			last = -1
			continue
		}
		y := sparkHeight - 1 // The line stays off the edges of the box.
		if highest > 0 {
			y -= int(math.Round(max(v, 0) / highest * (sparkHeight - 2)))
		}
		if last < 0 {
			fmt.Fprintf(&line, "M%d %d", x+i, y)
		} else {
			fmt.Fprintf(&line, "l1 %d", y-last)
		}
		last = y
	}
	return line.String()
}
