package exposition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// Values of [Conflict].Kind.
const (
	ConflictHelp = "help"
	ConflictType = "type"
	ConflictUnit = "unit"
)

// Conflict is a family for which a target differs from most others.
type Conflict struct {
	Family string
	// Kind is ConflictHelp, ConflictType or ConflictUnit.
	Kind string
	// Block is the index of the target's block.
	Block int
	// Value is the target's HELP, TYPE or UNIT.
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
				l.conflicts = append(l.conflicts, Conflict{f.name, kind, int(f.refs[i].block), other})
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

func unitOf(f *Family) string { return f.Unit }

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
		return typ != f.typ && (typ != model.MetricTypeUnknown || !scalar(f.typ)) || r.source().malformed
	})
}

// claim is the use of a name by a family, for itself or for its samples. A weak claim, for a name
// that only OpenMetrics reserves, yields to others.
type claim struct {
	family int
	weak   bool
}

func (l *Layout) claims() map[string][]claim {
	all := make(map[string][]claim, len(l.families))
	for i := range l.families {
		l.eachName(i, func(name string, weak bool) {
			if claims := all[name]; len(claims) == 0 || claims[len(claims)-1].family != i {
				all[name] = append(claims, claim{i, weak})
			}
		})
	}
	return all
}

// eachName calls do for each name that family i claims under any of its declared types.
func (l *Layout) eachName(i int, do func(name string, weak bool)) {
	f := &l.families[i]
	var types []model.MetricType
	for j := range f.refs {
		typ := f.refs[j].source().Type
		if slices.Contains(types, typ) {
			continue
		}
		types = append(types, typ)
		for _, name := range sampleNames(f.name, typ) {
			do(name, false)
		}
		for _, name := range l.dialect.extraNames(f.name, typ) {
			do(name, true)
		}
	}
}

// clashes reports whether another family claims a name of family i. The conflict is recorded for
// the family that fewer targets have.
func (l *Layout) clashes(i int, claims map[string][]claim) (clash bool) {
	f := &l.families[i]
	l.eachName(i, func(name string, weak bool) {
		for _, other := range claims[name] {
			if other.family == i || other.weak && !weak {
				continue
			}
			o := &l.families[other.family]
			if !clash && !weak && (len(f.refs) < len(o.refs) || len(f.refs) == len(o.refs) && scalar(f.typ)) {
				l.recordConflicts(f, ConflictType, typeOf, "")
			}
			if !clash && !weak && f.typ != model.MetricTypeUnknown {
				l.stats.TypeConflicts++
			}
			clash = true
		}
	})
	return clash
}

// untype moves the lines of family i, if it has several sample names, to families of these names.
func (l *Layout) untype(index familyIndex, i int) {
	refs := l.families[i].refs
	l.families[i].refs = nil
	for j := range refs {
		if f := refs[j].source(); scalar(f.Type) && f.roles == nil {
			l.families[i].refs = append(l.families[i].refs, refs[j])
		} else {
			l.families = index.add(l.families, refs[j].split(), refs[j].block)
		}
	}
}

// splitFamily returns the lines of a family as one family per sample name.
func (l *Layout) splitFamily(f *mergedFamily) (families []mergedFamily) {
	index := make(familyIndex)
	for i := range f.refs {
		families = index.add(families, f.refs[i].split(), f.refs[i].block)
	}
	for i := range families {
		l.setHead(&families[i])
	}
	return families
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
		part := Family{Name: name, Type: model.MetricTypeUnknown, first: len(split.lines), text: f.text, selector: r.selector()}
		if name == f.Name {
			part.Help, part.Unit = f.Help, f.Unit
		}
		for i := range names {
			if names[i] == name {
				split.lines, split.indexes = append(split.lines, seg.lines[i]), append(split.indexes, seg.indexes[i])
			}
		}
		part.end = len(split.lines)
		split.families = append(split.families, part)
	}
	return split
}

// setHead renders HELP, TYPE and UNIT of a family after its type was resolved, and returns them.
func (l *Layout) setHead(f *mergedFamily) Family {
	meta := Family{Name: f.name, Type: f.typ, Help: f.majority(helpOf), Unit: f.majority(unitOf)}
	f.head = l.dialect.appendHead(nil, &meta)
	f.renamed = slices.ContainsFunc(f.refs, func(r familyRef) bool { return r.selector() != f.name })
	return meta
}

// sampleNames returns the sample names of a family in the text format, and its own name.
func sampleNames(name string, typ model.MetricType) []string {
	switch typ {
	case model.MetricTypeHistogram:
		return []string{name, name + "_bucket", name + "_count", name + "_sum"}
	case model.MetricTypeSummary:
		return []string{name, name + "_count", name + "_sum"}
	default:
		return []string{name}
	}
}

// extraNames returns the additional names that OpenMetrics reserves for a family.
func (d dialect) extraNames(name string, typ model.MetricType) []string {
	base, total := strings.CutSuffix(name, "_total")
	switch {
	case !d.compound(name, typ) || !d.openMetrics:
		return nil
	case typ == model.MetricTypeCounter && total:
		return []string{base, base + "_created"}
	default:
		return []string{name + "_created"}
	}
}

// compound reports whether a family has several sample names in the dialect.
func (d dialect) compound(name string, typ model.MetricType) bool {
	return !scalar(typ) || d.openMetrics && typ == model.MetricTypeCounter && strings.HasSuffix(name, "_total")
}

func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}
