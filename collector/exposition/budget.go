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
// whole families, for what is summed over half of one is wrong.
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

// Less is what is left when something is taken, at least 1 of what is bounded.
func (b Budget) Less(taken Budget) Budget {
	if b.Series > 0 {
		b.Series = max(b.Series-taken.Series, 1)
	}
	if b.Bytes > 0 {
		b.Bytes = max(b.Bytes-taken.Bytes, 1)
	}
	return b
}

// Has says whether the budget has room for what is taken.
func (b Budget) Has(taken Budget) bool {
	return (b.Series == 0 || taken.Series <= b.Series) && (b.Bytes == 0 || taken.Bytes <= b.Bytes)
}

// Plus adds what is taken.
func (b Budget) Plus(more Budget) Budget { return Budget{b.Series + more.Series, b.Bytes + more.Bytes} }

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
	costs, order := make([]Budget, len(b.families)), make([]int, len(b.families))
	for i := range b.families {
		costs[i], order[i] = b.families[i].cost(), i
	}
	for i := range b.series {
		s := &b.series[i]
		costs[s.family] = costs[s.family].Plus(costOf(s.prefix))
	}
	for _, cost := range costs {
		b.cost = b.cost.Plus(cost)
	}
	if limit.Has(b.cost) {
		return
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(limit.share(costs[y]), limit.share(costs[x])), cmp.Compare(b.families[x].Name, b.families[y].Name))
	})
	out := make([]bool, len(b.families))
	for _, i := range order {
		if limit.Has(b.cost) {
			break
		}
		out[i] = true
		b.cost.Series, b.cost.Bytes = b.cost.Series-costs[i].Series, b.cost.Bytes-costs[i].Bytes
		b.left.Series += costs[i].Series
		b.left.Families++
		if len(b.left.Names) < namesOfLeftOut {
			b.left.Names = append(b.left.Names, b.families[i].Name)
		}
	}
	b.series = slices.DeleteFunc(b.series, func(s series) bool { return out[s.family] })
}

// clipped is a text of at most so many bytes, 0 for any: what is longer ends
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
