package exposition

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Merger merges the blocks of many targets into one page. It is not safe for concurrent use. The
// layouts that it returns never change.
type Merger struct {
	last *Layout
}

// Layout describes one page: its families with their HELP and TYPE, and the lines of each.
type Layout struct {
	dialect   dialect
	shapes    []*Shape
	families  []mergedFamily
	utf8      bool
	stats     MergeStats
	conflicts []Conflict

	mu sync.Mutex
	// dialects holds the layouts of the same page in other dialects.
	dialects map[dialect]*Layout
}

// MergeStats counts the families for which targets have different HELP, TYPE or UNIT. A missing
// HELP, TYPE or UNIT does not count as different.
type MergeStats struct {
	HelpConflicts, TypeConflicts, UnitConflicts int
}

type mergedFamily struct {
	name string
	typ  model.MetricType
	refs []familyRef
	// head holds the HELP, TYPE and UNIT lines.
	head []byte
	// renamed is true if some of its lines are selected by another name.
	renamed bool
	// checked is true if the type does not allow all values.
	checked bool
}

// familyRef is one family of one block. Its shape is the block's shape or a rewritten one.
type familyRef struct {
	shape         *Shape
	block, family int32
}

func (r *familyRef) source() *Family { return &r.shape.families[r.family] }

func (r *familyRef) segment() segment { return r.shape.segment(int(r.family)) }

func (r *familyRef) selector() string { return cmp.Or(r.source().selector, r.source().Name) }

// Stats returns the number of conflicts.
func (l *Layout) Stats() MergeStats { return l.stats }

// NeedsUTF8 reports whether the page has quoted names, which clients must accept.
func (l *Layout) NeedsUTF8() bool { return l.utf8 }

// Layout returns the layout of a page with the lines in the order of the blocks. It
// returns the previous layout while the blocks have the same shapes.
//
// The rules for merging are:
//   - Families are sorted by name. Each has one HELP, one TYPE and the lines of the
//     blocks in their order. HELP and UNIT are the most frequent ones, the first if several are.
//   - No line of a block is dropped.
//   - A family has the type on which all blocks that declare one agree. Otherwise it is
//     untyped, and so are two families that claim one sample name, such as x_count as
//     a gauge and as part of a summary x.
//   - An untyped histogram or summary is written as one family per sample name.
//   - OpenMetrics allows less: not a counter and a gauge of one name, nor a negative
//     counter, nor a histogram that does not add up. Such a family is untyped there.
//   - Every conflict is counted in [MergeStats] and listed by [Layout.Conflicts].
func (m *Merger) Layout(blocks []*Block) *Layout {
	if m.last != nil && slices.EqualFunc(blocks, m.last.shapes, func(b *Block, s *Shape) bool { return b.shape == s }) {
		return m.last
	}
	shapes := make([]*Shape, len(blocks))
	for i, b := range blocks {
		shapes[i] = b.shape
	}
	m.last = newLayout(shapes, dialect{})
	return m.last
}

// WithFormat returns the layout of the same page in another format. Formats in which the page is
// the same share one layout.
func (l *Layout) WithFormat(format expfmt.Format) *Layout {
	d := dialect{openMetrics: format.FormatType() == expfmt.TypeOpenMetrics, scheme: format.ToEscapingScheme()}
	if !l.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == l.dialect {
		return l
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	layout, ok := l.dialects[d]
	if !ok {
		layout = newLayout(l.shapes, d)
		if l.dialects == nil {
			l.dialects = make(map[dialect]*Layout)
		}
		l.dialects[d] = layout
	}
	return layout
}

func newLayout(shapes []*Shape, d dialect) *Layout {
	l := &Layout{dialect: d, shapes: shapes}
	index := make(familyIndex)
	for block, s := range shapes {
		l.utf8 = l.utf8 || s.utf8
		l.families = index.add(l.families, s.toDialect(d), int32(block))
	}
	l.resolveTypes(index)
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.name, b.name) })
	for i := range l.families {
		f := &l.families[i]
		meta := l.setHead(f)
		l.stats.HelpConflicts += l.recordConflicts(f, ConflictHelp, helpOf, meta.Help)
		l.stats.UnitConflicts += l.recordConflicts(f, ConflictUnit, unitOf, meta.Unit)
		f.checked = d.openMetrics && d.compound(f.name, f.typ)
	}
	return l
}

type familyIndex map[string]int

// add adds the families of a shape, with the index of its block.
func (x familyIndex) add(families []mergedFamily, s *Shape, block int32) []mergedFamily {
	for n := range s.families {
		name := s.families[n].Name
		i, ok := x[name]
		if !ok {
			i = len(families)
			x[name] = i
			families = append(families, mergedFamily{name: name, typ: model.MetricTypeUnknown})
		}
		families[i].refs = append(families[i].refs, familyRef{s, block, int32(n)})
	}
	return families
}
