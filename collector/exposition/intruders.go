package exposition

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// intruders makes the lines that are named like samples of family i part of it,
// or splits the family when that cannot be.
func (r *resolver) intruders(i int) bool {
	f := &r.families[i]
	if !r.in.compound(f.name, f.typ) || len(f.refs) == 0 {
		return false
	}
	from := []int{i}
	found, yields := r.hasScalars(f), false
	for _, name := range r.in.sampleNames(f.name, f.typ)[1:] {
		other, ok := r.index[name]
		if !ok || len(r.families[other].refs) == 0 {
			continue
		}
		found = true
		from = append(from, other)
		yields = r.clash(i, other) || yields
	}
	if r.shadowed(f) {
		found, yields = true, true
	}
	if !found || !yields && r.absorb(i, from) {
		return found
	}
	r.count(f.name)
	won := f.typ
	r.splitWhere(i, func(one *ref) bool { return r.compound(one) || r.source(one).Type == won })
	r.families[i].typ = r.elect(i)
	return true
}

// shadowed says whether the name that a counter has in OpenMetrics, without
// "_total", is that of a sample of another family.
func (r *resolver) shadowed(f *mergedFamily) bool {
	base, _ := strings.CutSuffix(f.name, "_total")
	if f.typ != model.MetricTypeCounter {
		return false
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum", "_created"} {
		parent, ok := strings.CutSuffix(base, suffix)
		if !ok {
			continue
		}
		for _, name := range []string{parent, parent + "_total"} {
			at, ok := r.index[name]
			if ok && len(r.families[at].refs) > 0 && slices.Contains(r.in.sampleNames(name, r.families[at].typ), base) {
				return true
			}
		}
	}
	return false
}

// hasScalars says whether single values are in the histogram or summary.
func (r *resolver) hasScalars(f *mergedFamily) bool {
	return !scalar(f.typ) && slices.ContainsFunc(f.refs, func(one ref) bool { return scalar(r.source(&one).Type) })
}

// clash says whether family i gives way to one that is named like a sample of
// it, and notes the targets of the one that does when the other states a type.
func (r *resolver) clash(i, other int) (yields bool) {
	f, o := &r.families[i], &r.families[other]
	yields = r.yields(f, o)
	odd := o
	if yields {
		odd = f
	}
	if o.typ != model.MetricTypeUnknown && !r.counted[f.name] {
		r.differ(odd, DiffersType, stated, "")
		r.count(f.name)
	}
	return yields
}

// yields says whether family f gives way to one that is named like a sample of
// it: when that one's type is stated and more targets have it, or as many and
// it was there first.
func (r *resolver) yields(f, o *mergedFamily) bool {
	switch {
	case r.in.compound(o.name, o.typ) || f.typ == model.MetricTypeCounter && o.typ != model.MetricTypeUnknown:
		return true
	case o.typ == model.MetricTypeUnknown:
		return false
	case len(f.refs) != len(o.refs):
		return len(f.refs) < len(o.refs)
	}
	return r.before[o.name] != nil && r.before[f.name] == nil
}

// absorb makes all single values of the families part of the histogram or
// summary i; false when some cannot be, and then nothing is moved.
func (r *resolver) absorb(i int, from []int) bool {
	whole := Family{Name: r.families[i].name, Type: r.families[i].typ}
	var parts []part
	blocks, lines := r.intruding(from, whole.Type)
	for _, block := range blocks {
		own := whole
		for j := range r.families[i].refs {
			if one := &r.families[i].refs[j]; one.block == block && r.source(one).Type == whole.Type {
				own = *r.source(one)
			}
		}
		p, ok := r.in.arrange(own, lines[block], whole.Name)
		if !ok || r.in.openMetrics && !sameLines(&p.segment, lines[block]) {
			return false
		}
		parts = append(parts, p)
	}
	for _, at := range from {
		f := &r.families[at]
		f.refs = slices.DeleteFunc(f.refs, func(one ref) bool { return lines[one.block] != nil })
	}
	for j, block := range blocks {
		r.move(block, parts[j])
	}
	return true
}

// sameLines says whether the lines of a segment are still those of the entries,
// in any order: a target's lines do not change their words for another's sake.
func sameLines(s *segment, entries []entry) bool {
	was := make(map[uint32]labels.Labels, len(entries))
	for _, one := range entries {
		was[one.value] = one.labels
	}
	return !slices.ContainsFunc(s.entries(), func(one entry) bool { return !labels.Equal(one.labels, was[one.value]) })
}

// intruding gives the blocks that have lines in one of the families that are not
// yet part of the first, which is of the type, and all their lines in them.
func (r *resolver) intruding(families []int, typ model.MetricType) (blocks []int32, lines map[int32][]entry) {
	lines = make(map[int32][]entry)
	for _, at := range families {
		for j := range r.families[at].refs {
			one := &r.families[at].refs[j]
			intrudes := at != families[0] || !scalar(typ) && scalar(r.source(one).Type)
			if intrudes && lines[one.block] == nil {
				blocks = append(blocks, one.block)
				lines[one.block] = []entry{}
			}
		}
	}
	for _, at := range families {
		for j := range r.families[at].refs {
			one := &r.families[at].refs[j]
			if seg := r.segment(one); lines[one.block] != nil {
				lines[one.block] = append(lines[one.block], seg.entries()...)
			}
		}
	}
	return blocks, lines
}
