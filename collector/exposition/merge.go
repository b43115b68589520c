package exposition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// Merger merges the blocks of many targets into one page. It is not safe for concurrent use. The
// layouts that it returns never change.
type Merger struct {
	// shapes holds the shapes of the last page, layouts its layouts by how names are escaped.
	shapes  []*Shape
	layouts map[model.EscapingScheme]*Layout
	// escaped holds the escaped shapes of the last page. To escape all because one changed would
	// take ten times as long as the page, see BenchmarkPage/way=changing.
	escaped map[*Shape]map[model.EscapingScheme]*Shape
}

// Layout describes one page: its families with their HELP and TYPE, and the lines of each.
type Layout struct {
	families    []mergedFamily
	contentType string
	// utf8 is true if the page has quoted names, which clients must accept.
	utf8      bool
	stats     MergeStats
	conflicts []Conflict
}

// MergeStats counts the families for which targets have different HELP or TYPE. A missing HELP or
// TYPE does not count as different.
type MergeStats struct {
	HelpConflicts, TypeConflicts int
}

type mergedFamily struct {
	name string
	typ  model.MetricType
	refs []familyRef
	// head holds the HELP and TYPE lines.
	head []byte
	// renamed is true if some of its lines are selected by another name.
	renamed bool
}

// familyRef is one family of one block. Its shape is the block's shape, or that one escaped or
// split by sample name.
type familyRef struct {
	shape         *Shape
	block, family int32
}

func (r *familyRef) source() *Family { return &r.shape.families[r.family] }

func (r *familyRef) segment() segment { return r.shape.segment(int(r.family)) }

func (r *familyRef) selector() string { return cmp.Or(r.source().selector, r.source().Name) }

// Stats returns the number of conflicts.
func (l *Layout) Stats() MergeStats { return l.stats }

// ContentType returns the content type of the page.
func (l *Layout) ContentType() string { return l.contentType }

// Layout returns the layout of a page with the lines in the order of the blocks. It returns the
// previous layout while the blocks have the same shapes.
//
// The rules for merging are:
//   - Families are sorted by name. Each has one HELP, one TYPE and the lines of the
//     blocks in their order. HELP is the most frequent one, the first if several are.
//   - No line of a block is dropped.
//   - A family has the type on which all blocks that declare one agree. Otherwise it is
//     untyped, and so are two families that claim one sample name, such as x_count as
//     a gauge and as part of a summary x.
//   - An untyped histogram or summary is written as one family per sample name.
//   - Every conflict is counted in [MergeStats] and listed by [Layout.Conflicts].
func (m *Merger) Layout(blocks []*Block) *Layout {
	same := func(b *Block, s *Shape) bool { return b.shape == s }
	if m.layouts != nil && slices.EqualFunc(blocks, m.shapes, same) {
		return m.layouts[model.NoEscaping]
	}
	m.shapes = make([]*Shape, len(blocks))
	kept := make(map[*Shape]map[model.EscapingScheme]*Shape, len(m.escaped))
	for i, b := range blocks {
		m.shapes[i] = b.shape
		if others, ok := m.escaped[b.shape]; ok {
			kept[b.shape] = others
		}
	}
	m.escaped = kept
	l := newLayout(m.shapes)
	l.contentType = contentType(l.utf8, model.NoEscaping)
	m.layouts = map[model.EscapingScheme]*Layout{model.NoEscaping: l}
	return l
}

// Escaped returns the layout of a page for clients that need names outside the legacy character
// set escaped. Pages without such names have one layout for all clients.
func (m *Merger) Escaped(blocks []*Block, scheme model.EscapingScheme) *Layout {
	l := m.Layout(blocks)
	if !l.utf8 || scheme == model.NoEscaping {
		return l
	}
	if l, ok := m.layouts[scheme]; ok {
		return l
	}
	shapes := make([]*Shape, len(m.shapes))
	for i, s := range m.shapes {
		shapes[i] = m.escape(s, scheme)
	}
	l = newLayout(shapes)
	l.contentType = contentType(true, scheme)
	m.layouts[scheme] = l
	return l
}

func (m *Merger) escape(s *Shape, scheme model.EscapingScheme) *Shape {
	if !s.utf8 {
		return s
	}
	if m.escaped[s] == nil {
		m.escaped[s] = make(map[model.EscapingScheme]*Shape)
	}
	other, ok := m.escaped[s][scheme]
	if !ok {
		other = s.escaped(scheme)
		m.escaped[s][scheme] = other
	}
	return other
}

func newLayout(shapes []*Shape) *Layout {
	l := &Layout{}
	index := make(familyIndex)
	for block, s := range shapes {
		l.utf8 = l.utf8 || s.utf8
		l.families = index.add(l.families, s, int32(block))
	}
	l.resolveTypes(index)
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.name, b.name) })
	for i := range l.families {
		f := &l.families[i]
		help := f.majority(helpOf)
		f.head = appendHead(nil, f.name, f.typ, help)
		f.renamed = slices.ContainsFunc(f.refs, func(r familyRef) bool { return r.selector() != f.name })
		l.stats.HelpConflicts += l.recordConflicts(f, ConflictHelp, helpOf, help)
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
			families = append(families, mergedFamily{
				name: name,
				typ:  model.MetricTypeUnknown,
			})
		}
		families[i].refs = append(families[i].refs, familyRef{s, block, int32(n)})
	}
	return families
}
