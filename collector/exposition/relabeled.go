package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// NewRelabeled is [NewComputed] with a labeler, which is called once for each series;
// nil leaves series as they are. A series that is dropped, invalid after relabeling,
// or equal to an earlier one or to one of the shapes before is absent, whatever it is
// set to. A series with a new name joins the family of that name or is untyped, as on a
// parsed page.
func NewRelabeled(all []ComputedSeries, label Labeler, before ...*Shape) *Computed {
	if label == nil {
		return NewComputed(all)
	}
	return newComputed(all, func(hidden bool) *shapeBuilder { return relabeled(all, hidden, label, before) })
}

// relabeled adds the relabeled series, either the written or the hidden ones.
func relabeled(all []ComputedSeries, hidden bool, label Labeler, before []*Shape) *shapeBuilder {
	var meta metadata
	for i := range all {
		f := &all[i].Family
		m := meta.get(f.Name)
		m.help, m.unit, m.typ, m.current = f.Help, f.Unit, f.Type, f.Type
	}
	b := &shapeBuilder{series: make([]series, 0, len(all))}
	renderer := seriesRenderer{opts: &Options{Label: label}}
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
			addExisting(seen, before, &b.families[family])
		}
		identity, drop := rendered.lint(&b.families[family])
		if _, duplicate := seen[identity]; drop != "" || duplicate {
			continue
		}
		seen[identity] = struct{}{}
		b.series = append(b.series, series{family: family, prefix: rendered.prefix, value: i})
	}
	return b
}

// addExisting adds the series of shapes that may equal those of a family: the series of
// families with its name, with the name of one of its samples, or with a sample of its
// name.
func addExisting(seen map[string]struct{}, shapes []*Shape, f *Family) {
	names := sampleNames(f.Name, f.Type)
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if parent, ok := strings.CutSuffix(f.Name, suffix); ok {
			names = append(names, parent)
		}
	}
	for _, s := range shapes {
		if s == nil {
			continue
		}
		for _, name := range names {
			i, ok := slices.BinarySearchFunc(s.families, name, func(f Family, name string) int { return strings.Compare(f.Name, name) })
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
