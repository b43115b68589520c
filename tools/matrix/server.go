package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server is a generation of a kind of server in its usual configuration.
type Server struct {
	Name string
	Kind engine.Name
	// Facts holds the answers of its API.
	Facts engine.Facts
	// Counts lists the classes that its page counts, TakenAsOK those that it counts as ok;
	// Only is set if it counts accepted requests, whatever their outcome.
	Counts, TakenAsOK []engine.Class
	Only              bool
	// ShowsArrivals is set if its page shows arriving requests while the engine hangs.
	ShowsArrivals bool

	page func(b *Book, p *pageWriter)
}

// Servers returns the servers of every kind and generation.
func Servers() []Server {
	return slices.Concat(tritons(), serves(), nims(), dynamos(), vllms(), sglangs())
}

// Text returns a server's page.
func (s *Server) Text(b *Book) string {
	p := &pageWriter{}
	s.page(b, p)
	return p.text.String()
}

// pageWriter writes a page.
type pageWriter struct {
	text  strings.Builder
	typed map[string]bool
}

// typeOf writes the type of a family once.
func (p *pageWriter) typeOf(name, kind string) {
	if p.typed == nil {
		p.typed = make(map[string]bool)
	}
	if !p.typed[name] {
		p.typed[name] = true
		fmt.Fprintf(&p.text, "# TYPE %s %s\n", name, kind)
	}
}

// count writes a counter, gauge a gauge.
func (p *pageWriter) count(name, labels string, n int) {
	p.typeOf(name, "counter")
	fmt.Fprintf(&p.text, "%s{%s} %d\n", name, labels, n)
}

func (p *pageWriter) gauge(name, labels string, v float64) {
	p.typeOf(name, "gauge")
	fmt.Fprintf(&p.text, "%s{%s} %g\n", name, labels, v)
}

// gauges writes a gauge per value of a label; labels is a format with its place.
func (p *pageWriter) gauges(name, labels string, all map[string]float64) {
	for _, value := range slices.Sorted(maps.Keys(all)) {
		p.gauge(name, fmt.Sprintf(labels, value), all[value])
	}
}

// event writes a counter that appears with its first event.
func (p *pageWriter) event(name, labels string, n int) {
	if n > 0 {
		p.count(name, labels, n)
	}
}

// times writes a histogram of n observations of the same value.
func (p *pageWriter) times(name, labels string, n int, value float64) {
	p.typeOf(name, "histogram")
	var prefix string
	if labels != "" {
		prefix = labels + ","
	}
	for _, bound := range []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10} {
		within := 0
		if value <= bound {
			within = n
		}
		fmt.Fprintf(&p.text, "%s_bucket{%sle=\"%g\"} %d\n", name, prefix, bound, within)
	}
	fmt.Fprintf(&p.text, "%s_bucket{%sle=\"+Inf\"} %d\n%s_sum{%s} %g\n"+
		"%s_count{%s} %d\n", name, prefix, n, name, labels, float64(n)*value, name, labels, n)
}

// latencies writes a histogram once it has an observation.
func (p *pageWriter) latencies(name, labels string, n int, value float64) {
	if n > 0 {
		p.times(name, labels, n, value)
	}
}

// Durations of every successful request.
const (
	requestDuration, firstToken, tokenGap = 2.0, 0.4, 0.008
)

// ok, failed and the others return the number of requests of a class.
func (b *Book) ok() int       { return b.Ended[engine.ClassOK] }
func (b *Book) failed() int   { return b.Ended[engine.ClassServer] }
func (b *Book) client() int   { return b.Ended[engine.ClassClient] }
func (b *Book) canceled() int { return b.Ended[engine.ClassCanceled] }
func (b *Book) overload() int { return b.Ended[engine.ClassOverload] }
