package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server is a kind of server in one generation, as it is configured usually.
type Server struct {
	Name string
	Kind engine.Kind
	// Facts are what its API answers.
	Facts engine.Facts
	// Counts are the classes of which its page counts the requests, TakenAsOK those
	// of which it does not know better; Only says that it counts what it accepted,
	// whatever became of it.
	Counts, TakenAsOK []engine.Class
	Only              bool
	// Comes says that its page shows that requests come while its engine hangs.
	Comes bool

	page func(b *Book, p *sheet)
}

// Servers are those of every kind and generation that has a page of its own.
func Servers() []Server {
	return slices.Concat(tritons(), serves(), nims(), dynamos(), vllms(), sglangs())
}

// Text is a server's page.
func (s *Server) Text(b *Book) string {
	p := &sheet{}
	s.page(b, p)
	return p.text.String()
}

// sheet is a page while it is written.
type sheet struct {
	text  strings.Builder
	typed map[string]bool
}

// typeOf writes the type of a family once.
func (p *sheet) typeOf(name, kind string) {
	if p.typed == nil {
		p.typed = make(map[string]bool)
	}
	if !p.typed[name] {
		p.typed[name] = true
		fmt.Fprintf(&p.text, "# TYPE %s %s\n", name, kind)
	}
}

// count writes a counter, gauge a gauge, of which the labels are written out.
func (p *sheet) count(name, labels string, n int) {
	p.typeOf(name, "counter")
	fmt.Fprintf(&p.text, "%s{%s} %d\n", name, labels, n)
}

func (p *sheet) gauge(name, labels string, v float64) {
	p.typeOf(name, "gauge")
	fmt.Fprintf(&p.text, "%s{%s} %g\n", name, labels, v)
}

// gauges writes one gauge for each value of a label, for which labels have a
// place.
func (p *sheet) gauges(name, labels string, all map[string]float64) {
	for _, value := range slices.Sorted(maps.Keys(all)) {
		p.gauge(name, fmt.Sprintf(labels, value), all[value])
	}
}

// event writes a counter that is on the page from its first event on.
func (p *sheet) event(name, labels string, n int) {
	if n > 0 {
		p.count(name, labels, n)
	}
}

// times writes a histogram of n observations of the same value.
func (p *sheet) times(name, labels string, n int, each float64) {
	p.typeOf(name, "histogram")
	var before string
	if labels != "" {
		before = labels + ","
	}
	for _, bound := range []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10} {
		within := 0
		if each <= bound {
			within = n
		}
		fmt.Fprintf(&p.text, "%s_bucket{%sle=\"%g\"} %d\n", name, before, bound, within)
	}
	fmt.Fprintf(&p.text, "%s_bucket{%sle=\"+Inf\"} %d\n%s_sum{%s} %g\n%s_count{%s} %d\n", name, before, n, name, labels, float64(n)*each, name, labels, n)
}

// latencies writes a histogram once it has an observation.
func (p *sheet) latencies(name, labels string, n int, each float64) {
	if n > 0 {
		p.times(name, labels, n, each)
	}
}

// The times of every request that ended well.
const (
	took, first, between = 2.0, 0.4, 0.008
)

// ok, failed and the others are the requests of a class.
func (b *Book) ok() int       { return b.Ended[engine.ClassOK] }
func (b *Book) failed() int   { return b.Ended[engine.ClassServer] }
func (b *Book) client() int   { return b.Ended[engine.ClassClient] }
func (b *Book) canceled() int { return b.Ended[engine.ClassCanceled] }
func (b *Book) overload() int { return b.Ended[engine.ClassOverload] }
