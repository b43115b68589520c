package exposition

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// known is what became of a series text: its labels and rendered prefix, or
// why it is dropped.
type known struct {
	labels     labels.Labels
	prefix     string
	name       string
	drop       string
	collisions uint32
	// source are the labels as the server wrote them, kept for watched names.
	source  labels.Labels
	watched bool
}

// liner turns series texts into rendered lines, each text once.
type liner struct {
	opts  *Options
	old   map[string]known
	fresh map[string]known
	split seriesSplitter
	buf   []byte
}

// line labels, relabels and renders one series. Only a limit is an error;
// every other fault drops that series alone.
func (l *liner) line(text []byte) (known, error) {
	if k, ok := l.old[string(text)]; ok {
		l.keep(text, &k)
		return k, nil
	}
	lset, err := l.split.labels(text)
	var k known
	switch {
	case errors.Is(err, errInvalidLabel):
		k.drop = DropInvalidLabels
	case errors.Is(err, errReservedLabel):
		k.drop = DropReservedLabel
	default:
		if err := l.limit(lset); err != nil {
			return known{}, err
		}
		k = l.render(lset)
		if name := lset.Get(model.MetricNameLabel); l.opts.Watch != nil && l.opts.Watch(name) && !l.opts.reserved(name) {
			k.source, k.watched = lset, true
		}
	}
	l.keep(text, &k)
	return k, nil
}

// keep keeps what became of a series for the next page.
func (l *liner) keep(text []byte, k *known) {
	if l.fresh != nil {
		l.fresh[string(text)] = *k
	}
}

// render attaches identity and relabels.
func (l *liner) render(lset labels.Labels) known {
	if l.opts.reserved(lset.Get(model.MetricNameLabel)) {
		return known{drop: DropReservedName}
	}
	out := Labeled{Labels: lset, Keep: true}
	if l.opts.Label != nil {
		out = l.opts.Label(lset)
	}
	k := known{
		labels:     out.Labels,
		name:       out.Labels.Get(model.MetricNameLabel),
		collisions: uint32(out.Collisions),
	}
	switch {
	case !out.Keep:
		k.drop = cmp.Or(out.Drop, DropRelabel)
	case !validName(k.name):
		k.drop = DropInvalidName
	case !validLabels(out.Labels):
		k.drop = DropInvalidLabels
	case l.opts.reserved(k.name):
		k.drop = DropReservedName
	default:
		l.buf = appendPrefix(l.buf[:0], out.Labels)
		k.prefix = string(l.buf)
	}
	return k
}

// validName reports whether readers can read a name; a NUL byte is UTF-8, yet
// textparse ends the page there. Relabeling makes names of values, which may
// hold anything.
func validName(name string) bool {
	return name != "" && utf8.ValidString(name) && strings.IndexByte(name, 0) < 0
}

// validLabels reports whether readers can read the labels.
func validLabels(lset labels.Labels) bool {
	valid := true
	lset.Range(func(l labels.Label) {
		valid = valid && validName(l.Name) && utf8.ValidString(l.Value)
	})
	return valid
}

// limit measures one series against the limits.
func (l *liner) limit(lset labels.Labels) error {
	count, name, value := 0, 0, 0
	lset.Range(func(lb labels.Label) {
		if lb.Name == model.MetricNameLabel {
			return
		}
		count++
		name, value = max(name, len(lb.Name)), max(value, len(lb.Value))
	})
	return l.opts.Limits.checkLabels(lset.Get(model.MetricNameLabel), count, name, value)
}

// reserved reports whether a name belongs to the exporter, also when it only
// does so for readers that get it escaped.
func (o *Options) reserved(name string) bool {
	name = model.EscapeName(name, model.UnderscoreEscaping)
	return slices.ContainsFunc(o.Reserved, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// shape places every sample of the body in its family, the first of equal
// series winning.
func (r *pageReader) shape(l *liner) (*Shape, error) {
	b := &shapeBuilder{drops: r.drops}
	out, err := r.foresee(l, b)
	if err != nil {
		return nil, err
	}
	b.series = make([]series, 0, len(r.samples)-b.left.Series)
	seen := make(map[string]struct{}, len(r.samples)-b.left.Series)
	watched := make(map[uint64]struct{}, min(len(r.samples), mostRoom))
	b.watches = make([]toWatch, 0, min(len(r.samples), mostRoom))
	for i := range r.samples {
		k, err := l.line(r.samples[i].series)
		if err != nil {
			return nil, err
		}
		b.drops.Collisions += k.collisions
		conflicting := r.samples[i].conflicting
		if k.watched && !conflicting {
			b.toWatch(watched, k.source, i)
		}
		if k.drop == "" && conflicting {
			k.drop = DropTypeConflict
		}
		if k.drop == "" {
			if out == nil || !out[r.familyOf(&k)] {
				r.keep(b, seen, &k, i)
			}
			continue
		}
		b.drops.add(k.drop)
	}
	b.fit(r.opts.Limits.Output)
	r.number(b)
	return b.build(), nil
}

// number gives the values of a page their numbers in blocks: those of lines in the
// order in which they are shown, then the others by the text of their series.
// Replicas show the same series in different orders, and have everything that
// goes by these numbers in common.
func (r *pageReader) number(b *shapeBuilder) {
	b.arrange()
	next := uint32(0)
	shown := make([]bool, len(r.samples))
	for i := range b.series {
		one := &b.series[i]
		shown[one.value], r.samples[one.value].place = true, next
		one.value = int(next)
		next++
	}
	if int(next) < len(r.samples) {
		var others []*sample
		for i := range r.samples {
			if !shown[i] {
				others = append(others, &r.samples[i])
			}
		}
		slices.SortStableFunc(others, func(x, y *sample) int { return bytes.Compare(x.series, y.series) })
		for i, s := range others {
			s.place = next + uint32(i)
		}
	}
	// GPUs are numbered in the order of the lines too.
	slices.SortFunc(b.watches, func(x, y toWatch) int { return cmp.Compare(r.samples[x.sample].place, r.samples[y.sample].place) })
	for i := range b.watches {
		w := &b.watches[i]
		b.watch(w.labels, r.samples[w.sample].place)
	}
}

// toWatch notes the series of sample i for rules; like on the page, the first
// of equal series wins.
func (b *shapeBuilder) toWatch(seen map[uint64]struct{}, source labels.Labels, i int) {
	hash := source.Hash()
	if _, twice := seen[hash]; twice {
		return
	}
	seen[hash] = struct{}{}
	b.watches = append(b.watches, toWatch{source, i})
}

// keep places the series of sample i in its family, unless it is malformed
// or there already.
func (r *pageReader) keep(b *shapeBuilder, seen map[string]struct{}, k *known, i int) {
	family := r.meta.place(b, r.kind, k.name)
	f := &b.families[family]
	identity, drop := k.lint(f)
	if _, twice := seen[identity]; drop == "" && twice {
		drop = DropDuplicate
	}
	if s := &r.samples[i]; drop == "" && f.Type == model.MetricTypeHistogram && !strings.HasSuffix(k.name, "_sum") {
		// Readers take negative numbers of observations for a broken page.
		s.count = true
		if v, _ := number(r.body[s.value.start:s.value.end]); v < 0 {
			r.valueDrops, drop = true, DropInvalidHistogram
		}
	}
	if drop != "" {
		b.drops.add(drop)
		return
	}
	seen[identity] = struct{}{}
	b.series = append(b.series, series{family: family, prefix: k.prefix, value: i, order: k.order(f.Type)})
}

// order is what the series of a family are sorted by: servers show them in any
// order, another one after each start (prometheus-cpp keeps them in a hash map),
// and replicas alike. Those of one histogram or summary stay together as they
// came, by the labels that they have in common.
func (k *known) order(typ model.MetricType) labels.Labels {
	if scalar(typ) {
		return k.labels
	}
	return labels.NewBuilder(k.labels).Del(model.MetricNameLabel, model.BucketLabel, model.QuantileLabel).Labels()
}

// lint says why a series cannot be part of a histogram or summary, else what
// distinguishes it from other series: its prefix, in which bounds count as
// numbers, because le="1" and le="1.0" are the same bucket to every reader.
func (k *known) lint(f *Family) (identity, drop string) {
	suffix := strings.TrimPrefix(k.name, f.Name)
	label, needed, drop := model.BucketLabel, suffix == "_bucket", DropInvalidHistogram
	switch f.Type {
	case model.MetricTypeHistogram:
	case model.MetricTypeSummary:
		label, needed, drop = model.QuantileLabel, suffix == "", DropInvalidSummary
	default:
		return k.prefix, ""
	}
	text := k.labels.Get(label)
	if needed != (text != "") || !needed && suffix == "" {
		return "", drop
	}
	if !needed {
		return k.prefix, ""
	}
	canonical, ok := canonicalBound(text)
	if !ok {
		return "", drop
	}
	if canonical == text {
		return k.prefix, ""
	}
	b := labels.NewBuilder(k.labels)
	return string(appendPrefix(nil, b.Set(label, canonical).Labels())), ""
}
