package exposition

import (
	"slices"

	"github.com/prometheus/common/model"
)

// intruders makes the lines that are named like samples of the histogram or
// summary i part of it, or splits it when that cannot be.
func (r *resolver) intruders(i int) bool {
	f := &r.families[i]
	if scalar(f.typ) || len(f.refs) == 0 {
		return false
	}
	from := []int{i}
	found, yields := r.hasScalars(f), false
	for _, name := range sampleNames(f.name, f.typ)[1:] {
		other, ok := r.index[name]
		if !ok || len(r.families[other].refs) == 0 {
			continue
		}
		found = true
		from = append(from, other)
		yields = r.clash(i, other) || yields
	}
	if !found || !yields && r.absorb(i, from) {
		return found
	}
	r.count(f.name)
	r.splitWhere(i, func(typ model.MetricType) bool { return !scalar(typ) })
	r.families[i].typ = r.elect(i)
	return true
}

// hasScalars says whether single values are in the family.
func (r *resolver) hasScalars(f *mergedFamily) bool {
	return slices.ContainsFunc(f.refs, func(one ref) bool { return scalar(r.source(&one).Type) })
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
	case !scalar(o.typ):
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
	blocks, lines := r.intruding(from)
	for _, block := range blocks {
		own := whole
		for j := range r.families[i].refs {
			if one := &r.families[i].refs[j]; one.block == block && !scalar(r.source(one).Type) {
				own = *r.source(one)
			}
		}
		p, ok := arrange(own, lines[block], whole.Name)
		if !ok {
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

// intruding gives the blocks that have single values in one of the families,
// and all their lines in them.
func (r *resolver) intruding(families []int) (blocks []int32, lines map[int32][]entry) {
	lines = make(map[int32][]entry)
	for _, at := range families {
		for j := range r.families[at].refs {
			one := &r.families[at].refs[j]
			if scalar(r.source(one).Type) && lines[one.block] == nil {
				blocks = append(blocks, one.block)
				lines[one.block] = []entry{}
			}
		}
	}
	for _, at := range families {
		for j := range r.families[at].refs {
			one := &r.families[at].refs[j]
			if lines[one.block] != nil {
				lines[one.block] = append(lines[one.block], one.entries()...)
			}
		}
	}
	return blocks, lines
}
