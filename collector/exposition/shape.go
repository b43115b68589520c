package exposition

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Family is the head of one metric family of a shape, named as in the text
// format (a counter of OpenMetrics carries its "_total" here).
type Family struct {
	Name string
	Help string
	Unit string
	Type model.MetricType

	first, end int
	// text holds the prefixes of the family's lines.
	text prefixes
}

// Lines is the half-open range of the family's lines in its shape.
func (f *Family) Lines() (first, end int) { return f.first, f.end }

// line is one series: its prefix ends there in the text of its family, and is cut
// where two texts of the replica's own belong, which is its end for one that it
// has not got; first and second are their numbers.
type line struct {
	end, cut, more uint32
	first, second  uint16
}

// Shape is what stays the same from scrape to scrape: families in the order
// of their names, and in each the rendered prefixes of its series. It never
// changes and is shared by blocks; two blocks of one shape differ in values
// only.
type Shape struct {
	// own are the replica's own texts in the prefixes. They and list are all that a
	// page reads of most shapes, and so they are next to each other.
	own []string
	// list keeps the lists that follow, which other shapes may have too.
	list     lists
	families []Family
	lines    []line
	// at are the values of the lines: the indexes of their spans in a block.
	at []uint32
	// values are how many values a block of computed series has.
	values int
	// aside has the series that are computed and not on the page, nil for none.
	aside   *Shape
	drops   Drops
	left    LeftOut
	cost    Budget
	utf8    bool
	watched *[]watched
	// shows are the replica's own texts in the labels of watched series.
	shows []string
	// dialects are the families as readers of other formats get them, made
	// when the first asks.
	dialects struct {
		mu sync.Mutex
		of map[dialect][]part
		// split are families by sample name, for pages on which they have no type.
		split map[*Family][]*part
	}
}

// lists are the lists of a shape that are kept once, nil for those of a huge page:
// two shapes with the same have the same lines, but for the replica's own texts.
type lists struct {
	families *[]Family
	lines    *[]line
	at       *[]uint32
}

// Families are the shape's families sorted by name; the caller only reads.
func (s *Shape) Families() []Family { return s.families }

// Lines is the number of series of the shape.
func (s *Shape) Lines() int { return len(s.lines) }

// LeftOut says which series of the source are left out because they are too
// many.
func (s *Shape) LeftOut() LeftOut { return s.left }

// Cost is what the series of the shape take of a page, 0 where nothing bounds
// them.
func (s *Shape) Cost() Budget { return s.cost }

// Drops says how many series of the source the shape leaves out, and why.
func (s *Shape) Drops() Drops { return s.drops }

// segment is where the lines of one family are in a shape: all that is
// needed to write them.
type segment struct {
	lines []line
	at    []uint32
	text  string
	own   []string
}

// segment is the segment of family i.
func (s *Shape) segment(i int) segment {
	f := &s.families[i]
	return segment{lines: s.lines[f.first:f.end], at: s.at[f.first:f.end], text: f.text.Value(), own: s.own}
}

// Labels are the labels of a line, name included, read back from its prefix.
// It allocates: rules call it once per shape, not once per scrape.
func (s *Shape) Labels(n int) labels.Labels {
	i, _ := slices.BinarySearchFunc(s.families, n, func(f Family, n int) int {
		if f.end <= n {
			return -1
		}
		return 1
	})
	seg := s.segment(i)
	at, start := n-s.families[i].first, uint32(0)
	if at > 0 {
		start = seg.lines[at-1].end
	}
	return labelsOf(seg.appendPrefix(nil, start, &seg.lines[at]))
}

// labelsOf reads the labels back from a prefix.
func labelsOf(prefix []byte) labels.Labels {
	var split seriesSplitter
	lset, _ := split.labels(prefix[:len(prefix)-1])
	return lset
}

// series is one line while a shape is being built.
type series struct {
	family int
	prefix string
	value  int
	// order is what series of a family are sorted by; equal ones stay as they
	// came.
	order labels.Labels
}

// shapeBuilder gathers families and series in any order.
type shapeBuilder struct {
	families []Family
	index    map[string]int
	series   []series
	drops    Drops
	left     LeftOut
	cost     Budget
	watches  []toWatch
	watched  []watched
	shows    []string
	arranged bool
	// place is where each family is in the order of their names.
	place []int
}

// toWatch is a series that is watched while a shape is being built.
type toWatch struct {
	labels labels.Labels
	sample int
}

// family returns the index of the family of that name, made untyped when new.
func (b *shapeBuilder) family(name string) int {
	if i, ok := b.index[name]; ok {
		return i
	}
	if b.index == nil {
		b.index = make(map[string]int)
	}
	b.index[name] = len(b.families)
	b.families = append(b.families, Family{Name: name, Type: model.MetricTypeUnknown})
	return len(b.families) - 1
}

// arrange sorts families by name and series inside each by their order.
func (b *shapeBuilder) arrange() {
	if b.arranged {
		return
	}
	rank := make([]int, len(b.families))
	for i := range rank {
		rank[i] = i
	}
	slices.SortFunc(rank, func(x, y int) int { return strings.Compare(b.families[x].Name, b.families[y].Name) })
	place := make([]int, len(rank))
	for at, i := range rank {
		place[i] = at
	}
	slices.SortStableFunc(b.series, func(x, y series) int {
		return cmp.Or(place[x.family]-place[y.family], labels.Compare(x.order, y.order))
	})
	b.place, b.arranged = place, true
}

// build makes the shape of what was gathered, without families that have no
// series.
func (b *shapeBuilder) build() *Shape {
	b.arrange()
	share, watched := newSharer(b.series), b.watched
	defer share.done()
	s := &Shape{families: make([]Family, 0, len(b.families)), lines: make([]line, 0, len(b.series)), at: make([]uint32, 0, len(b.series)), own: share.own, drops: b.drops, left: b.left, cost: b.cost, watched: &watched, shows: slices.Clip(b.shows)}
	for i := 0; i < len(b.series); {
		f := b.families[b.series[i].family]
		f.first = i
		for ; i < len(b.series) && b.place[b.series[i].family] == b.place[b.series[f.first].family]; i++ {
			one := &b.series[i]
			s.lines, s.at = append(s.lines, share.add(one.prefix)), append(s.at, uint32(one.value))
			s.utf8 = s.utf8 || one.prefix[0] == '{' || quotedName(one.prefix)
		}
		f.end, f.text = i, share.family()
		f.Name, f.Help, f.Unit = unique.Make(f.Name).Value(), unique.Make(f.Help).Value(), unique.Make(f.Unit).Value()
		s.families = append(s.families, f)
	}
	if !share.huge {
		s.list.families, s.list.lines, s.list.at = keptFamilies.once(s.families), keptLines.once(s.lines), keptNumbers.once(s.at)
		s.watched = keptWatched.once(slices.Clone(watched))
		s.families, s.lines, s.at = *s.list.families, *s.list.lines, *s.list.at
	}
	return s
}

// quotedName reports whether a label name of a prefix needs quotes, which the text
// format 0.0.4 has not got.
func quotedName(prefix string) bool {
	for i := 1; i < len(prefix); i++ {
		if prefix[i] == '"' && (prefix[i-1] == '{' || prefix[i-1] == ',') {
			return slowQuotedName(prefix)
		}
	}
	return false
}

// slowQuotedName decides by the labels themselves, because a value may hold the
// same bytes.
func slowQuotedName(prefix string) (found bool) {
	labelsOf([]byte(prefix)).Range(func(l labels.Label) {
		found = found || l.Name != model.MetricNameLabel && !model.LegacyValidation.IsValidLabelName(l.Name)
	})
	return found
}
