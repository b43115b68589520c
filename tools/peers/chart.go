package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// The chart's size in pixels, and the room of each of its four panels.
const (
	width, height           = 860, 640
	panelWidth, panelHeight = 330, 190
	left, top               = 60, 40
	across, down            = panelWidth + 90, panelHeight + 90
	legend                  = height - 46
)

// style has the colours of the peers, told apart also by who cannot see all
// colours, on light paper and on dark.
const style = `<style>
text{fill:#1f2328}.paper{fill:#fff}.grid{stroke:#d1d9e0}.line{fill:none;stroke-width:2}.ships{stroke-dasharray:6 4}
.p0{--c:#0072b2}.p1{--c:#d55e00}.p2{--c:#009e73}.p3{--c:#b0568f}.p4{--c:#009e73}.p5{--c:#b0568f}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.grid{stroke:#3d444d}
.p0{--c:#56b4e9}.p1{--c:#ff8c42}.p2{--c:#2dc799}.p3{--c:#e08fc0}.p4{--c:#2dc799}.p5{--c:#e08fc0}}
.line{stroke:var(--c)}.dot{fill:var(--c)}
</style>`

// curve is one way in one panel.
type curve struct {
	class  string
	points [][2]float64
}

// panel is one of the four: what it shows over what, by powers of ten.
type panel struct {
	title, over string
	curves      []curve
}

// draw draws processor time and memory over the number of targets, and what reads
// take over the number of readers.
func draw(to string, all []result) error {
	all = slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Failed != "" })
	var names []string
	ships := make(map[string]bool)
	for i := range all {
		if !slices.Contains(names, all[i].Peer) {
			names = append(names, all[i].Peer)
		}
		ships[all[i].Peer] = all[i].ships()
	}
	slices.SortStableFunc(names, func(a, b string) int { return order(ships[a]) - order(ships[b]) })
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">%s`, width, height, style)
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`, width, height)
	for i, p := range panels(names, ships, all) {
		if len(p.curves) > 0 {
			p.plot(&b, left+across*(i%2), top+down*(i/2))
		}
	}
	for n, name := range names {
		x, y := left+n%3*270, legend+n/3*22
		fmt.Fprintf(&b, `<path class="line %s" d="M%d %dh30"/><text x="%d" y="%d">%s</text>`, class(n, ships[name]), x, y, x+38, y+4, name)
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(to, []byte(b.String()), 0o600)
}

// order puts ways that ship behind those with a page.
func order(ships bool) int {
	if ships {
		return 1
	}
	return 0
}

// class is how a way is drawn.
func class(n int, ships bool) string {
	if ships {
		return fmt.Sprintf("p%d ships", n)
	}
	return fmt.Sprintf("p%d", n)
}

// panels are the four, each with the ways that have something in it.
func panels(names []string, ships map[string]bool, all []result) []panel {
	read := 0
	for i := range all {
		if len(all[i].Many) > 0 && (read == 0 || all[i].Targets < read) {
			read = all[i].Targets
		}
	}
	four := []panel{
		{title: "Scrape, and a gzip read or shipping, µs a sample", over: "targets"},
		{title: "Most memory resident, MB", over: "targets"},
		{title: fmt.Sprintf("A gzip read of %d targets, µs a sample", read), over: "readers"},
		{title: fmt.Sprintf("How long a gzip read of %d targets takes, p99, ms", read), over: "readers"},
	}
	for n, name := range names {
		var curves [4]curve
		for i := range all {
			if all[i].Peer == name {
				all[i].put(&curves, read)
			}
		}
		for i := range four {
			if curves[i].class = class(n, ships[name]); len(curves[i].points) > 0 {
				four[i].curves = append(four[i].curves, curves[i])
			}
		}
	}
	return four
}

// put adds the points of a result to the panels; reads are those of one fleet.
func (r *result) put(curves *[4]curve, targets int) {
	curves[0].add(float64(r.Targets), r.cost())
	curves[1].add(float64(r.Targets), float64(r.memory())/mega)
	if r.Targets != targets || r.ships() {
		return
	}
	for _, m := range append([]reads{r.Gzip}, r.Many...) {
		curves[2].add(float64(m.Readers), m.Cost)
		curves[3].add(float64(m.Readers), m.P99.Seconds()*1e3)
	}
}

// add adds a point; nothing that is 0 has a place between powers of ten.
func (c *curve) add(x, y float64) {
	if x > 0 && y > 0 {
		c.points = append(c.points, [2]float64{x, y})
	}
}

// plot draws the panel with its upper left corner there.
func (p *panel) plot(b *strings.Builder, x0, y0 int) {
	lowest, highest, ticks := math.Inf(1), 0.0, make(map[float64]bool)
	for _, c := range p.curves {
		for _, at := range c.points {
			lowest, highest, ticks[at[0]] = min(lowest, at[1]), max(highest, at[1]), true
		}
	}
	xs := slices.Sorted(maps.Keys(ticks))
	bottom, right := math.Floor(math.Log10(lowest)), max(math.Log10(xs[len(xs)-1]), 1)
	ceiling := max(math.Ceil(math.Log10(highest)), bottom+1)
	x := func(v float64) float64 { return float64(x0) + panelWidth*math.Log10(v)/right }
	y := func(v float64) float64 { return float64(y0) + panelHeight*(ceiling-math.Log10(v))/(ceiling-bottom) }
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`, x0, y0-16, p.title)
	for e := bottom; e <= ceiling; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fh%d"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`, x0, y(v), panelWidth, x0-6, y(v)+4, v)
	}
	for _, v := range xs {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, x(v), y0+panelHeight+18, v)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, x0+panelWidth/2, y0+panelHeight+34, p.over)
	for _, c := range p.curves {
		path := []byte("M")
		for _, at := range c.points {
			path = fmt.Appendf(path, "%.1f %.1f ", x(at[0]), y(at[1]))
			fmt.Fprintf(b, `<circle class="dot %s" cx="%.1f" cy="%.1f" r="3"/>`, c.class, x(at[0]), y(at[1]))
		}
		fmt.Fprintf(b, `<path class="line %s" d="%s"/>`, c.class, strings.TrimSpace(string(path)))
	}
}
