package simulate

import (
	"slices"
	"strings"
)

// layout says in which order the parts of a histogram stand and where its le
// label goes; each client library has its own.
type layout int

const (
	layoutCpp         layout = iota // Parts: count, sum, buckets; le last.
	layoutPythonMulti               // Parts: sum, buckets, count; le sorted among the labels.
	layoutPython                    // Parts: buckets, count, sum; le sorted among the labels.
	layoutRust                      // Parts: buckets, sum, count; le last.
)

// page renders one exposition page. Series of a family are put into an
// arbitrary but stable order when seed is not zero, as an unordered_map does;
// a family without series is left out, with its HELP and TYPE.
type page struct {
	out    []byte
	number func([]byte, float64) []byte
	layout layout
	seed   uint64
	// With openMetrics the page drops _total from the family name and ends with # EOF.
	openMetrics bool

	name, help, kind string
	scratch          []byte
	blocks           []block
}

// block is the rendered text of one series (or histogram, or summary).
type block struct {
	hash     uint64
	from, to int
}

// family ends the family before and begins another one.
func (p *page) family(name, help, kind string) {
	p.flush()
	p.name, p.help, p.kind = name, help, kind
}

// add writes one sample of the present family.
func (p *page) add(labels string, v float64) {
	from := len(p.scratch)
	p.line("", labels, v)
	p.end(labels, from)
}

// addHistogram writes one histogram of the present family.
func (p *page) addHistogram(labels string, h *histogram) {
	from := len(p.scratch)
	switch p.layout {
	case layoutCpp:
		p.line("_count", labels, float64(h.n))
		p.line("_sum", labels, h.sum)
		p.buckets(labels, h)
	case layoutPythonMulti:
		p.line("_sum", labels, h.sum)
		p.buckets(labels, h)
		p.line("_count", labels, float64(h.n))
	case layoutPython:
		p.buckets(labels, h)
		p.line("_count", labels, float64(h.n))
		p.line("_sum", labels, h.sum)
	case layoutRust:
		p.buckets(labels, h)
		p.line("_sum", labels, h.sum)
		p.line("_count", labels, float64(h.n))
	}
	p.end(labels, from)
}

func (p *page) buckets(labels string, h *histogram) {
	before, after := splitAt(labels, "le", p.layout)
	var total uint64
	for i, n := range h.counts {
		total += n
		p.scratch = append(p.scratch, p.name...)
		p.scratch = append(p.scratch, "_bucket{"...)
		p.scratch = append(p.scratch, before...)
		p.scratch = append(p.scratch, `le="`...)
		if i < len(h.bounds) {
			p.scratch = p.number(p.scratch, h.bounds[i])
		} else {
			p.scratch = append(p.scratch, "+Inf"...)
		}
		p.scratch = append(p.scratch, '"')
		p.scratch = append(p.scratch, after...)
		p.scratch = append(p.scratch, "} "...)
		p.scratch = p.number(p.scratch, float64(total))
		p.scratch = append(p.scratch, '\n')
	}
}

// addSummary writes one summary in prometheus-cpp's order: count, sum, quantiles.
func (p *page) addSummary(labels string, n uint64, sum float64, quantiles, values []float64) {
	from := len(p.scratch)
	p.line("_count", labels, float64(n))
	p.line("_sum", labels, sum)
	for i, q := range quantiles {
		p.scratch = append(p.scratch, p.name...)
		p.scratch = append(p.scratch, '{')
		p.scratch = append(p.scratch, labels...)
		p.scratch = append(p.scratch, `,quantile="`...)
		p.scratch = p.number(p.scratch, q)
		p.scratch = append(p.scratch, `"} `...)
		p.scratch = p.number(p.scratch, values[i])
		p.scratch = append(p.scratch, '\n')
	}
	p.end(labels, from)
}

func (p *page) line(suffix, labels string, v float64) {
	p.scratch = append(p.scratch, p.name...)
	p.scratch = append(p.scratch, suffix...)
	if labels != "" {
		p.scratch = append(p.scratch, '{')
		p.scratch = append(p.scratch, labels...)
		p.scratch = append(p.scratch, '}')
	}
	p.scratch = append(p.scratch, ' ')
	p.scratch = p.number(p.scratch, v)
	p.scratch = append(p.scratch, '\n')
}

func (p *page) end(labels string, from int) {
	p.blocks = append(p.blocks, block{hash: mix(p.seed, labels), from: from, to: len(p.scratch)})
}

func (p *page) flush() {
	if len(p.blocks) > 0 {
		name := p.name
		if p.openMetrics {
			name = strings.TrimSuffix(name, "_total")
		}
		p.out = append(p.out, "# HELP "+name+" "...)
		p.out = append(p.out, p.help...)
		p.out = append(p.out, "\n# TYPE "+name+" "...)
		p.out = append(p.out, p.kind...)
		p.out = append(p.out, '\n')
		if p.seed != 0 {
			slices.SortFunc(p.blocks, func(a, b block) int {
				if a.hash < b.hash {
					return -1
				}
				return 1
			})
		}
		for _, b := range p.blocks {
			p.out = append(p.out, p.scratch[b.from:b.to]...)
		}
	}
	p.scratch, p.blocks = p.scratch[:0], p.blocks[:0]
}

// bytes ends the page and hands it over.
func (p *page) bytes() []byte {
	p.flush()
	if p.openMetrics {
		p.out = append(p.out, "# EOF\n"...)
	}
	return p.out
}

// splitAt returns the label text before and after the place of a label called
// name: last for C++ and Rust, in the order of names for Python.
func splitAt(labels, name string, l layout) (before, after string) {
	if labels == "" {
		return "", ""
	}
	if l == layoutCpp || l == layoutRust {
		return labels + ",", ""
	}
	at := 0
	for at < len(labels) && labels[at:min(len(labels), at+len(name))] < name {
		next := strings.Index(labels[at:], `",`)
		if next < 0 {
			return labels + ",", ""
		}
		at += next + 2
	}
	return labels[:at], "," + labels[at:]
}

// pairs renders label names and values given in turn; names must come sorted.
func pairs(namesAndValues ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(namesAndValues[i])
		b.WriteString(`="`)
		b.WriteString(escapeLabel(namesAndValues[i+1]))
		b.WriteByte('"')
	}
	return b.String()
}

func escapeLabel(v string) string {
	if !strings.ContainsAny(v, "\\\"\n") {
		return v
	}
	v = strings.ReplaceAll(v, `\`, `\\`)
	v = strings.ReplaceAll(v, `"`, `\"`)
	return strings.ReplaceAll(v, "\n", `\n`)
}

// mix hashes a text with a seed (FNV-1a, then a finaliser so that near texts
// fall far apart).
func mix(seed uint64, text string) uint64 {
	h := uint64(14695981039346656037) ^ (seed * 0x9e3779b97f4a7c15)
	for i := range len(text) {
		h ^= uint64(text[i])
		h *= 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
