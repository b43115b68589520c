package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// ComputedSeries is a series whose values the exporter computes.
type ComputedSeries struct {
	// Family is the family of the series. Families with the same name must be equal.
	Family Family
	// Suffix is the suffix of the sample name of a histogram or summary, such as "_bucket".
	Suffix string
	// Labels are the labels without the name.
	Labels labels.Labels
	// Omit leaves the series out. A Hidden series has a value but is not written, see
	// [Shape.Hidden].
	Omit, Hidden bool
}

// NewComputed returns the shape of computed series, labeled by label unless it is nil. [Block.Set]
// refers to a series by its index in the slice.
//
// A series is absent, even if it is set, if it is dropped, invalid after relabeling, equal to an
// earlier one or, with a labeler, equal to a series of the existing shapes. A series that gets a
// new name joins the family of that name or is untyped, as on a parsed page.
func NewComputed(all []ComputedSeries, label Labeler, existing ...*Shape) *Shape {
	if label == nil {
		existing = nil
	}
	shape := renderComputed(all, false, label, existing).build()
	shape.computed = len(all)
	if slices.ContainsFunc(all, func(s ComputedSeries) bool { return s.Hidden }) {
		shape.hidden = renderComputed(all, true, label, existing).build()
	}
	return shape
}

// typicalValueBytes is the usual length of a computed value.
const typicalValueBytes = 8

// Block returns a block of computed series in which every value is absent.
func (s *Shape) Block() *Block {
	return &Block{
		shape: s,
		spans: make([]Span, s.computed),
		data:  make([]byte, 0, typicalValueBytes*s.computed),
	}
}

// Set sets the value of series n of a computed block, which must not be published yet.
func (b *Block) Set(n int, v float64) {
	b.setAppended(n, AppendFloat(b.data, v))
}

// SetShort is Set with at most twelve digits, for rates and ratios.
func (b *Block) SetShort(n int, v float64) {
	b.setAppended(n, appendShort(b.data, v))
}

// renderComputed adds the labeled series, either the written or the hidden ones.
func renderComputed(all []ComputedSeries, hidden bool, label Labeler, existing []*Shape) *shapeBuilder {
	var meta metadata
	for i := range all {
		f := &all[i].Family
		m := meta.get(f.Name)
		m.help, m.typ, m.current = f.Help, f.Type, f.Type
	}
	b := &shapeBuilder{series: make([]series, 0, len(all))}
	renderer := seriesRenderer{
		opts:  &Options{},
		label: label,
	}
	builder := labels.NewBuilder(labels.EmptyLabels())
	seen := make(map[string]struct{}, len(all))
	for i := range all {
		if all[i].Omit || all[i].Hidden != hidden {
			continue
		}
		builder.Reset(all[i].Labels)
		builder.Set(model.MetricNameLabel, all[i].Family.Name+all[i].Suffix)
		rendered := renderer.render(builder.Labels())
		if rendered.drop != "" {
			continue
		}
		families := len(b.families)
		family := meta.familyIndex(b, formatText, rendered.name)
		if len(b.families) > families {
			addExisting(seen, existing, &b.families[family])
		}
		identity, drop := rendered.lint(&b.families[family])
		if _, duplicate := seen[identity]; drop != "" || duplicate {
			continue
		}
		seen[identity] = struct{}{}
		b.series = append(b.series, series{
			family: family,
			prefix: rendered.prefix,
			value:  i,
		})
	}
	return b
}

// addExisting adds the series of the shapes that may equal a series of f: those of families that
// are named like f or one of its samples, or have a sample that is named like f.
func addExisting(seen map[string]struct{}, shapes []*Shape, f *Family) {
	names := sampleNames(f.Name, f.Type)
	for _, suffix := range sampleSuffixes(model.MetricTypeHistogram) {
		if parent, ok := strings.CutSuffix(f.Name, suffix); ok {
			names = append(names, parent)
		}
	}
	for _, s := range shapes {
		if s == nil {
			continue
		}
		for _, name := range names {
			i, ok := slices.BinarySearchFunc(s.families, name, func(f Family, name string) int {
				return strings.Compare(f.Name, name)
			})
			if !ok {
				continue
			}
			seg := s.segment(i)
			for _, prefix := range seg.prefixes() {
				seen[string(prefix)] = struct{}{}
			}
		}
	}
}
