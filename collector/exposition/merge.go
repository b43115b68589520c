package exposition

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Merger lays the blocks of many targets out as one page. It is not safe for
// concurrent use; the layouts it gives out never change.
type Merger struct {
	last *Layout
}

// Layout is the plan of one page: which families it has, which HELP and TYPE
// each carries, and which lines of which block are in it.
type Layout struct {
	in       dialect
	shapes   []*Shape
	families []mergedFamily
	utf8     bool
	stats    MergeStats
	differs  []Conflict

	mu sync.Mutex
	// others are the layouts of the same page in other dialects.
	others map[dialect]*Layout
}

// MergeStats counts what targets disagree on.
type MergeStats struct {
	// HelpConflicts, TypeConflicts and UnitConflicts are families whose targets
	// say different things. What is not said is no conflict.
	HelpConflicts, TypeConflicts, UnitConflicts int
}

// mergedFamily is one family of the page.
type mergedFamily struct {
	name string
	typ  model.MetricType
	refs []ref
	// head is its HELP, TYPE and UNIT.
	head []byte
	// mixed says that a line of it may belong to a family that is asked for by
	// another name.
	mixed bool
	// apart returns the same lines as families of one sample name each; it is nil
	// for a type that all values can have.
	apart func() []mergedFamily
}

// ref is one family of one block: a part, or that of the shape where it is nil.
type ref struct {
	block, family int32
	part          *part
}

// Stats are the conflicts of the layout.
func (l *Layout) Stats() MergeStats { return l.stats }

// NeedsUTF8 reports whether names on the page need quotes, which clients must
// ask for.
func (l *Layout) NeedsUTF8() bool { return l.utf8 }

// Layout plans the page of the blocks, which come in the order that their lines
// will have. The plan is kept and given out again for as long as the blocks have
// the same shapes.
//
// The rules between targets:
//   - Families are in the order of their names, each with one HELP and one
//     TYPE, and in each the blocks' lines in the order of the blocks. HELP and
//     UNIT are what most blocks say, among equals the first.
//   - Every line of every block is on the page, whatever others say.
//   - A family has the type on which all agree that state one. Where they do
//     not, it has none. It has none either where one of its sample names is in
//     another family, as x_count of a summary x and of a gauge: nor has that one.
//   - A histogram or summary without a type is a family for each sample name.
//   - OpenMetrics forbids more: a counter and a gauge of one name, a counter that
//     falls below zero, a histogram that does not add up. A family that it
//     cannot have under its type has none there.
//   - Every conflict is counted in [MergeStats] and named in
//     [Layout.Conflicts].
func (m *Merger) Layout(blocks []*Block) *Layout {
	if m.last != nil && m.last.fits(blocks) {
		return m.last
	}
	shapes := make([]*Shape, len(blocks))
	for i, b := range blocks {
		shapes[i] = b.shape
	}
	m.last = plan(shapes, dialect{})
	return m.last
}

// WithFormat is the same page for readers of a format. Pages that are the same in both
// formats have one layout.
func (l *Layout) WithFormat(format expfmt.Format) *Layout {
	d := dialectOf(format)
	if !l.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == l.in {
		return l
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	other, ok := l.others[d]
	if !ok {
		other = plan(l.shapes, d)
		if l.others == nil {
			l.others = make(map[dialect]*Layout)
		}
		l.others[d] = other
	}
	return other
}

// plan plans the page of blocks of the shapes in a dialect.
func plan(shapes []*Shape, d dialect) *Layout {
	l := &Layout{in: d, shapes: shapes}
	l.agree(l.gather())
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.name, b.name) })
	for i := range l.families {
		f := &l.families[i]
		is := l.describe(f)
		l.stats.HelpConflicts += l.differ(f, ConflictHelp, helpOf, is.Help)
		l.stats.UnitConflicts += l.differ(f, ConflictUnit, unitOf, is.Unit)
		if d.openMetrics && d.compound(f.name, f.typ) {
			f.apart = sync.OnceValue(func() []mergedFamily { return l.apart(f) })
		}
	}
	return l
}

// gather brings the families of all shapes together by name and returns the place
// of each.
func (l *Layout) gather() familyIndex {
	index := make(familyIndex)
	for bi, s := range l.shapes {
		l.utf8 = l.utf8 || s.utf8
		parts := s.in(l.in)
		if parts == nil {
			for fi := range s.families {
				l.families = index.add(l.families, s.families[fi].Name, ref{block: int32(bi), family: int32(fi)})
			}
			continue
		}
		for fi := range parts {
			l.families = index.add(l.families, parts[fi].Name, ref{block: int32(bi), part: &parts[fi]})
		}
	}
	return index
}

// familyIndex is the place of each family in a list, by its name.
type familyIndex map[string]int

// add adds a ref to the family of that name, which it adds to the list.
func (x familyIndex) add(families []mergedFamily, name string, r ref) []mergedFamily {
	at, ok := x[name]
	if !ok {
		at = len(families)
		x[name] = at
		families = append(families, mergedFamily{name: name, typ: model.MetricTypeUnknown})
	}
	families[at].refs = append(families[at].refs, r)
	return families
}

// fits reports whether the blocks have the shapes the layout was made for.
func (l *Layout) fits(blocks []*Block) bool {
	if len(blocks) != len(l.shapes) {
		return false
	}
	for i, b := range blocks {
		if b.shape != l.shapes[i] {
			return false
		}
	}
	return true
}

// segment are the lines of a ref.
func (l *Layout) segment(r *ref) segment {
	if r.part != nil {
		return r.part.segment
	}
	return l.shapes[r.block].segment(int(r.family))
}

// source is the family a ref points to.
func (l *Layout) source(r *ref) *Family {
	if r.part != nil {
		return &r.part.Family
	}
	return &l.shapes[r.block].families[r.family]
}

// asked is the name by which a reader asks for the lines of a ref.
func (l *Layout) asked(r *ref) string {
	if r.part != nil {
		return r.part.asked
	}
	return l.source(r).Name
}
