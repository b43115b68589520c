package exposition

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// series is one line while a shape is being built.
type series struct {
	family int
	prefix string
	// value is the index of the sample and, after assignIndexes, of the value in blocks.
	value int
	// order sorts the series of a family; equal ones keep the order of the source.
	order labels.Labels
}

// shapeBuilder collects families and series in any order.
type shapeBuilder struct {
	families []Family
	index    map[string]int
	series   []series
	drops    Drops
	leftOut  LeftOut
	cost     Volume
	watched  []watchedSeries
	gpus     []string
	// ranks are the positions of the families sorted by name, nil before [shapeBuilder.sort].
	ranks []int
}

func (b *shapeBuilder) sort() {
	if b.ranks != nil {
		return
	}
	sorted := make([]int, len(b.families))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(x, y int) int { return strings.Compare(b.families[x].Name, b.families[y].Name) })
	b.ranks = make([]int, len(sorted))
	for rank, i := range sorted {
		b.ranks[i] = rank
	}
	slices.SortStableFunc(b.series, func(x, y series) int {
		return cmp.Or(b.ranks[x.family]-b.ranks[y.family], labels.Compare(x.order, y.order))
	})
	for i := range b.series {
		b.series[i].order = labels.EmptyLabels() // They take as much memory as the lines.
	}
}

// build returns the shape. Families without series are dropped.
func (b *shapeBuilder) build() *Shape {
	b.sort()
	text := newTextBuilder(b.series)
	s := &Shape{
		families: make([]Family, 0, len(b.families)),
		lines:    make([]line, 0, len(b.series)),
		indexes:  make([]uint32, 0, len(b.series)),
		local:    text.local,
		drops:    b.drops,
		leftOut:  b.leftOut,
		cost:     b.cost,
		watched:  intern(&internedWatched, slices.Clip(b.watched)),
		gpus:     slices.Clip(b.gpus),
	}
	for i := 0; i < len(b.series); {
		f := b.families[b.series[i].family]
		f.first = i
		for ; i < len(b.series) && b.series[i].family == b.series[f.first].family; i++ {
			sr := &b.series[i]
			s.lines = append(s.lines, text.add(sr.prefix))
			s.indexes = append(s.indexes, uint32(sr.value))
			s.utf8 = s.utf8 || needsUTF8(sr.prefix)
			sr.prefix = "" // What is built takes the place of what it is built from.
		}
		f.end = i
		f.text = text.family()
		f.Name = unique.Make(f.Name).Value()
		f.Help = unique.Make(f.Help).Value()
		s.families = append(s.families, f)
	}
	families := intern(&internedFamilies, s.families)
	lines := intern(&internedLines, s.lines)
	indexes := intern(&internedIndexes, s.indexes)
	s.interned = [...]any{families, lines, indexes}
	s.families, s.lines, s.indexes = *families, *lines, *indexes
	return s
}

// shape assigns every sample of the body to its family. Of equal series the newest sample wins.
func (r *pageReader) shape(renderer *seriesRenderer) (*Shape, error) {
	b := &shapeBuilder{drops: r.drops}
	omitted, err := r.preselect(renderer, b)
	if err != nil {
		return nil, err
	}
	b.series, r.valueDrops = make([]series, 0, len(r.samples)-b.leftOut.Series), false
	seen := make(map[string]int, len(r.samples)-b.leftOut.Series)
	for i := range r.samples {
		cached, err := renderer.series(r.samples[i].series)
		if err != nil {
			return nil, err
		}
		b.drops.Collisions += cached.collisions
		s := &r.samples[i]
		s.watched, s.count = labels.EmptyLabels(), false
		if !s.conflicting {
			s.watched = cached.source
		} else if cached.drop == "" {
			cached.drop = DropTypeConflict
		}
		if cached.drop != "" {
			b.drops.add(cached.drop)
		} else if omitted == nil || !omitted[r.familyOf(&cached)] {
			r.addSeries(b, seen, &cached, i)
		}
	}
	b.limit(r.opts.Limits.Output)
	r.assignIndexes(b)
	return b.build(), nil
}

// assignIndexes assigns the indexes of values in blocks: first to the lines in the order of the
// page, then to all other samples by the text of their series. Replicas that list the same series
// in different orders thereby share everything that refers to these indexes.
func (r *pageReader) assignIndexes(b *shapeBuilder) {
	b.sort()
	r.watchNewest()
	ordered, written := make([]*sample, 0, len(r.samples)), make([]bool, len(r.samples))
	for i := range b.series {
		sr := &b.series[i]
		written[sr.value] = true
		ordered = append(ordered, &r.samples[sr.value])
		sr.value = i
	}
	for i := range r.samples {
		if !written[i] {
			ordered = append(ordered, &r.samples[i])
		}
	}
	slices.SortStableFunc(ordered[len(b.series):], func(x, y *sample) int { return bytes.Compare(x.series, y.series) })
	for i, s := range ordered {
		s.index = uint32(i)
		if !s.watched.IsEmpty() {
			b.watch(s.watched, s.index)
		}
	}
}

// watchNewest watches one sample of each series.
func (r *pageReader) watchNewest() {
	newest := make(map[uint64]*sample, min(len(r.samples), maxInitialSamples))
	for i := range r.samples {
		s := &r.samples[i]
		hash := s.watched.Hash()
		switch other := newest[hash]; {
		case other == nil:
			newest[hash] = s
		case s.after(other):
			other.watched, newest[hash] = labels.EmptyLabels(), s
		default:
			s.watched = labels.EmptyLabels()
		}
	}
}

// addSeries adds the series of sample i to its family unless it is malformed or an older duplicate.
// The positions of the series that were added are in seen.
func (r *pageReader) addSeries(b *shapeBuilder, seen map[string]int, cached *cachedSeries, i int) {
	family := r.meta.familyIndex(b, r.format, cached.name)
	f := &b.families[family]
	identity, drop := cached.lint(f)
	previous, duplicate := seen[identity]
	if drop == "" && duplicate && !r.samples[i].after(&r.samples[b.series[previous].value]) {
		drop = DropDuplicate
	}
	if s := &r.samples[i]; drop == "" && f.Type == model.MetricTypeHistogram &&
		!strings.HasSuffix(cached.name, "_sum") {
		// A negative number of observations makes readers reject the page.
		s.count = true
		if v, _ := number(r.body[s.value.start:s.value.end]); v < 0 {
			r.valueDrops, drop = true, DropInvalidHistogram
		}
	}
	if drop != "" {
		b.drops.add(drop)
		return
	}
	added := series{
		family: family,
		prefix: cached.prefix,
		value:  i,
		order:  cached.order(f.Type),
	}
	if duplicate {
		b.drops.add(DropDuplicate)
		b.series[previous] = added
		return
	}
	seen[identity] = len(b.series)
	b.series = append(b.series, added)
}
