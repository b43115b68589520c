package exposition

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Volume is a size in series and bytes of text. In a limit, a zero field means no limit.
type Volume struct{ Series, Bytes int }

// LeftOut counts the series that exceed a limit. Whole families are left out, because a sum over
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
func (v Volume) Remaining(used Volume) Volume {
	if v.Series > 0 {
		v.Series = max(v.Series-used.Series, 1)
	}
	if v.Bytes > 0 {
		v.Bytes = max(v.Bytes-used.Bytes, 1)
	}
	return v
}

// Fits reports whether used is within the limit.
func (v Volume) Fits(used Volume) bool {
	return (v.Series == 0 || used.Series <= v.Series) && (v.Bytes == 0 || used.Bytes <= v.Bytes)
}

// Add returns the sum of v and other.
func (v Volume) Add(other Volume) Volume {
	return Volume{v.Series + other.Series, v.Bytes + other.Bytes}
}

// share returns the fraction of the limit that is used, the larger of the two.
func (v Volume) share(used Volume) float64 {
	share := 0.0
	if v.Series > 0 {
		share = float64(used.Series) / float64(v.Series)
	}
	if v.Bytes > 0 {
		share = max(share, float64(used.Bytes)/float64(v.Bytes))
	}
	return share
}

// prefixCost returns the cost of a line. Escaping makes a name up to four times as long.
func prefixCost(prefix string) Volume {
	bytes := len(prefix)
	if needsUTF8(prefix) {
		bytes *= 4
	}
	return Volume{1, bytes + maxSampleOverhead}
}

// Cost returns the cost of the series before relabeling.
func (s *ComputedSeries) Cost() Volume {
	return Volume{
		1,
		int(s.Labels.ByteSize()) + 4*s.Labels.Len() + len(s.Family.Name) + len(s.Suffix) + maxSampleOverhead,
	}
}

// cost returns the cost of the family's HELP and TYPE.
func (f *Family) cost() Volume {
	const words = len("# HELP  \n# TYPE  histogram\n")
	return Volume{0, 2*len(f.Name) + len(f.Help) + words}
}

// limit leaves out the largest families until the rest fits the limit.
func (b *shapeBuilder) limit(limit Volume) {
	if limit == (Volume{}) {
		return
	}
	costs := make(map[string]Volume, len(b.families))
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
func (l *LeftOut) choose(costs map[string]Volume, limit Volume) (omitted map[string]bool) {
	used := Volume{}
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
	if len(r.body) <= largePageBytes || limit == (Volume{}) {
		return nil, nil
	}
	costs := make(map[string]Volume)
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
