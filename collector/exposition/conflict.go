package exposition

import (
	"cmp"
	"iter"
	"slices"

	"github.com/prometheus/common/model"
)

// Values of [Conflict].Kind.
const (
	ConflictHelp = "help"
	ConflictType = "type"
)

// Conflict is a family for which a target differs from most others.
type Conflict struct {
	Family string
	// Kind is ConflictHelp or ConflictType.
	Kind string
	// Block is the index of the target's block.
	Block int
	// Value is the target's HELP or TYPE.
	Value string
}

const maxConflicts = 100

// Conflicts returns the first hundred conflicts. The caller must not change them.
func (l *Layout) Conflicts() []Conflict { return l.conflicts }

// recordConflicts records the refs with another value and returns 1 if there are any.
func (l *Layout) recordConflicts(f *mergedFamily, kind string, get func(*Family) string, value string) int {
	found := 0
	for i := range f.refs {
		if other := get(f.refs[i].source()); other != "" && other != value {
			found = 1
			if len(l.conflicts) < maxConflicts {
				l.conflicts = append(l.conflicts, Conflict{
					Family: f.name,
					Kind:   kind,
					Block:  int(f.refs[i].block),
					Value:  other,
				})
			}
		}
	}
	return found
}

// majority returns the most frequent non-empty value of the refs, the first one if several are.
func (f *mergedFamily) majority(get func(*Family) string) (best string) {
	first := get(f.refs[0].source())
	if !slices.ContainsFunc(f.refs[1:], func(r familyRef) bool { return get(r.source()) != first }) {
		return first
	}
	votes := make(map[string]int)
	for i := range f.refs {
		if value := get(f.refs[i].source()); value != "" {
			votes[value]++
		}
	}
	for i := range f.refs {
		if value := get(f.refs[i].source()); votes[value] > votes[best] {
			best = value
		}
	}
	return best
}

func helpOf(f *Family) string { return f.Help }

// typeOf returns the declared type, empty if there is none.
func typeOf(f *Family) string {
	if f.Type == model.MetricTypeUnknown {
		return ""
	}
	return string(f.Type)
}

// resolveTypes sets the type of each family, and splits families that cannot keep their type by
// sample name; see [Merger.Layout].
func (l *Layout) resolveTypes(index familyIndex) {
	claims := l.claims()
	var untyped []int
	for i := range l.families {
		f := &l.families[i]
		typ := f.majority(typeOf)
		f.typ = model.MetricType(cmp.Or(typ, string(model.MetricTypeUnknown)))
		agreed := f.typesAgree()
		if !agreed {
			l.stats.TypeConflicts += l.recordConflicts(f, ConflictType, typeOf, typ)
		}
		if l.clashes(i, claims) || !agreed {
			untyped = append(untyped, i)
		}
	}
	for _, i := range untyped {
		l.families[i].typ = model.MetricTypeUnknown
		l.untype(index, i)
	}
	l.families = slices.DeleteFunc(l.families, func(f mergedFamily) bool { return len(f.refs) == 0 })
	if len(untyped) > 0 {
		for i := range l.families {
			slices.SortStableFunc(l.families[i].refs, func(a, b familyRef) int { return cmp.Compare(a.block, b.block) })
		}
	}
}

// typesAgree reports whether all targets declare the type of the family. For other types than
// histogram and summary, a target may also declare none.
func (f *mergedFamily) typesAgree() bool {
	return !slices.ContainsFunc(f.refs, func(r familyRef) bool {
		typ := r.source().Type
		return typ != f.typ && (typ != model.MetricTypeUnknown || !scalar(f.typ))
	})
}

// claims returns the families that claim each name, for themselves or for their samples.
func (l *Layout) claims() map[string][]int {
	all := make(map[string][]int, len(l.families))
	for i := range l.families {
		for name := range l.families[i].names() {
			if claims := all[name]; len(claims) == 0 || claims[len(claims)-1] != i {
				all[name] = append(claims, i)
			}
		}
	}
	return all
}

// names returns the names that the family claims under any of its declared types.
func (f *mergedFamily) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		var types []model.MetricType
		for j := range f.refs {
			typ := f.refs[j].source().Type
			if slices.Contains(types, typ) {
				continue
			}
			types = append(types, typ)
			for _, name := range sampleNames(f.name, typ) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// clashes reports whether another family claims a name of family i. The conflict is recorded for
// the family that fewer targets have.
func (l *Layout) clashes(i int, claims map[string][]int) bool {
	f := &l.families[i]
	for name := range f.names() {
		for _, other := range claims[name] {
			if other == i {
				continue
			}
			o := &l.families[other]
			if len(f.refs) < len(o.refs) || len(f.refs) == len(o.refs) && scalar(f.typ) {
				l.recordConflicts(f, ConflictType, typeOf, "")
			}
			if f.typ != model.MetricTypeUnknown {
				l.stats.TypeConflicts++
			}
			return true
		}
	}
	return false
}

// untype moves the lines of family i, if it has several sample names, to families of these names.
func (l *Layout) untype(index familyIndex, i int) {
	refs := l.families[i].refs
	l.families[i].refs = nil
	for j := range refs {
		if scalar(refs[j].source().Type) {
			l.families[i].refs = append(l.families[i].refs, refs[j])
		} else {
			l.families = index.add(l.families, refs[j].split(), refs[j].block)
		}
	}
}

// split returns the lines of the family as a shape with one family per sample name. They are
// untyped, because type and HELP of the family do not apply to its samples alone.
func (r *familyRef) split() *Shape {
	f, seg := r.source(), r.segment()
	names := make([]string, 0, len(seg.lines))
	for _, prefix := range seg.prefixes() {
		names = append(names, unescape(rawName(prefix[:len(prefix)-1])))
	}
	split := &Shape{local: seg.local}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		part := Family{
			Name:     name,
			Type:     model.MetricTypeUnknown,
			first:    len(split.lines),
			text:     f.text,
			selector: r.selector(),
		}
		if name == f.Name {
			part.Help = f.Help
		}
		for i := range names {
			if names[i] == name {
				split.lines = append(split.lines, seg.lines[i])
				split.indexes = append(split.indexes, seg.indexes[i])
			}
		}
		part.end = len(split.lines)
		split.families = append(split.families, part)
	}
	return split
}
