package exposition

import (
	"iter"
	"slices"
	"unique"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Family is the metadata of one metric family of a shape, named as in the text
// format: an OpenMetrics counter includes its "_total" here.
type Family struct {
	Name string
	Help string
	Type model.MetricType

	first, end int
	// text holds the prefixes of its lines without local values.
	text unique.Handle[string]
	// selector is the name by which the family is selected, if its own name is escaped.
	selector string
}

// Lines returns the half-open range of the family's lines in its shape.
func (f *Family) Lines() (first, end int) { return f.first, f.end }

// Shape is the part of a page that stays the same from scrape to scrape: families sorted by name,
// and the rendered prefixes of their lines. It is immutable and shared by blocks.
type Shape struct {
	families []Family
	lines    []line
	// indexes holds the value indexes of the lines.
	indexes []uint32
	// local holds the label values that are not in the shared text, see [localLabels].
	local []string
	// interned keeps the lists that shapes share alive: families, lines and indexes.
	interned [3]any
	// computed is the number of values in a computed block.
	computed int
	hidden   *Shape
	drops    Drops
	leftOut  LeftOut
	cost     Volume
	utf8     bool
	watched  *[]watchedSeries
	// gpus holds the values of gpu_uuid in the labels of watched series.
	gpus []string
}

func (s *Shape) equal(o *Shape) bool {
	return s.interned == o.interned &&
		s.watched == o.watched &&
		slices.Equal(s.local, o.local) &&
		slices.Equal(s.gpus, o.gpus) &&
		s.drops == o.drops &&
		s.cost == o.cost &&
		s.leftOut.Series == o.leftOut.Series &&
		slices.Equal(s.leftOut.Names, o.leftOut.Names)
}

// Families returns the families sorted by name. The caller must not change them.
func (s *Shape) Families() []Family { return s.families }

// Lines returns the number of series of the shape.
func (s *Shape) Lines() int { return len(s.lines) }

// LeftOut returns the series of the source that exceed the output limits.
func (s *Shape) LeftOut() LeftOut { return s.leftOut }

// Cost returns the cost of the series, zero without output limits.
func (s *Shape) Cost() Volume { return s.cost }

// Drops returns the number of dropped series of the source, by reason.
func (s *Shape) Drops() Drops { return s.drops }

// Hidden returns the series of computed blocks that have values but are not written,
// nil if there are none. Their values are read by [Shape.ValueIndexes].
func (s *Shape) Hidden() *Shape { return s.hidden }

// ValueIndexes returns the value indexes of lines of a computed block.
func (s *Shape) ValueIndexes(lines []int) []ValueIndex {
	indexes := make([]ValueIndex, len(lines))
	for i, n := range lines {
		indexes[i] = ValueIndex(s.indexes[n])
	}
	return indexes
}

// Labels returns the labels of a line, including the name, parsed from its prefix.
// It allocates: call it once per shape, not once per scrape.
func (s *Shape) Labels(n int) labels.Labels {
	i, _ := slices.BinarySearchFunc(s.families, n, func(f Family, n int) int { return f.end - (n + 1) })
	seg := s.segment(i)
	return parsePrefix(seg.appendPrefix(nil, &s.lines[n]))
}

type segment struct {
	lines   []line
	indexes []uint32
	text    string
	local   []string
}

func (s *Shape) segment(i int) segment {
	f := &s.families[i]
	return segment{
		lines:   s.lines[f.first:f.end],
		indexes: s.indexes[f.first:f.end],
		text:    f.text.Value(),
		local:   s.local,
	}
}

// prefixes returns the prefixes of the lines. A prefix is valid until the next one.
func (s *segment) prefixes() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		var buf []byte
		for i := range s.lines {
			buf = s.appendPrefix(buf[:0], &s.lines[i])
			if !yield(i, buf) {
				return
			}
		}
	}
}
