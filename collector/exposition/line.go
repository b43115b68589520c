package exposition

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// known is what became of a series text: its rendered prefix and name, or
// why it is dropped.
type known struct {
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
		l.fresh[string(text)] = k
		return k, nil
	}
	lset, err := l.split.labels(text)
	var k known
	switch {
	case errors.Is(err, errDuplicateLabel):
		k.drop = DropInvalidLabels
	case errors.Is(err, errReservedLabel):
		k.drop = DropReservedLabel
	default:
		if err := l.limit(lset); err != nil {
			return known{}, err
		}
		k = l.render(lset)
		if name := lset.Get(labels.MetricName); l.opts.Watch != nil && k.drop != DropReservedName && l.opts.Watch(name) {
			k.source, k.watched = lset, true
		}
	}
	l.fresh[string(text)] = k
	return k, nil
}

// render attaches identity and relabels.
func (l *liner) render(lset labels.Labels) known {
	if l.opts.reserved(lset.Get(labels.MetricName)) {
		return known{drop: DropReservedName}
	}
	out := Labelled{Labels: lset, Keep: true}
	if l.opts.Label != nil {
		out = l.opts.Label(lset)
	}
	k := known{name: out.Labels.Get(labels.MetricName), collisions: uint32(out.Collisions)}
	switch {
	case !out.Keep:
		k.drop = DropRelabel
	case k.name == "" || !utf8.ValidString(k.name):
		k.drop = DropInvalidName
	case l.opts.reserved(k.name):
		k.drop = DropReservedName
	default:
		l.buf = appendPrefix(l.buf[:0], out.Labels)
		k.prefix = string(l.buf)
	}
	return k
}

// limit measures one series against the limits.
func (l *liner) limit(lset labels.Labels) error {
	count, name, value := 0, 0, 0
	lset.Range(func(lb labels.Label) {
		if lb.Name == labels.MetricName {
			return
		}
		count++
		name, value = max(name, len(lb.Name)), max(value, len(lb.Value))
	})
	return l.opts.Limits.checkLabels(lset.Get(labels.MetricName), count, name, value)
}

// reserved says whether a name belongs to the exporter.
func (o *Options) reserved(name string) bool {
	for _, prefix := range o.Reserved {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// shape places every sample of the body in its family, the first of equal
// series winning.
func (r *pageReader) shape(l *liner) (*Shape, error) {
	b := &shapeBuilder{series: make([]series, 0, len(r.samples)), drops: r.drops}
	seen := make(map[string]struct{}, len(r.samples))
	for i := range r.samples {
		k, err := l.line(r.samples[i].series)
		if err != nil {
			return nil, err
		}
		b.drops.Collisions += k.collisions
		_, twice := seen[k.prefix]
		if k.watched && !r.samples[i].conflicting {
			_, _, typ := r.meta.resolve(r.kind, k.source.Get(labels.MetricName))
			b.watched = append(b.watched, Watched{Labels: k.source, Type: typ, value: uint32(i)})
		}
		switch {
		case k.drop != "":
			b.drops.add(k.drop)
		case r.samples[i].conflicting:
			b.drops.add(DropTypeConflict)
		case twice:
			b.drops.add(DropDuplicate)
		default:
			seen[k.prefix] = struct{}{}
			family := r.meta.place(b, r.kind, k.name)
			b.series = append(b.series, series{family: family, prefix: k.prefix, value: i})
		}
	}
	return b.build(), nil
}
