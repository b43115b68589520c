package exposition

import "slices"

// head is what is written once for a family.
type head struct {
	Family

	text []byte
}

// settle chooses HELP and UNIT of a family, whose TYPE is chosen, and renders
// its head.
func (l *Layout) settle(f *mergedFamily, before *head) {
	first := l.source(&f.refs[0])
	won := Family{Name: f.name, Type: f.typ, Help: first.Help, Unit: first.Unit}
	if !l.agree(f, before) {
		was := Family{}
		if before != nil {
			was = before.Family
		}
		won.Help = mostSaid(f.refs, was.Help, func(r *ref) string { return l.source(r).Help })
		won.Unit = mostSaid(f.refs, was.Unit, func(r *ref) string { return l.source(r).Unit })
		l.stats.HelpConflicts += l.differ(f, DiffersHelp, func(s *Family) string { return s.Help }, won.Help)
		l.stats.UnitConflicts += l.differ(f, DiffersUnit, func(s *Family) string { return s.Unit }, won.Unit)
	}
	if before != nil && before.Type == won.Type && before.Help == won.Help && before.Unit == won.Unit {
		f.head = before
		return
	}
	f.head = &head{Family: won, text: l.in.appendHead(nil, &won)}
}

// agree says whether all blocks have the same HELP and UNIT, as nearly always,
// and the last page too.
func (l *Layout) agree(f *mergedFamily, before *head) bool {
	first := l.source(&f.refs[0])
	if before != nil && (before.Unit != first.Unit || before.Help != first.Help) {
		return false
	}
	return !slices.ContainsFunc(f.refs[1:], func(r ref) bool {
		s := l.source(&r)
		return s.Unit != first.Unit || s.Help != first.Help
	})
}

// mostSaid is the word that most refs say, empty words not counted; among
// equals the one that was said before, else the one that is said first.
func mostSaid[T ~string](refs []ref, before T, say func(*ref) T) T {
	votes := make(map[T]int)
	for i := range refs {
		if word := say(&refs[i]); word != "" {
			votes[word]++
		}
	}
	best := before
	if votes[best] == 0 {
		best = ""
	}
	for i := range refs {
		if word := say(&refs[i]); votes[word] > votes[best] {
			best = word
		}
	}
	return best
}
