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
	heads    map[string]*head
	utf8     bool
	stats    MergeStats
	others   others
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
	// HelpConflicts and TypeConflicts are families whose targets say
	// different things.
	HelpConflicts, TypeConflicts int
	// SeriesDropped are the series left out because their family is of
	// another kind at the other targets.
	SeriesDropped int
}

// mergedFamily is one family of the page.
type mergedFamily struct {
	*head

	refs []ref
	// mixed says that a line of it may belong to a family that is asked for by
	// another name.
	mixed bool
}

// head is what is written once for a family.
type head struct {
	Family

	text []byte
}

// ref is one family of one block, and the segment it is in.
type ref struct {
	block, family int32
	segment
}

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
//     last page, else the first block's. So one target that says something
//     else, from the start or all of a sudden, changes nothing for the others.
//   - Lines whose TYPE differs are kept under the winner's when both are
//     single values (counter, gauge, untyped), and left out when either is a
//     histogram or a summary, for the page would not be valid.
//   - HELP is chosen the same way, and costs no line.
//   - Of a histogram or summary and a family that is named like a sample of it
//     (a summary x and a gauge x_count) the one that fewer targets have is left
//     out; among equals the one that was not there first, else the gauge.
//   - Every conflict is counted in [MergeStats].
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
	l.gather()
	for i := range l.families {
		l.settle(&l.families[i], before)
	}
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.Name, b.Name) })
	l.separate(before)
	for i := range l.families {
		f := &l.families[i]
		l.heads[f.Name] = f.head
		f.mixed = l.parts != nil && slices.ContainsFunc(f.refs, func(r ref) bool { return l.asked(&r) != f.Name })
	}
	return l
}

// gather brings the families of all shapes together by name.
func (l *Layout) gather() {
	index := make(map[string]int)
	add := func(name string, r ref) {
		at, ok := index[name]
		if !ok {
			at = len(l.families)
			index[name] = at
			l.families = append(l.families, mergedFamily{})
		}
		l.families[at].refs = append(l.families[at].refs, r)
	}
	for bi, s := range l.shapes {
		l.utf8 = l.utf8 || s.utf8
		parts := s.in(l.in)
		if parts == nil {
			for fi := range s.families {
				add(s.families[fi].Name, ref{block: int32(bi), family: int32(fi), segment: s.segment(fi)})
			}
			continue
		}
		if l.parts == nil {
			l.parts = make([][]part, len(l.shapes))
		}
		l.parts[bi] = parts
		for fi := range parts {
			add(parts[fi].Name, ref{block: int32(bi), family: int32(fi), segment: parts[fi].segment})
		}
	}
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

// source is the family a ref points to.
func (l *Layout) source(r ref) *Family {
	if p := l.part(&r); p != nil {
		return &p.Family
	}
	return &l.shapes[r.block].families[r.family]
}

// part is the part a ref points to, nil when it is a family of the shape.
func (l *Layout) part(r *ref) *part {
	if len(l.parts) == 0 || l.parts[r.block] == nil {
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

// settle chooses HELP and TYPE of a family and drops lines of another kind.
func (l *Layout) settle(f *mergedFamily, last map[string]*head) {
	first := l.source(f.refs[0])
	won := Family{Name: first.Name, Type: first.Type, Unit: first.Unit, Help: first.Help}
	before := last[won.Name]
	if !l.agree(f, before) {
		was := Family{}
		if before != nil {
			was = before.Family
		}
		won.Type = mostSaid(f.refs, was.Type, func(r ref) model.MetricType { return l.source(r).Type })
		won.Help = mostSaid(f.refs, was.Help, func(r ref) string { return l.source(r).Help })
	}
	l.keep(f, &won)
	if before != nil && before.Type == won.Type && before.Help == won.Help {
		f.head = before
		return
	}
	f.head = &head{Family: won, text: appendHead(nil, &won)}
}

// agree says whether all blocks say the same of a family, as nearly always,
// and the last page too.
func (l *Layout) agree(f *mergedFamily, before *head) bool {
	first := l.source(f.refs[0])
	if before != nil && (before.Type != first.Type || before.Help != first.Help) {
		return false
	}
	for _, r := range f.refs[1:] {
		if s := l.source(r); s.Type != first.Type || s.Help != first.Help {
			return false
		}
	}
	return true
}

// mostSaid is the word that most refs say, empty words not counted; among
// equals the one that was said before, else the one that is said first.
func mostSaid[T ~string](refs []ref, before T, say func(ref) T) T {
	votes := make(map[T]int)
	for _, r := range refs {
		if word := say(r); word != "" {
			votes[word]++
		}
	}
	best := before
	for _, r := range refs {
		if word := say(r); votes[word] > votes[best] {
			best = word
		}
	}
	return best
}

// keep counts conflicts with the winner and drops what cannot be under its TYPE.
func (l *Layout) keep(f *mergedFamily, won *Family) {
	typ, help := 0, 0
	kept := f.refs[:0]
	for _, r := range f.refs {
		s := l.source(r)
		if s.Help != "" && s.Help != won.Help {
			help = 1
		}
		if s.Type != won.Type {
			typ = 1
			if !scalar(s.Type) || !scalar(won.Type) {
				l.stats.SeriesDropped += len(r.lines)
				continue
			}
		}
		kept = append(kept, r)
	}
	f.refs = kept
	l.stats.HelpConflicts += help
	l.stats.TypeConflicts += typ
}

// scalar says whether a family of that type has single values for samples.
func scalar(t model.MetricType) bool {
	return t != model.MetricTypeHistogram && t != model.MetricTypeSummary
}

// separate drops the families whose names are sample names of another.
func (l *Layout) separate(last map[string]*head) {
	at := make(map[string]int, len(l.families))
	for i := range l.families {
		at[l.families[i].Name] = i
	}
	drop := make(map[int]bool)
	for i := range l.families {
		clashes := clashing(at, &l.families[i])
		l.stats.TypeConflicts += len(clashes)
		if slices.ContainsFunc(clashes, func(other int) bool { return l.yields(last, i, other) }) {
			clashes = []int{i}
		}
		for _, loser := range clashes {
			drop[loser] = true
		}
	}
	if len(drop) == 0 {
		return
	}
	kept := l.families[:0:0]
	for i := range l.families {
		if !drop[i] {
			kept = append(kept, l.families[i])
			continue
		}
		for _, r := range l.families[i].refs {
			l.stats.SeriesDropped += len(r.lines)
		}
	}
	l.families = kept
}

// yields says whether family i gives way to one that is named like a sample of
// it: when more targets have that one, or as many and it was there first.
func (l *Layout) yields(last map[string]*head, i, other int) bool {
	mine, theirs := len(l.families[i].refs), len(l.families[other].refs)
	if mine != theirs {
		return mine < theirs
	}
	return last[l.families[other].Name] != nil && last[l.families[i].Name] == nil
}

// clashing gives the places of the families that are named like a sample of
// f.
func clashing(at map[string]int, f *mergedFamily) []int {
	if scalar(f.Type) {
		return nil
	}
	var found []int
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		other, ok := at[f.Name+suffix]
		if ok && (suffix != "_bucket" || f.Type == model.MetricTypeHistogram) {
			found = append(found, other)
		}
	}
	return found
}

// appendHead renders HELP and TYPE; a family without help has no HELP line.
func appendHead(dst []byte, f *Family) []byte {
	name := []byte(f.Name)
	if !model.LegacyValidation.IsValidMetricName(f.Name) {
		name = appendQuoted(nil, f.Name)
	}
	if f.Help != "" {
		dst = append(append(append(dst, "# HELP "...), name...), ' ')
		dst = append(append(dst, helpEscaper.Replace(f.Help)...), '\n')
	}
	dst = append(append(append(dst, "# TYPE "...), name...), ' ')
	typ := string(f.Type)
	if f.Type == model.MetricTypeUnknown {
		typ = "untyped"
	}
	return append(append(dst, typ...), '\n')
}
