package exposition

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// ComputedSeries is a series whose values the exporter computes.
type ComputedSeries struct {
	// Family is the family of the series; families of one name must be equal.
	Family Family
	// Suffix is the suffix of the sample name of a histogram or summary, as "_bucket".
	Suffix string
	// Labels are the labels without the name.
	Labels labels.Labels
	// Omit leaves the series out; Hidden keeps its value but does not write it, see
	// [Shape.Hidden].
	Omit, Hidden bool
}

// Computed creates blocks of computed series of one shape.
type Computed struct {
	shape *Shape
}

// NewComputed renders the series, which must differ. Their positions in the slice are
// the numbers that [Block.Set] takes.
func NewComputed(all []ComputedSeries) *Computed {
	return newComputed(all, func(hidden bool) *shapeBuilder { return unchanged(all, hidden) })
}

// unchanged adds the series with their own labels, either the written or the hidden ones.
func unchanged(all []ComputedSeries, hidden bool) *shapeBuilder {
	b := &shapeBuilder{series: make([]series, 0, len(all))}
	var buf []byte
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i := range all {
		s := &all[i]
		if s.Omit || s.Hidden != hidden {
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

func newComputed(all []ComputedSeries, render func(hidden bool) *shapeBuilder) *Computed {
	shape := render(false).build()
	shape.computed = len(all)
	if slices.ContainsFunc(all, func(s ComputedSeries) bool { return s.Hidden }) {
		shape.hidden = render(true).build()
	}
	return &Computed{shape: shape}
}

// Block returns a block in which every value is absent.
func (c *Computed) Block() *Block {
	return &Block{shape: c.shape, spans: make([]Span, c.shape.computed), data: make([]byte, 0, typicalValueBytes*c.shape.computed)}
}

// Set sets the value of series n of a computed block, which must not be published yet.
func (b *Block) Set(n int, v float64) {
	b.setAppended(n, AppendFloat(b.data, v))
}

// SetShort is Set with at most twelve digits, for rates and ratios.
func (b *Block) SetShort(n int, v float64) {
	b.setAppended(n, appendShort(b.data, v))
}
