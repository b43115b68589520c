package exposition

import (
	"cmp"
	"slices"

	"github.com/prometheus/common/model"
)

// What targets differ in; the values of [Difference].Kind.
const (
	DiffersHelp = "help"
	DiffersType = "type"
	DiffersUnit = "unit"
)

// Difference is a family of which one target does not say what the page says.
type Difference struct {
	// Family is its name on the page.
	Family string
	// Kind is DiffersHelp, DiffersType or DiffersUnit.
	Kind string
	// Block is the number of the target's block among those of the layout.
	Block int
	// Says is the target's word.
	Says string
}

// maxDifferences bounds the differences of a page that are named.
const maxDifferences = 100

// Differences are the first hundred of the differences of the page; the caller
// only reads.
func (l *Layout) Differences() []Difference { return l.differs }

// differ notes the refs that say something else than the page and returns 1 if
// there are any.
func (l *Layout) differ(f *mergedFamily, kind string, say func(*Family) string, page string) int {
	found := 0
	for i := range f.refs {
		if said := say(l.source(&f.refs[i])); said != "" && said != page {
			found = 1
			if len(l.differs) < maxDifferences {
				l.differs = append(l.differs, Difference{f.name, kind, int(f.refs[i].block), said})
			}
		}
	}
	return found
}

// stated is a type that a target states, empty for the one of a family that no
// TYPE is said of.
func stated(f *Family) string {
	if f.Type == model.MetricTypeUnknown {
		return ""
	}
	return string(f.Type)
}

// resolver finds the type of every family and moves lines between families
// until each is in one that can hold it.
type resolver struct {
	*Layout

	index  map[string]int
	before map[string]*head
	// counted are the families whose conflict is counted.
	counted map[string]bool
}

// resolve chooses the TYPE of all families, see [Merger.Layout]. Each round
// takes lines out of histograms and summaries or into them; as those that lost
// their type do not get it back, there is an end.
func (l *Layout) resolve(index map[string]int, before map[string]*head) {
	r := resolver{Layout: l, index: index, before: before, counted: make(map[string]bool)}
	for i := range l.families {
		f := &l.families[i]
		f.typ = r.elect(i)
		if l.differ(f, DiffersType, stated, string(f.typ)) > 0 {
			r.count(f.name)
		}
	}
	for moved := true; moved; {
		moved = false
		for i := range len(l.families) {
			moved = r.losers(i) || moved
			moved = r.intruders(i) || moved
		}
	}
	r.guard()
	if l.moved == nil {
		return
	}
	l.families = slices.DeleteFunc(l.families, func(f mergedFamily) bool { return len(f.refs) == 0 })
	for i := range l.families {
		l.families[i].typ = r.elect(i)
		slices.SortStableFunc(l.families[i].refs, func(a, b ref) int { return cmp.Compare(a.block, b.block) })
	}
}

// guard has the values judged of single lines that their own target does not
// call a counter where OpenMetrics wants those of counters.
func (r *resolver) guard() {
	for i := range r.families {
		f := &r.families[i]
		if scalar(f.typ) && r.in.compound(f.name, f.typ) {
			for j := range f.refs {
				if p := *r.part(&f.refs[j]); p.judge == judgeNothing {
					p.judge = judgeOpenMetrics
					r.moved = append(r.moved, p)
					f.refs[j].family = ^int32(len(r.moved) - 1)
				}
			}
		}
	}
}

// elect chooses the TYPE of family i.
func (r *resolver) elect(i int) model.MetricType {
	f := &r.families[i]
	if len(f.refs) == 0 {
		return model.MetricTypeUnknown
	}
	first := r.source(&f.refs[0]).Type
	if !slices.ContainsFunc(f.refs[1:], func(one ref) bool { return r.source(&one).Type != first }) {
		return first
	}
	was := ""
	if before := r.before[f.name]; before != nil {
		was = stated(&before.Family)
	}
	won := mostSaid(f.refs, was, func(one *ref) string { return stated(r.source(one)) })
	return model.MetricType(cmp.Or(won, string(model.MetricTypeUnknown)))
}

// count counts the conflict of a family once.
func (r *resolver) count(name string) {
	if !r.counted[name] {
		r.counted[name] = true
		r.stats.TypeConflicts++
	}
}

// losers splits the histograms and summaries of family i that are not of its
// type.
func (r *resolver) losers(i int) bool {
	won := r.families[i].typ
	return r.splitWhere(i, func(one *ref) bool { return r.compound(one) && r.source(one).Type != won })
}

// compound says whether a ref has more sample names than the family's.
func (l *Layout) compound(r *ref) bool {
	if p := l.part(r); p != nil && p.roles != nil {
		return true
	}
	return !scalar(l.source(r).Type)
}

// splitWhere splits some refs of family i.
func (r *resolver) splitWhere(i int, where func(*ref) bool) bool {
	f := &r.families[i]
	var out []ref
	f.refs = slices.DeleteFunc(f.refs, func(one ref) bool {
		if !where(&one) {
			return false
		}
		out = append(out, one)
		return true
	})
	for j := range out {
		for _, p := range r.split(&out[j]) {
			r.move(out[j].block, p)
		}
	}
	return len(out) > 0
}

// split gives the lines of a ref by sample name; those of a shape's own family
// are kept with the shape.
func (l *Layout) split(r *ref) []part {
	if r.family < 0 {
		return split(l.source(r), &l.part(r).segment, l.asked(r))
	}
	s := l.shapes[r.block]
	s.dialects.mu.Lock()
	defer s.dialects.mu.Unlock()
	key := splitKey{l.in, r.family}
	parts, ok := s.dialects.split[key]
	if !ok {
		seg := l.segment(r)
		parts = split(l.source(r), &seg, l.asked(r))
		if s.dialects.split == nil {
			s.dialects.split = make(map[splitKey][]part)
		}
		s.dialects.split[key] = parts
	}
	return parts
}

// move puts a part that is in no shape in its family.
func (r *resolver) move(block int32, p part) {
	r.moved = append(r.moved, p)
	r.add(r.index, p.Name, ref{block: block, family: ^int32(len(r.moved) - 1)})
}
