package exposition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// The values of [Conflict].Kind.
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

// maxConflicts limits [Layout.Conflicts].
const maxConflicts = 100

// Conflicts returns the first hundred conflicts. The caller must not change them.
func (l *Layout) Conflicts() []Conflict { return l.conflicts }

// recordConflicts lists the refs with another value and returns 1 if there are any.
func (l *Layout) recordConflicts(f *mergedFamily, kind string, get func(*Family) string, value string) int {
	found := 0
	for i := range f.refs {
		if other := get(l.source(&f.refs[i])); other != "" && other != value {
			found = 1
			if len(l.conflicts) < maxConflicts {
				l.conflicts = append(l.conflicts, Conflict{f.name, kind, int(f.refs[i].block), other})
			}
		}
	}
	return found
}

// majority returns the non-empty value that most refs have, the first of equals.
func (l *Layout) majority(f *mergedFamily, get func(*Family) string) (best string) {
	first := get(l.source(&f.refs[0]))
	if !slices.ContainsFunc(f.refs[1:], func(r familyRef) bool { return get(l.source(&r)) != first }) {
		return first
	}
	votes := make(map[string]int)
	for i := range f.refs {
		if value := get(l.source(&f.refs[i])); value != "" {
			votes[value]++
		}
	}
	for i := range f.refs {
		if value := get(l.source(&f.refs[i])); votes[value] > votes[best] {
			best = value
		}
	}
	return best
}

func helpOf(f *Family) string { return f.Help }

func unitOf(f *Family) string { return f.Unit }

// typeOf returns the stated type, empty for none.
func typeOf(f *Family) string {
	if f.Type == model.MetricTypeUnknown {
		return ""
	}
	return string(f.Type)
}

// resolveTypes sets the type of each family, and splits those that cannot have theirs by
// sample name; see [Merger.Layout].
func (l *Layout) resolveTypes(index familyIndex) {
	claims := l.claims()
	var untyped []int
	for i := range l.families {
		f := &l.families[i]
		typ := l.majority(f, typeOf)
		f.typ = model.MetricType(cmp.Or(typ, string(model.MetricTypeUnknown)))
		agreed := l.typesAgree(f)
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

// typesAgree reports whether all targets state the type of the family or, where it is
// not a histogram or summary, none.
func (l *Layout) typesAgree(f *mergedFamily) bool {
	return !slices.ContainsFunc(f.refs, func(r familyRef) bool {
		typ := l.source(&r).Type
		return typ != f.typ && (typ != model.MetricTypeUnknown || !scalar(f.typ)) || r.variant != nil && r.variant.malformed
	})
}

// claim is the use of a name by a family, for itself or for its samples. A weak claim,
// of a name that only OpenMetrics reserves, yields to others.
type claim struct {
	family int
	weak   bool
}

// claims returns the claims of all families by name.
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

// eachName calls do for the names that family i claims under each of its stated types.
func (l *Layout) eachName(i int, do func(name string, weak bool)) {
	f := &l.families[i]
	var last model.MetricType
	for j := range f.refs {
		typ := l.source(&f.refs[j]).Type
		if typ == last {
			continue
		}
		last = typ
		for _, name := range sampleNames(f.name, typ) {
			do(name, false)
		}
		for _, name := range l.dialect.extraNames(f.name, typ) {
			do(name, true)
		}
	}
}

// clashes reports whether another family claims a name of family i. The conflict is that
// of the family which fewer targets have.
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

// untype moves the lines of family i with several sample names to families of these
// names.
func (l *Layout) untype(index familyIndex, i int) {
	refs := l.families[i].refs
	l.families[i].refs = nil
	for j := range refs {
		r := &refs[j]
		if scalar(l.source(r).Type) && (r.variant == nil || r.variant.roles == nil) {
			l.families[i].refs = append(l.families[i].refs, *r)
			continue
		}
		for _, v := range l.split(r) {
			l.families = index.add(l.families, v.Name, familyRef{block: r.block, variant: v})
		}
	}
}

// splitFamily returns the lines of a family as one family per sample name.
func (l *Layout) splitFamily(f *mergedFamily) (families []mergedFamily) {
	index := make(familyIndex)
	for i := range f.refs {
		for _, v := range l.split(&f.refs[i]) {
			families = index.add(families, v.Name, familyRef{block: f.refs[i].block, variant: v})
		}
	}
	for i := range families {
		l.setHead(&families[i])
	}
	return families
}

// split returns the lines of a ref by sample name. They are computed once per shape, and
// untyped, because the type and HELP of the family are not true of its samples.
func (l *Layout) split(r *familyRef) []*variant {
	s, source := l.shapes[r.block], l.source(r)
	s.variants.mu.Lock()
	defer s.variants.mu.Unlock()
	if variants, ok := s.variants.bySample[source]; ok {
		return variants
	}
	var variants []*variant
	byName := make(map[string][]entry)
	seg := l.segment(r)
	for _, one := range seg.entries() {
		name := one.labels.Get(model.MetricNameLabel)
		if byName[name] == nil {
			variants = append(variants, &variant{Family: Family{Name: name, Type: model.MetricTypeUnknown}, selector: l.selector(r)})
		}
		byName[name] = append(byName[name], one)
	}
	for _, v := range variants {
		v.segment = newSegment(byName[v.Name])
		if v.Name == source.Name {
			v.Help, v.Unit = source.Help, source.Unit
		}
	}
	if s.variants.bySample == nil {
		s.variants.bySample = make(map[*Family][]*variant)
	}
	s.variants.bySample[source] = variants
	return variants
}

// setHead renders HELP, TYPE and UNIT of a family with a resolved type, and returns them.
func (l *Layout) setHead(f *mergedFamily) Family {
	meta := Family{Name: f.name, Type: f.typ, Help: l.majority(f, helpOf), Unit: l.majority(f, unitOf)}
	f.head = l.dialect.appendHead(nil, &meta)
	f.renamed = slices.ContainsFunc(f.refs, func(r familyRef) bool { return l.selector(&r) != f.name })
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

// extraNames returns the names that OpenMetrics reserves for the family in addition.
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

// scalar reports whether the samples of a type are single values.
func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}
