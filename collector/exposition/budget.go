package exposition

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Budget is a size in series and bytes of text. In a limit, a zero field means no limit.
type Budget struct{ Series, Bytes int }

// LeftOut counts the series that exceed a budget. Whole families are left out, because a sum over
// a part of a family would be wrong.
type LeftOut struct {
	Series, Families int
	// Names lists the largest of the families, at most [maxLeftOutNames].
	Names []string
}

const maxLeftOutNames = 3

// maxValueBytes is the maximum length of a written value; longer ones are reformatted.
const maxValueBytes = len("-1.7976931348623157e+308")

// maxSampleOverhead is the cost of a value with the space before it and the newline.
const maxSampleOverhead = maxValueBytes + 2

// Remaining returns the limit minus used, at least 1 in fields with a limit.
func (b Budget) Remaining(used Budget) Budget {
	if b.Series > 0 {
		b.Series = max(b.Series-used.Series, 1)
	}
	if b.Bytes > 0 {
		b.Bytes = max(b.Bytes-used.Bytes, 1)
	}
	return b
}

// Fits reports whether used is within the limit.
func (b Budget) Fits(used Budget) bool {
	return (b.Series == 0 || used.Series <= b.Series) && (b.Bytes == 0 || used.Bytes <= b.Bytes)
}

// Add returns the sum of b and other.
func (b Budget) Add(other Budget) Budget {
	return Budget{b.Series + other.Series, b.Bytes + other.Bytes}
}

// share returns the fraction of the limit that is used, the larger of the two.
func (b Budget) share(used Budget) float64 {
	share := 0.0
	if b.Series > 0 {
		share = float64(used.Series) / float64(b.Series)
	}
	if b.Bytes > 0 {
		share = max(share, float64(used.Bytes)/float64(b.Bytes))
	}
	return share
}

// prefixCost returns the cost of a line. Escaping makes a name up to four times as long.
func prefixCost(prefix string) Budget {
	bytes := len(prefix)
	if prefix[0] == '{' || quotedLabelName(prefix) {
		bytes *= 4
	}
	return Budget{1, bytes + maxSampleOverhead}
}

// Cost returns the cost of the series before relabeling.
func (s *ComputedSeries) Cost() Budget {
	return Budget{1, int(s.Labels.ByteSize()) + 4*s.Labels.Len() + len(s.Family.Name) + len(s.Suffix) + maxSampleOverhead}
}

// cost returns the cost of the family's HELP, TYPE and UNIT.
func (f *Family) cost() Budget {
	const words = len("# HELP  \n# TYPE  histogram\n# UNIT  \n")
	return Budget{0, 3*len(f.Name) + len(f.Help) + len(f.Unit) + words}
}

// limit leaves out the largest families until the rest fits the limit.
func (b *shapeBuilder) limit(limit Budget) {
	if limit == (Budget{}) {
		return
	}
	costs := make(map[string]Budget, len(b.families))
	for i := range b.families {
		costs[b.families[i].Name] = b.families[i].cost()
	}
	for i := range b.series {
		name := b.families[b.series[i].family].Name
		costs[name] = costs[name].Add(prefixCost(b.series[i].prefix))
	}
	omitted := b.leftOut.choose(costs, limit)
	for name, cost := range costs {
		if !omitted[name] {
			b.cost = b.cost.Add(cost)
		}
	}
	if len(omitted) > 0 {
		b.series = slices.DeleteFunc(b.series, func(s series) bool { return omitted[b.families[s.family].Name] })
	}
}

// choose returns the families to leave out by their costs, and counts them.
func (l *LeftOut) choose(costs map[string]Budget, limit Budget) (omitted map[string]bool) {
	used := Budget{}
	for _, cost := range costs {
		used = used.Add(cost)
	}
	if limit.Fits(used) {
		return nil
	}
	largest := slices.SortedFunc(maps.Keys(costs), func(x, y string) int {
		return cmp.Or(cmp.Compare(limit.share(costs[y]), limit.share(costs[x])), strings.Compare(x, y))
	})
	omitted = make(map[string]bool)
	for _, name := range largest {
		if limit.Fits(used) {
			break
		}
		omitted[name] = true
		used.Series, used.Bytes = used.Series-costs[name].Series, used.Bytes-costs[name].Bytes
		l.Series += costs[name].Series
		l.Families++
		if len(l.Names) < maxLeftOutNames {
			l.Names = append(l.Names, name)
		}
	}
	return omitted
}

// largePageBytes is the size above which families are left out before memory is allocated for
// them.
const largePageBytes = 256 << 10

// preselect returns the families of a large page to leave out. Series that will be dropped for
// other reasons may count.
func (r *pageReader) preselect(renderer *seriesRenderer, b *shapeBuilder) (omitted map[string]bool, err error) {
	limit := r.opts.Limits.Output
	if len(r.body) <= largePageBytes || limit == (Budget{}) {
		return nil, nil
	}
	costs := make(map[string]Budget)
	for i := range r.samples {
		cached, err := renderer.series(r.samples[i].series)
		if err != nil {
			return nil, err
		}
		if cached.drop == "" {
			name := r.familyOf(&cached)
			costs[name] = costs[name].Add(prefixCost(cached.prefix))
		}
	}
	return b.leftOut.choose(costs, limit), nil
}

func (r *pageReader) familyOf(cached *cachedSeries) string {
	name, _, _ := r.meta.resolve(r.format, cached.name)
	return name
}

// truncate shortens text to at most limit bytes, ending with an ellipsis; 0 means no limit.
func truncate(text string, limit int) string {
	const ellipsis = "..."
	if limit == 0 || len(text) <= limit {
		return text
	}
	end := max(limit-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis[:min(len(ellipsis), limit)]
}
