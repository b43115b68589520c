package exposition

import (
	"slices"
	"strings"
	"unique"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Family is the head of one metric family of a shape, named as in the text
// format (a counter of OpenMetrics carries its "_total" here).
type Family struct {
	Name string
	Help string
	Unit string
	Type model.MetricType

	first, end int
}

// Lines is the half-open range of the family's lines in its shape.
func (f *Family) Lines() (first, end int) { return f.first, f.end }

// line is one series: its rendered prefix ends at prefixEnd and its value is
// the span of that index in a block.
type line struct {
	prefixEnd uint32
	value     uint32
}

// Shape is what stays the same from scrape to scrape: families in the order
// of their names, and in each the rendered prefixes of its series in the
// order of the source. It never changes and is shared by blocks; two blocks
// of one shape differ in values only.
type Shape struct {
	families []Family
	lines    []line
	prefixes []byte
	drops    Drops
	utf8     bool
	watched  []Watched
}

// Watched is a series that [Options.Watch] asked for, as the server wrote it:
// without our labels, and also when relabeling keeps it off the page.
type Watched struct {
	Labels labels.Labels
	Type   model.MetricType

	value uint32
	// one keeps the labels once for all targets that show the series.
	one unique.Handle[labels.Labels]
}

// Watched are the watched series in the order of the source; the caller only
// reads.
func (s *Shape) Watched() []Watched { return s.watched }

// Families are the shape's families sorted by name; the caller only reads.
func (s *Shape) Families() []Family { return s.families }

// Lines is the number of series of the shape.
func (s *Shape) Lines() int { return len(s.lines) }

// Drops says how many series of the source the shape leaves out, and why.
func (s *Shape) Drops() Drops { return s.drops }

// segment is where the lines of one family stand in a shape: all that is
// needed to write them, so that a page of many shapes is read front to back.
type segment struct {
	lines    []line
	prefixes []byte
	start    uint32
}

// segment is the segment of family i.
func (s *Shape) segment(i int) segment {
	f := &s.families[i]
	seg := segment{lines: s.lines[f.first:f.end], prefixes: s.prefixes}
	if f.first > 0 {
		seg.start = s.lines[f.first-1].prefixEnd
	}
	return seg
}

// prefix is the rendered text of a line up to its value.
func (s *Shape) prefix(n int) []byte {
	start := uint32(0)
	if n > 0 {
		start = s.lines[n-1].prefixEnd
	}
	return s.prefixes[start:s.lines[n].prefixEnd]
}

// Labels are the labels of a line, name included, read back from its prefix.
// It allocates: rules call it once per shape, not once per scrape.
func (s *Shape) Labels(n int) labels.Labels {
	p := s.prefix(n)
	var split seriesSplitter
	lset, _ := split.labels(p[:len(p)-1])
	return lset
}

// series is one line while a shape is being built.
type series struct {
	family int
	prefix string
	value  int
}

// shapeBuilder gathers families and series in any order.
type shapeBuilder struct {
	families []Family
	index    map[string]int
	series   []series
	drops    Drops
	watched  []Watched
}

// family returns the index of the family of that name, made untyped when new.
func (b *shapeBuilder) family(name string) int {
	if i, ok := b.index[name]; ok {
		return i
	}
	if b.index == nil {
		b.index = make(map[string]int)
	}
	b.index[name] = len(b.families)
	b.families = append(b.families, Family{Name: name, Type: model.MetricTypeUnknown})
	return len(b.families) - 1
}

// build sorts families by name, keeps the order of series inside each, and
// leaves out families without series.
func (b *shapeBuilder) build() *Shape {
	rank := make([]int, len(b.families))
	for i := range rank {
		rank[i] = i
	}
	slices.SortFunc(rank, func(x, y int) int { return strings.Compare(b.families[x].Name, b.families[y].Name) })
	place := make([]int, len(rank))
	for at, i := range rank {
		place[i] = at
	}
	slices.SortStableFunc(b.series, func(x, y series) int { return place[x.family] - place[y.family] })

	total := 0
	for i := range b.series {
		total += len(b.series[i].prefix)
	}
	s := &Shape{
		lines:    make([]line, 0, len(b.series)),
		prefixes: make([]byte, 0, total),
		drops:    b.drops,
		watched:  b.watched,
	}
	for i := 0; i < len(b.series); {
		f := b.families[b.series[i].family]
		f.first = i
		for ; i < len(b.series) && place[b.series[i].family] == place[b.series[f.first].family]; i++ {
			s.prefixes = append(s.prefixes, b.series[i].prefix...)
			s.lines = append(s.lines, line{prefixEnd: uint32(len(s.prefixes)), value: uint32(b.series[i].value)})
			s.utf8 = s.utf8 || b.series[i].prefix[0] == '{'
		}
		f.end = i
		s.families = append(s.families, f)
	}
	s.utf8 = s.utf8 || quotedNames(s)
	return s
}

// quotedNames says whether any label name of the shape needs quotes, which
// the text format 0.0.4 has not got.
func quotedNames(s *Shape) bool {
	for n := range s.lines {
		p := s.prefix(n)
		for i := 1; i < len(p); i++ {
			if p[i] == '"' && (p[i-1] == '{' || p[i-1] == ',') {
				return slowQuotedNames(s)
			}
		}
	}
	return false
}

// slowQuotedNames decides by the labels themselves, for a value may hold the
// same bytes.
func slowQuotedNames(s *Shape) bool {
	for n := range s.lines {
		found := false
		s.Labels(n).Range(func(l labels.Label) {
			found = found || l.Name != model.MetricNameLabel && !model.LegacyValidation.IsValidLabelName(l.Name)
		})
		if found {
			return true
		}
	}
	return false
}
