package exposition

import (
	"slices"
	"strings"

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
	shapes   []*Shape
	families []mergedFamily
	heads    map[string]*head
	utf8     bool
	stats    MergeStats
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
	l := &Layout{shapes: make([]*Shape, len(blocks)), heads: make(map[string]*head)}
	index := make(map[string]int)
	for bi, b := range blocks {
		l.shapes[bi] = b.shape
		l.utf8 = l.utf8 || b.shape.utf8
		for fi := range b.shape.families {
			name := b.shape.families[fi].Name
			at, ok := index[name]
			if !ok {
				at = len(l.families)
				index[name] = at
				l.families = append(l.families, mergedFamily{})
			}
			l.families[at].refs = append(l.families[at].refs, ref{block: int32(bi), family: int32(fi), segment: b.shape.segment(fi)})
		}
	}
	for i := range l.families {
		l.settle(&l.families[i], m.last)
	}
	slices.SortFunc(l.families, func(a, b mergedFamily) int { return strings.Compare(a.Name, b.Name) })
	l.separate(m.last)
	for i := range l.families {
		l.heads[l.families[i].Name] = l.families[i].head
	}
	m.last = l
	return l
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
func (l *Layout) source(r ref) *Family { return &l.shapes[r.block].families[r.family] }

// settle chooses HELP and TYPE of a family and drops lines of another kind.
func (l *Layout) settle(f *mergedFamily, last *Layout) {
	first := l.source(f.refs[0])
	won := Family{Name: first.Name, Type: first.Type, Unit: first.Unit, Help: first.Help}
	var before *head
	if last != nil {
		before = last.heads[won.Name]
	}
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
				l.stats.SeriesDropped += s.end - s.first
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
func (l *Layout) separate(last *Layout) {
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
			s := l.source(r)
			l.stats.SeriesDropped += s.end - s.first
		}
	}
	l.families = kept
}

// yields says whether family i gives way to one that is named like a sample of
// it: when more targets have that one, or as many and it was there first.
func (l *Layout) yields(last *Layout, i, other int) bool {
	mine, theirs := len(l.families[i].refs), len(l.families[other].refs)
	if mine != theirs {
		return mine < theirs
	}
	return last.had(l.families[other].Name) && !last.had(l.families[i].Name)
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

// had says whether the family was on the page; a nil layout had none.
func (l *Layout) had(name string) bool { return l != nil && l.heads[name] != nil }

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
