package exposition

import (
	"maps"
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
	in     dialect
	shapes []*Shape
	// parts are the families of each shape in the dialect, nil for those of the
	// shape itself; the whole is nil when all are.
	parts    [][]part
	families []mergedFamily
	// moved are parts that are in no shape: lines that are in another family
	// than that of their shape, because targets disagree on it.
	moved   []part
	heads   map[string]*head
	utf8    bool
	stats   MergeStats
	differs []Difference
	others  others
}

// others are the layouts of the same page in other dialects, and what those of
// the page before said in theirs.
type others struct {
	mu     sync.Mutex
	of     map[dialect]*Layout
	before map[dialect]map[string]*head
}

// MergeStats counts what targets disagree on.
type MergeStats struct {
	// HelpConflicts, TypeConflicts and UnitConflicts are families whose targets
	// say different things. What is not said is no conflict.
	HelpConflicts, TypeConflicts, UnitConflicts int
}

// mergedFamily is one family of the page.
type mergedFamily struct {
	*head

	name string
	typ  model.MetricType
	refs []ref
	// mixed says that a line of it may belong to a family that is asked for by
	// another name.
	mixed bool
}

// ref is one family of one block. A family below zero is the complement of the
// number of a moved part.
type ref struct{ block, family int32 }

// Stats are the conflicts of the layout.
func (l *Layout) Stats() MergeStats { return l.stats }

// NeedsUTF8 says whether names on the page need quotes, which clients must
// ask for.
func (l *Layout) NeedsUTF8() bool { return l.utf8 }

// Layout plans the page of the blocks, which come in the order that their lines
// will have. The plan is kept and given out again for as long as the blocks have
// the same shapes.
//
// The rules between targets:
//   - Families are in the order of their names, each with one HELP and one
//     TYPE, and in each the blocks' lines in the order of the blocks.
//   - The TYPE that most blocks say wins; among equals the one that was on the
//     last page, else the first block's. What is not said does not count. HELP
//     and UNIT are chosen the same way.
//   - Every line is on the page, whatever others say. Single values (counter,
//     gauge, untyped) are under the winner's TYPE. Of a histogram or summary
//     that is not the winner each sample name is an untyped family.
//   - Lines that are named like samples of a histogram or summary (a gauge
//     x_count and a summary x) become part of it, if they can be and most
//     targets do not say otherwise. If they cannot, the histogram or summary is
//     untyped by sample name for all targets: its type is lost, its lines are
//     what they were.
//   - Every conflict is counted in [MergeStats] and named in
//     [Layout.Differences].
func (m *Merger) Layout(blocks []*Block) *Layout {
	if m.last != nil && m.last.fits(blocks) {
		return m.last
	}
	shapes := make([]*Shape, len(blocks))
	for i, b := range blocks {
		shapes[i] = b.shape
	}
	var before map[string]*head
	if m.last != nil {
		before = m.last.heads
	}
	l := plan(shapes, dialect{}, before)
	l.others.before = m.last.said()
	m.last = l
	return l
}

// In is the same page for readers of a format. Pages that are the same in both
// formats have one layout.
func (l *Layout) In(format expfmt.Format) *Layout {
	d := dialectOf(format)
	if !l.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == l.in {
		return l
	}
	l.others.mu.Lock()
	defer l.others.mu.Unlock()
	if other, ok := l.others.of[d]; ok {
		return other
	}
	other := plan(l.shapes, d, l.others.before[d])
	if l.others.of == nil {
		l.others.of = make(map[dialect]*Layout)
	}
	l.others.of[d] = other
	return other
}

// said gives the heads of the page in other dialects, for the next page.
func (l *Layout) said() map[dialect]map[string]*head {
	if l == nil {
		return nil
	}
	l.others.mu.Lock()
	defer l.others.mu.Unlock()
	if len(l.others.of) == 0 {
		return l.others.before
	}
	said := make(map[dialect]map[string]*head)
	maps.Copy(said, l.others.before)
	for d, other := range l.others.of {
		said[d] = other.heads
	}
	return said
}

// plan plans the page of blocks of the shapes in a dialect, after a page with
// the given heads.
func plan(shapes []*Shape, d dialect, before map[string]*head) *Layout {
	l := &Layout{in: d, shapes: shapes, heads: make(map[string]*head)}
	l.resolve(l.gather(), before)
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.name, b.name) })
	for i := range l.families {
		f := &l.families[i]
		l.settle(f, before[f.name])
		l.heads[f.name] = f.head
		if l.parts != nil || l.moved != nil {
			f.mixed = slices.ContainsFunc(f.refs, func(r ref) bool { return l.asked(&r) != f.name })
		}
	}
	return l
}

// add puts a ref in the family of that name, whose place is in the index.
func (l *Layout) add(index map[string]int, name string, r ref) {
	at, ok := index[name]
	if !ok {
		at = len(l.families)
		index[name] = at
		l.families = append(l.families, mergedFamily{name: name, typ: model.MetricTypeUnknown})
	}
	l.families[at].refs = append(l.families[at].refs, r)
}

// gather brings the families of all shapes together by name and gives the place
// of each.
func (l *Layout) gather() map[string]int {
	index := make(map[string]int)
	for bi, s := range l.shapes {
		l.utf8 = l.utf8 || s.utf8
		parts := s.in(l.in)
		if parts == nil {
			for fi := range s.families {
				l.add(index, s.families[fi].Name, ref{block: int32(bi), family: int32(fi)})
			}
			continue
		}
		if l.parts == nil {
			l.parts = make([][]part, len(l.shapes))
		}
		l.parts[bi] = parts
		for fi := range parts {
			l.add(index, parts[fi].Name, ref{block: int32(bi), family: int32(fi)})
		}
	}
	return index
}

// fits says whether the blocks have the shapes the layout was made for.
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
	if p := l.part(r); p != nil {
		return p.segment
	}
	return l.shapes[r.block].segment(int(r.family))
}

// source is the family a ref points to.
func (l *Layout) source(r *ref) *Family {
	if p := l.part(r); p != nil {
		return &p.Family
	}
	return &l.shapes[r.block].families[r.family]
}

// part is the part a ref points to, nil when it is a family of the shape.
func (l *Layout) part(r *ref) *part {
	switch {
	case r.family < 0:
		return &l.moved[^r.family]
	case len(l.parts) == 0 || l.parts[r.block] == nil:
		return nil
	}
	return &l.parts[r.block][r.family]
}

// asked is the name by which a reader asks for the lines of a ref.
func (l *Layout) asked(r *ref) string {
	if p := l.part(r); p != nil {
		return p.asked
	}
	return l.shapes[r.block].families[r.family].Name
}
