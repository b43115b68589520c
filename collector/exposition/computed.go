package exposition

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// ComputedSeries is one series whose values the exporter itself computes.
type ComputedSeries struct {
	// Family heads the series; families of one name must be equal.
	Family Family
	// Suffix is what the sample name adds to the family's, as "_bucket";
	// empty for all but histograms and summaries.
	Suffix string
	// Labels are the series' labels without the name.
	Labels labels.Labels
	// Omit leaves the series out, whatever it is set to; Hidden keeps it from the
	// page alone, see [Shape.Hidden].
	Omit, Hidden bool
}

// Computed makes blocks of computed series, all of one shape. It is not safe
// for concurrent use; its blocks are once they are published.
type Computed struct {
	shape *Shape
}

// NewComputed renders the series; their places in the slice are the numbers
// by which [Block.Set] knows them. Equal series must not be given twice.
func NewComputed(all []ComputedSeries) *Computed {
	return newComputed(all, func(aside bool) *shapeBuilder { return plainly(all, aside) })
}

// plainly are the series that are on the page, or those aside, with their labels
// as they are.
func plainly(all []ComputedSeries, aside bool) *shapeBuilder {
	b := &shapeBuilder{series: make([]series, 0, len(all))}
	var buf []byte
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i := range all {
		s := &all[i]
		if s.Omit || s.Hidden != aside {
			continue
		}
		family := b.family(s.Family.Name)
		b.families[family] = s.Family
		builder.Reset(s.Labels)
		builder.Set(model.MetricNameLabel, s.Family.Name+s.Suffix)
		buf = appendPrefix(buf[:0], builder.Labels())
		b.series = append(b.series, series{family: family, prefix: string(buf), value: i})
	}
	return b
}

// newComputed makes blocks with a value for each of all series, which are on the
// page or aside.
func newComputed(all []ComputedSeries, of func(aside bool) *shapeBuilder) *Computed {
	shape := of(false).build()
	shape.values = len(all)
	if slices.ContainsFunc(all, func(s ComputedSeries) bool { return s.Hidden }) {
		shape.aside = of(true).build()
	}
	return &Computed{shape: shape}
}

// Hidden are the series of computed blocks whose values are known and on no page:
// readers of single numbers have them, see [Shape.ValueIndexes]. It is nil for none.
func (s *Shape) Hidden() *Shape { return s.aside }

// Block returns a block in which every value is absent.
func (c *Computed) Block() *Block {
	return &Block{shape: c.shape, spans: make([]Span, c.shape.values), data: make([]byte, 0, usualValue*c.shape.values)}
}

// Set gives series n of a computed block its value. A block that was published
// must not be set any more.
func (b *Block) Set(n int, v float64) {
	b.Took(n, AppendFloat(b.data, v))
}
