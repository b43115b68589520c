package exposition

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Budget is what the series of one target may take of a page, in samples and in
// bytes of text; a zero field is no bound.
type Budget struct{ Series, Bytes int }

// LeftOut are the series that a budget keeps off the page. They are left out by
// whole families, because what is summed over half of one is wrong.
type LeftOut struct {
	Series, Families int
	// Names are the largest of the families, a few of them.
	Names []string
}

// namesOfLeftOut bounds LeftOut.Names.
const namesOfLeftOut = 3

// valueRoom is what a value takes of a budget: the longest that is written,
// with the blank before it and the end of the line.
const valueRoom = longestValue + 2

// longestValue is the most bytes that a value is written with; what a server
// writes with more is formatted again.
const longestValue = len("-1.7976931348623157e+308")

// Remaining is what is left when something is taken, at least 1 of what is bounded.
func (b Budget) Remaining(taken Budget) Budget {
	if b.Series > 0 {
		b.Series = max(b.Series-taken.Series, 1)
	}
	if b.Bytes > 0 {
		b.Bytes = max(b.Bytes-taken.Bytes, 1)
	}
	return b
}

// Fits reports whether the budget has room for what is taken.
func (b Budget) Fits(taken Budget) bool {
	return (b.Series == 0 || taken.Series <= b.Series) && (b.Bytes == 0 || taken.Bytes <= b.Bytes)
}

// Add adds what is taken.
func (b Budget) Add(more Budget) Budget { return Budget{b.Series + more.Series, b.Bytes + more.Bytes} }

// share is the part of the budget that something takes.
func (b Budget) share(taken Budget) float64 {
	share := 0.0
	if b.Series > 0 {
		share = float64(taken.Series) / float64(b.Series)
	}
	if b.Bytes > 0 {
		share = max(share, float64(taken.Bytes)/float64(b.Bytes))
	}
	return share
}

// costOf is what the line of a prefix takes. Names that readers may get escaped
// become up to four times as long.
func costOf(prefix string) Budget {
	bytes := len(prefix)
	if prefix[0] == '{' || quotedName(prefix) {
		bytes *= 4
	}
	return Budget{1, bytes + valueRoom}
}

// Cost is what the series takes of a page, before relabeling.
func (s *ComputedSeries) Cost() Budget {
	return Budget{1, int(s.Labels.ByteSize()) + 4*s.Labels.Len() + len(s.Family.Name) + len(s.Suffix) + valueRoom}
}

// cost is what the head of a family takes.
func (f *Family) cost() Budget {
	const words = len("# HELP  \n# TYPE  histogram\n# UNIT  \n")
	return Budget{0, 3*len(f.Name) + len(f.Help) + len(f.Unit) + words}
}

// fit leaves the largest families out until the others fit.
func (b *shapeBuilder) fit(limit Budget) {
	if limit == (Budget{}) {
		return
	}
	all := make([]costly, len(b.families))
	for i := range b.families {
		all[i] = costly{b.families[i].Name, b.families[i].cost()}
	}
	for i := range b.series {
		s := &b.series[i]
		all[s.family].cost = all[s.family].cost.Add(costOf(s.prefix))
	}
	out := b.left.choose(all, limit)
	for i := range all {
		if !out[all[i].family] {
			b.cost = b.cost.Add(all[i].cost)
		}
	}
	if len(out) > 0 {
		b.series = slices.DeleteFunc(b.series, func(s series) bool { return out[b.families[s.family].Name] })
	}
}

// costly is what a family takes.
type costly struct {
	family string
	cost   Budget
}

// choose notes which families are left out.
func (l *LeftOut) choose(all []costly, limit Budget) (out map[string]bool) {
	taken := Budget{}
	for i := range all {
		taken = taken.Add(all[i].cost)
	}
	if limit.Fits(taken) {
		return nil
	}
	order := slices.SortedFunc(slices.Values(all), func(x, y costly) int {
		return cmp.Or(cmp.Compare(limit.share(y.cost), limit.share(x.cost)), cmp.Compare(x.family, y.family))
	})
	out = make(map[string]bool)
	for _, one := range order {
		if limit.Fits(taken) {
			break
		}
		out[one.family] = true
		taken.Series, taken.Bytes = taken.Series-one.cost.Series, taken.Bytes-one.cost.Bytes
		l.Series += one.cost.Series
		l.Families++
		if len(l.Names) < namesOfLeftOut {
			l.Names = append(l.Names, one.family)
		}
	}
	return out
}

// foresee says of a huge page which families are left out, before any memory is
// spent on them. Series that are dropped for other reasons may count.
func (r *pageReader) foresee(l *liner, b *shapeBuilder) (out map[string]bool, err error) {
	limit := r.opts.Limits.Output
	if len(r.body) <= ordinary || limit == (Budget{}) {
		return nil, nil
	}
	index := make(map[string]int)
	var all []costly
	for i := range r.samples {
		k, err := l.line(r.samples[i].series)
		if err != nil {
			return nil, err
		}
		if k.drop != "" {
			continue
		}
		name := r.familyOf(&k)
		at, ok := index[name]
		if !ok {
			at = len(all)
			index[name] = at
			all = append(all, costly{family: name})
		}
		all[at].cost = all[at].cost.Add(costOf(k.prefix))
	}
	return b.left.choose(all, limit), nil
}

// familyOf is the name of the family that a series belongs to.
func (r *pageReader) familyOf(k *known) string {
	name, _, _ := r.meta.resolve(r.kind, k.name)
	return name
}

// clipped is a text of at most that many bytes, 0 for any: what is longer ends
// with three points.
func clipped(text string, limit int) string {
	const more = "..."
	if limit == 0 || len(text) <= limit {
		return text
	}
	end := max(limit-len(more), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more[:min(len(more), limit)]
}
