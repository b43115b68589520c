package exposition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// What targets differ in; the values of [Conflict].Kind.
const (
	ConflictHelp = "help"
	ConflictType = "type"
	ConflictUnit = "unit"
)

// Conflict is a family of which one target does not say what most say.
type Conflict struct {
	// Family is its name on the page.
	Family string
	// Kind is ConflictHelp, ConflictType or ConflictUnit.
	Kind string
	// Block is the number of the target's block among those of the layout.
	Block int
	// Value is the target's word.
	Value string
}

// maxDifferences bounds the differences of a page that are named.
const maxDifferences = 100

// Conflicts are the first hundred of the differences of the page; the caller
// only reads.
func (l *Layout) Conflicts() []Conflict { return l.differs }

// differ notes the refs that say something else than a word and returns 1 if
// there are any.
func (l *Layout) differ(f *mergedFamily, kind string, say func(*Family) string, word string) int {
	found := 0
	for i := range f.refs {
		if said := say(l.source(&f.refs[i])); said != "" && said != word {
			found = 1
			if len(l.differs) < maxDifferences {
				l.differs = append(l.differs, Conflict{f.name, kind, int(f.refs[i].block), said})
			}
		}
	}
	return found
}

// mostSaid is the word that most refs say, empty words not counted, and among
// equals the first.
func (l *Layout) mostSaid(f *mergedFamily, say func(*Family) string) (best string) {
	first := say(l.source(&f.refs[0]))
	if !slices.ContainsFunc(f.refs[1:], func(r ref) bool { return say(l.source(&r)) != first }) {
		return first
	}
	votes := make(map[string]int)
	for i := range f.refs {
		if word := say(l.source(&f.refs[i])); word != "" {
			votes[word]++
		}
	}
	for i := range f.refs {
		if word := say(l.source(&f.refs[i])); votes[word] > votes[best] {
			best = word
		}
	}
	return best
}

// stated is the type that a target states, empty for none.
func stated(f *Family) string {
	if f.Type == model.MetricTypeUnknown {
		return ""
	}
	return string(f.Type)
}

// agree gives each family the type on which its targets agree, and takes those
// apart that have none, see [Merger.Layout].
func (l *Layout) agree(index familyIndex) {
	claims := l.claims()
	var lost []int
	for i := range l.families {
		f := &l.families[i]
		word := l.mostSaid(f, stated)
		f.typ = model.MetricType(cmp.Or(word, string(model.MetricTypeUnknown)))
		agreed := l.alike(f)
		if !agreed {
			l.stats.TypeConflicts += l.differ(f, ConflictType, stated, word)
		}
		if l.clashes(i, claims) || !agreed {
			lost = append(lost, i)
		}
	}
	for _, i := range lost {
		l.families[i].typ = model.MetricTypeUnknown
		l.loosen(index, i)
	}
	if l.families = slices.DeleteFunc(l.families, func(f mergedFamily) bool { return len(f.refs) == 0 }); len(lost) > 0 {
		for i := range l.families {
			slices.SortStableFunc(l.families[i].refs, func(a, b ref) int { return cmp.Compare(a.block, b.block) })
		}
	}
}

// alike reports whether all targets can have the type of a family: they state it
// or, for a type of single values, no type.
func (l *Layout) alike(f *mergedFamily) bool {
	return !slices.ContainsFunc(f.refs, func(r ref) bool {
		typ := l.source(&r).Type
		return typ != f.typ && (typ != model.MetricTypeUnknown || !scalar(f.typ)) || r.part != nil && r.part.broken
	})
}

// claim is a family that has a name for itself or for its samples. A weak one gives
// way to any other: OpenMetrics alone has the name for it.
type claim struct {
	family int
	weak   bool
}

// claims are those of all families, by name.
func (l *Layout) claims() map[string][]claim {
	all := make(map[string][]claim, len(l.families))
	for i := range l.families {
		l.eachName(i, func(name string, weak bool) {
			if of := all[name]; len(of) == 0 || of[len(of)-1].family != i {
				all[name] = append(of, claim{i, weak})
			}
		})
	}
	return all
}

// eachName gives the names that family i claims, by each of the types that targets
// state.
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
		for _, name := range l.in.ownNames(f.name, typ) {
			do(name, true)
		}
	}
}

// clashes reports whether another family claims a name of family i too. The one
// that fewer targets have is the one that differs.
func (l *Layout) clashes(i int, claims map[string][]claim) (clash bool) {
	f := &l.families[i]
	l.eachName(i, func(name string, weak bool) {
		for _, other := range claims[name] {
			if other.family == i || other.weak && !weak {
				continue
			}
			o := &l.families[other.family]
			if !clash && !weak && (len(f.refs) < len(o.refs) || len(f.refs) == len(o.refs) && scalar(f.typ)) {
				l.differ(f, ConflictType, stated, "")
			}
			if !clash && !weak && f.typ != model.MetricTypeUnknown {
				l.stats.TypeConflicts++
			}
			clash = true
		}
	})
	return clash
}

// loosen moves the lines of family i that have several names to families of these
// names.
func (l *Layout) loosen(index familyIndex, i int) {
	refs := l.families[i].refs
	l.families[i].refs = nil
	for j := range refs {
		if !l.compound(&refs[j]) {
			l.families[i].refs = append(l.families[i].refs, refs[j])
			continue
		}
		for _, p := range l.split(&refs[j]) {
			l.families = index.add(l.families, p.Name, ref{block: refs[j].block, part: p})
		}
	}
}

// apart are the lines of a family as families of one sample name each.
func (l *Layout) apart(f *mergedFamily) (families []mergedFamily) {
	index := make(familyIndex)
	for i := range f.refs {
		for _, p := range l.split(&f.refs[i]) {
			families = index.add(families, p.Name, ref{block: f.refs[i].block, part: p})
		}
	}
	for i := range families {
		l.describe(&families[i])
	}
	return families
}

// compound reports whether a ref may have several sample names.
func (l *Layout) compound(r *ref) bool {
	return !scalar(l.source(r).Type) || r.part != nil && r.part.roles != nil
}

// split gives the lines of a ref by sample name, and keeps those with the shape.
func (l *Layout) split(r *ref) []*part {
	s := l.shapes[r.block]
	s.dialects.mu.Lock()
	defer s.dialects.mu.Unlock()
	source := l.source(r)
	parts, ok := s.dialects.split[source]
	if !ok {
		seg := l.segment(r)
		parts = split(source, &seg, l.asked(r))
		if s.dialects.split == nil {
			s.dialects.split = make(map[*Family][]*part)
		}
		s.dialects.split[source] = parts
	}
	return parts
}

// split gives the lines of a family as families by sample name, which are
// untyped, because what a target says of the whole is not true of them.
func split(f *Family, s *segment, asked string) (parts []*part) {
	byName := make(map[string][]entry)
	for _, one := range s.entries() {
		name := one.labels.Get(model.MetricNameLabel)
		if byName[name] == nil {
			parts = append(parts, &part{Family: Family{Name: name, Type: model.MetricTypeUnknown}, asked: asked})
		}
		byName[name] = append(byName[name], one)
	}
	for _, p := range parts {
		p.segment = render(byName[p.Name])
		if p.Name == f.Name {
			p.Help, p.Unit = f.Help, f.Unit
		}
	}
	return parts
}

// describe renders HELP, TYPE and UNIT of a family, whose type is settled.
func (l *Layout) describe(f *mergedFamily) Family {
	is := Family{Name: f.name, Type: f.typ, Help: l.mostSaid(f, helpOf), Unit: l.mostSaid(f, unitOf)}
	f.head = l.in.appendHead(nil, &is)
	f.mixed = slices.ContainsFunc(f.refs, func(r ref) bool { return l.asked(&r) != f.name })
	return is
}

func helpOf(f *Family) string { return f.Help }

func unitOf(f *Family) string { return f.Unit }

// sampleNames are the names that a family has in the text format, its own first.
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

// ownNames are the names that OpenMetrics has for the family besides.
func (d dialect) ownNames(name string, typ model.MetricType) []string {
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

// compound reports whether the dialect has several sample names in a family.
func (d dialect) compound(name string, typ model.MetricType) bool {
	return !scalar(typ) || d.openMetrics && typ == model.MetricTypeCounter && strings.HasSuffix(name, "_total")
}

// scalar reports whether a family of that type has single values for samples.
func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}
