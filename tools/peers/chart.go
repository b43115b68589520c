package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// The chart's size in pixels, and the room of each of its two panels.
const (
	width, height        = 860, 320
	panel, left, top     = 330, 60, 40
	panelHeight, between = 210, 90
)

// colours are those of the peers, told apart also by who cannot see all colours.
//
//nolint:gochecknoglobals // constant data.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"}

// draw draws processor time and memory over the number of targets.
func draw(to string, all []result) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`, width, height)
	plot(&b, left, "Processor time of a scrape and a read, µs a sample", all, func(r *result) float64 { return r.Scrape + r.Gzip })
	plot(&b, left+panel+between, "Most memory resident, MB", all, func(r *result) float64 { return float64(r.Peak) / 1e6 })
	b.WriteString("</svg>\n")
	return os.WriteFile(to, []byte(b.String()), 0o600)
}

// plot draws one panel, both axes by powers of ten.
func plot(b *strings.Builder, x0 int, title string, all []result, of func(*result) float64) {
	lowest, highest, most := math.Inf(1), 0.0, 1.0
	for i := range all {
		lowest, highest, most = min(lowest, of(&all[i])), max(highest, of(&all[i])), max(most, float64(all[i].Targets))
	}
	bottom, ceiling := math.Floor(math.Log10(lowest)), math.Ceil(math.Log10(highest))
	right := math.Ceil(math.Log10(most))
	x := func(v float64) float64 { return float64(x0) + panel*math.Log10(v)/right }
	y := func(v float64) float64 { return top + panelHeight*(ceiling-math.Log10(v))/(ceiling-bottom) }
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`, x0, top-16, title)
	for e := bottom; e <= ceiling; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`, x0, y(v), panel, x0-6, y(v)+4, v)
	}
	for e := 0.0; e <= right; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, x(v), top+panelHeight+18, v)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">targets</text>`, x0+panel/2, top+panelHeight+34)
	var names []string
	for i := range all {
		if !slices.Contains(names, all[i].Peer) {
			names = append(names, all[i].Peer)
		}
	}
	for n, name := range names {
		path := []byte("M")
		for i := range all {
			if all[i].Peer == name {
				path = fmt.Appendf(path, "%.1f %.1f ", x(float64(all[i].Targets)), y(of(&all[i])))
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(float64(all[i].Targets)), y(of(&all[i])), colours[n])
			}
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.TrimSpace(string(path)), colours[n])
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`, x0+n*110, height-8, colours[n], name)
	}
}
