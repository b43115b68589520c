package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// NewRelabeled is [NewComputed] for series that get their labels from a
// labeler, as those of a page do, once; nil leaves them as they are. Series that
// it drops, that are not valid then, or that equal one that is there already
// are absent, whatever they are set to. There already are those of the shapes
// before, and of equal ones the first. A series that gets another name belongs
// to the family of that name, or is untyped, as on a page that is parsed.
func NewRelabeled(all []ComputedSeries, label Labeler, before ...*Shape) *Computed {
	if label == nil {
		return NewComputed(all)
	}
	return newComputed(all, func(aside bool) *shapeBuilder { return relabelled(all, aside, label, before) })
}

// relabelled are the series that are on the page, or those aside, with the labels
// that a labeler gives them.
func relabelled(all []ComputedSeries, aside bool, label Labeler, before []*Shape) *shapeBuilder {
	var meta metadata
	for i := range all {
		f := &all[i].Family
		m := meta.get(f.Name)
		m.help, m.unit, m.typ, m.now = f.Help, f.Unit, f.Type, f.Type
	}
	b := &shapeBuilder{series: make([]series, 0, len(all))}
	line := liner{opts: &Options{Label: label}}
	builder := labels.NewBuilder(labels.EmptyLabels())
	seen := make(map[string]struct{}, len(all))
	for i := range all {
		if all[i].Omit || all[i].Hidden != aside {
			continue
		}
		builder.Reset(all[i].Labels)
		builder.Set(model.MetricNameLabel, all[i].Family.Name+all[i].Suffix)
		k := line.render(builder.Labels())
		if k.drop != "" {
			continue
		}
		families := len(b.families)
		family := meta.place(b, kindText, k.name)
		if len(b.families) > families {
			note(seen, before, &b.families[family])
		}
		identity, drop := k.lint(&b.families[family])
		if _, twice := seen[identity]; drop != "" || twice {
			continue
		}
		seen[identity] = struct{}{}
		b.series = append(b.series, series{family: family, prefix: k.prefix, value: i})
	}
	return b
}

// note notes the series of shapes that a family may have too: they are in one of
// that name, or in one with its name for a sample, or that has a sample of its name.
func note(seen map[string]struct{}, shapes []*Shape, f *Family) {
	names := sampleNames(f.Name, f.Type)
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if parent, ok := strings.CutSuffix(f.Name, suffix); ok {
			names = append(names, parent)
		}
	}
	for _, s := range shapes {
		for _, name := range names {
			s.note(seen, name)
		}
	}
}

// note notes the series of the family of that name, if there is one.
func (s *Shape) note(seen map[string]struct{}, name string) {
	if s == nil {
		return
	}
	i, has := slices.BinarySearchFunc(s.families, name, func(f Family, name string) int { return strings.Compare(f.Name, name) })
	if !has {
		return
	}
	seg, start := s.segment(i), uint32(0)
	for n := range seg.lines {
		seen[string(seg.appendPrefix(nil, start, &seg.lines[n]))] = struct{}{}
		start = seg.lines[n].end
	}
}
