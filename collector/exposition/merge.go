package exposition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Merger merges the blocks of many targets into one page. It is not safe for concurrent use. The
// layouts that it returns never change.
type Merger struct {
	// shapes holds the shapes of the last page, layouts its layouts by dialect.
	shapes  []*Shape
	layouts map[dialect]*Layout
	// rewritten holds the shapes of the last page in other dialects. To rewrite all because one
	// changed would take ten times as long as the page, see BenchmarkPage/way=changing.
	rewritten map[*Shape]map[dialect]*Shape
}

// Layout describes one page: its families with their HELP and TYPE, and the lines of each.
type Layout struct {
	dialect   dialect
	families  []mergedFamily
	utf8      bool
	stats     MergeStats
	conflicts []Conflict
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

// Layout returns the layout of a page in text with the lines in the order of the blocks. It
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
//   - Every conflict is counted in [MergeStats] and listed by [Layout.Conflicts].
func (m *Merger) Layout(blocks []*Block) *Layout {
	if m.layouts != nil && slices.EqualFunc(blocks, m.shapes, func(b *Block, s *Shape) bool { return b.shape == s }) {
		return m.layouts[dialect{}]
	}
	m.shapes = make([]*Shape, len(blocks))
	kept := make(map[*Shape]map[dialect]*Shape, len(m.rewritten))
	for i, b := range blocks {
		m.shapes[i] = b.shape
		if others, ok := m.rewritten[b.shape]; ok {
			kept[b.shape] = others
		}
	}
	text := newLayout(m.shapes, dialect{})
	m.layouts, m.rewritten = map[dialect]*Layout{{}: text}, kept
	return text
}

// LayoutIn returns the layout of the page in a format. Formats in which the page is the same share
// one layout. OpenMetrics differs from text in three ways:
//   - Names: counters are named without "_total", "_created" joins its family, bounds are canonical.
//   - Types: a family is untyped if OpenMetrics does not allow its name or values under its type,
//     such as a counter without "_total", a negative one, or a histogram that does not add up.
//   - The page has UNIT lines and ends with "# EOF".
func (m *Merger) LayoutIn(format expfmt.Format, blocks []*Block) *Layout {
	d := dialect{openMetrics: format.FormatType() == expfmt.TypeOpenMetrics, scheme: format.ToEscapingScheme()}
	if !m.Layout(blocks).utf8 {
		d.scheme = model.NoEscaping
	}
	l, ok := m.layouts[d]
	if !ok {
		shapes := make([]*Shape, len(m.shapes))
		for i, s := range m.shapes {
			shapes[i] = m.toDialect(s, d)
		}
		l = newLayout(shapes, d)
		m.layouts[d] = l
	}
	return l
}

func (m *Merger) toDialect(s *Shape, d dialect) *Shape {
	if !s.utf8 {
		d.scheme = model.NoEscaping
	}
	if d == (dialect{}) {
		return s
	}
	if m.rewritten[s] == nil {
		m.rewritten[s] = make(map[dialect]*Shape)
	}
	other, ok := m.rewritten[s][d]
	if !ok {
		other = s.toDialect(d)
		m.rewritten[s][d] = other
	}
	return other
}

// newLayout merges shapes of a dialect.
func newLayout(shapes []*Shape, d dialect) *Layout {
	l := &Layout{dialect: d}
	index := make(familyIndex)
	for block, s := range shapes {
		l.utf8 = l.utf8 || s.utf8
		l.families = index.add(l.families, s, int32(block))
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
