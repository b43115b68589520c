package simulate

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// dialect describes how a client library writes a page.
type dialect struct {
	number func([]byte, float64) []byte
	// parts is the order inside a histogram: b(uckets), c(ount) and s(um).
	parts string
	// sorted sorts the label le among the others instead of appending it.
	sorted bool
	// sparse leaves out histograms without an observation.
	sparse bool
	// unended leaves out the newline at the end.
	unended bool
}

func cppDialect() dialect { return dialect{number: appendCpp, parts: "csb"} }

// pythonDialect returns the dialect of prometheus_client in its multiprocess mode.
func pythonDialect() dialect {
	return dialect{number: appendPython, parts: "sbc", sorted: true, sparse: true}
}

func rustDialect() dialect { return dialect{number: appendRust, parts: "bsc"} }

// page renders one page without empty families. With a seed, the series of a family are in an
// arbitrary but stable order, like those of an unordered_map.
type page struct {
	dialect
	seed uint64
	// written says what the release writes; prefix is what its names begin with. Of what it does not write,
	// lacked has the names and unlabeled the labels.
	written         written
	lacked          map[string]bool
	unlabeled       []string
	release, prefix string

	out              []byte
	kind, name, help string
	scratch          []byte // The series of the current family.
	series           []block
}

// block is the part of scratch with one series, histogram or summary.
type block struct {
	hash     uint64
	from, to int
}

// family starts a new family.
func (p *page) family(kind, name, help string) {
	p.flush()
	p.kind, p.name, p.help = kind, name, help
}

// one writes a family of one sample.
func (p *page) one(kind, name, help, labels string, v float64) {
	p.family(kind, name, help)
	p.add(labels, v)
}

// add writes one sample of the current family.
func (p *page) add(labels string, v float64) {
	labels = p.known(labels)
	p.line("", labels, v)
	p.end(labels)
}

// histogram writes a family of one histogram.
func (p *page) histogram(name, help, labels string, h *histogram) {
	p.family("histogram", name, help)
	p.addHistogram(labels, h)
}

// addCounts writes the samples of the current family that are not 0, by their labels.
func (p *page) addCounts(counts map[string]uint64) {
	for _, labels := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[labels]; n > 0 {
			p.add(labels, float64(n))
		}
	}
}

// addHistogram writes one histogram of the current family.
func (p *page) addHistogram(labels string, h *histogram) {
	if p.sparse && h.n == 0 {
		return
	}
	labels = p.known(labels)
	for _, part := range p.parts {
		switch part {
		case 'c':
			p.line("_count", labels, float64(h.n))
		case 's':
			p.line("_sum", labels, h.sum)
		default:
			p.buckets(labels, h)
		}
	}
	p.end(labels)
}

func (p *page) buckets(labels string, h *histogram) {
	before, after := labels+",", ""
	if p.sorted {
		before, after = around("le", labels)
	}
	var total uint64
	for i, n := range h.counts {
		total += n
		p.text(p.name, "_bucket{", before, `le="`)
		if i < len(h.bounds) {
			p.scratch = p.number(p.scratch, h.bounds[i])
		} else {
			p.text("+Inf")
		}
		p.text(`"`, after)
		p.value("} ", float64(total))
	}
}

// around splits sorted labels at the position of another label.
func around(name, labels string) (before, after string) {
	if labels == "" {
		return "", ""
	}
	parts := strings.SplitAfter(labels, `",`)
	if i := slices.IndexFunc(parts, func(label string) bool { return label > name }); i >= 0 {
		return strings.Join(parts[:i], ""), "," + strings.Join(parts[i:], "")
	}
	return labels + ",", ""
}

// with inserts another label into sorted labels.
func with(labels, name, value string) string {
	before, after := around(name, labels)
	return before + pairs(name, value) + after
}

// labeled inserts further labels, alternating names and values, into sorted labels.
func labeled(labels string, namesAndValues []string) string {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		labels = with(labels, namesAndValues[i], namesAndValues[i+1])
	}
	return labels
}

// addSummary writes one summary in prometheus-cpp's order: count, sum, quantiles.
func (p *page) addSummary(labels string, n uint64, sum float64, values []float64) {
	p.line("_count", labels, float64(n))
	p.line("_sum", labels, sum)
	for i, q := range quantiles() {
		p.text(p.name, "{", labels, `,quantile="`)
		p.scratch = p.number(p.scratch, q)
		p.value(`"} `, values[i])
	}
	p.end(labels)
}

// quantiles returns the quantiles of Triton's summaries.
func quantiles() []float64 { return []float64{0.5, 0.9, 0.95, 0.99, 0.999} }

func (p *page) line(suffix, labels string, v float64) {
	p.text(p.name, suffix)
	if labels != "" {
		p.text("{", labels, "}")
	}
	p.value(" ", v)
}

func (p *page) text(parts ...string) {
	for _, s := range parts {
		p.scratch = append(p.scratch, s...)
	}
}

// value writes a value and ends the line.
func (p *page) value(before string, v float64) {
	p.scratch = append(p.number(append(p.scratch, before...), v), '\n')
}

// end ends a series.
func (p *page) end(labels string) {
	from := 0
	if n := len(p.series); n > 0 {
		from = p.series[n-1].to
	}
	p.series = append(p.series, block{mix(p.seed, labels), from, len(p.scratch)})
}

func (p *page) flush() {
	if len(p.series) == 0 {
		return
	}
	defer func() { p.scratch, p.series = p.scratch[:0], p.series[:0] }()
	if !p.writes(p.name) {
		return
	}
	if p.help != "" {
		p.out = append(p.out, "# HELP "+p.name+" "+p.help+"\n"...)
	}
	p.out = append(p.out, "# TYPE "+p.name+" "+p.kind+"\n"...)
	if p.seed != 0 {
		slices.SortFunc(p.series, func(a, b block) int { return cmp.Compare(a.hash, b.hash) })
	}
	for _, s := range p.series {
		p.out = append(p.out, p.scratch[s.from:s.to]...)
	}
}

// bytes ends the page and returns it.
func (p *page) bytes() []byte {
	p.flush()
	if p.unended {
		return bytes.TrimSuffix(p.out, []byte("\n"))
	}
	return p.out
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// pairs renders alternating label names and values; the names must be sorted.
func pairs(namesAndValues ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(namesAndValues[i] + `="` + escapeLabel.Replace(namesAndValues[i+1]) + `"`)
	}
	return b.String()
}

// mix hashes a text with a seed by FNV-1a, with a finalizer to spread similar texts.
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

// appendCpp appends v like prometheus-cpp: up to 16 significant digits, an
// exponent from 1e16 on and below 1e-4, and "Nan" for not-a-number.
func appendCpp(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, "Nan"...)
	}
	return strconv.AppendFloat(dst, v, 'g', 16, 64)
}

// appendPython appends v like prometheus_client: the shortest text, 1 as 1.0.
func appendPython(dst []byte, v float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if bytes.ContainsAny(dst[start:], ".eNI") {
		return dst
	}
	return append(dst, ".0"...)
}

// appendPythonOld appends v with three exponent digits, as NIM 1.x: 1.15891634176e+011.
func appendPythonOld(dst []byte, v float64) []byte {
	return append(dst, bytes.Replace(appendPython(nil, v), []byte("e+"), []byte("e+0"), 1)...)
}

// appendRust appends v like the Rust crate: the shortest decimal text.
func appendRust(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', -1, 64) }

// histogram counts observations per bucket; the last of counts is for +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
	n      uint64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// The buckets of vLLM's histograms, which TensorRT-LLM uses too.

func firstTokenTimes() *histogram {
	return newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20,
		40, 80, 160, 640, 2560)
}

func tokenTimes() *histogram {
	return newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
}

func requestTimes() *histogram {
	return newHistogram(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
}

// tokenCounts ends at the longest context, here 32768 tokens.
func tokenCounts() *histogram {
	return newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
}

func (h *histogram) observe(v float64) { h.observeN(v, 1) }

// observeN adds n observations of the same value; a nil histogram ignores them.
func (h *histogram) observeN(v float64, n uint64) {
	if h == nil {
		return
	}
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += n
	h.sum += v * float64(n)
	h.n += n
}
