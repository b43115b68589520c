package exposition

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// WriteFormat writes the page in any format that can be negotiated: text and
// OpenMetrics with the writer of [Layout.WriteText], protobuf with expfmt, which
// builds every family each time and is meant for the few clients that ask for it.
func (l *Layout) WriteFormat(w io.Writer, blocks []*Block, format expfmt.Format, only func(name string) bool) error {
	switch format.FormatType() {
	case expfmt.TypeTextPlain, expfmt.TypeOpenMetrics:
		_, err := l.In(format).WriteText(w, blocks, nil, only)
		return err
	default:
	}
	l = l.In(format)
	p := newPageEncoder(w, format)
	for i := range l.families {
		f := &l.families[i]
		if !f.selected(only) {
			continue
		}
		for _, mf := range l.messages(f, blocks, only) {
			if err := p.encode(mf); err != nil {
				return err
			}
		}
	}
	return nil
}

// pageEncoder writes one page family by family, each whole or not at all.
type pageEncoder struct {
	w   io.Writer
	buf bytes.Buffer
	enc expfmt.Encoder
}

func newPageEncoder(w io.Writer, format expfmt.Format) *pageEncoder {
	p := &pageEncoder{w: w}
	p.enc = expfmt.NewEncoder(&p.buf, format)
	return p
}

// encode writes one family. A family that the format refuses is left out, so
// that it does not take the others' with it; only the writer's errors count.
func (p *pageEncoder) encode(mf *dto.MetricFamily) error {
	p.buf.Reset()
	if len(mf.Metric) == 0 {
		return nil
	}
	if err := p.enc.Encode(mf); err != nil {
		return nil //nolint:nilerr // the family is left out, the page goes on.
	}
	_, err := p.w.Write(p.buf.Bytes())
	return err
}

// messages builds one family as protobuf message. What is not whole of a
// histogram or summary follows untyped by sample name, for readers take what a
// message lacks for zero.
func (l *Layout) messages(f *mergedFamily, blocks []*Block, only func(name string) bool) []*dto.MetricFamily {
	g := grouper{typ: f.Type, family: message(&f.Family), name: f.Name, byLabels: make(map[string]*group)}
	for j := range f.refs {
		r := &f.refs[j]
		if f.mixed && only != nil && !only(l.asked(r)) {
			continue
		}
		seg := l.segment(r)
		for _, one := range seg.entries() {
			if v, ok := number(blocks[r.block].At(Place(one.value))); ok {
				g.add(one.labels, v)
			}
		}
	}
	return g.finish()
}

// message is an empty family.
func message(f *Family) *dto.MetricFamily {
	typ := dto.MetricType_UNTYPED
	if known, ok := dto.MetricType_value[strings.ToUpper(string(f.Type))]; ok {
		typ = dto.MetricType(known)
	}
	mf := &dto.MetricFamily{Name: new(f.Name), Type: &typ}
	if f.Help != "" {
		mf.Help = new(f.Help)
	}
	if f.Unit != "" && strings.HasSuffix(strings.TrimSuffix(f.Name, "_total"), "_"+f.Unit) {
		mf.Unit = new(f.Unit)
	}
	return mf
}

// grouper puts the samples of a family together into metrics.
type grouper struct {
	family   *dto.MetricFamily
	name     string
	typ      model.MetricType
	groups   []*group
	byLabels map[string]*group
	key      []byte
}

// group are the samples of one histogram or summary.
type group struct {
	labels []labels.Labels
	values []float64
}

// add takes one sample.
func (g *grouper) add(lset labels.Labels, v float64) {
	if scalar(g.typ) {
		g.family.Metric = append(g.family.Metric, single(lset, g.typ, v))
		return
	}
	// The names must be sorted.
	g.key = lset.BytesWithoutLabels(g.key[:0], model.MetricNameLabel, differsBy(g.typ))
	one, ok := g.byLabels[string(g.key)]
	if !ok {
		one = &group{}
		g.byLabels[string(g.key)] = one
		g.groups = append(g.groups, one)
	}
	one.labels, one.values = append(one.labels, lset), append(one.values, v)
}

// single is a metric of one value.
func single(lset labels.Labels, typ model.MetricType, v float64) *dto.Metric {
	m := metric(lset, "")
	switch typ {
	case model.MetricTypeCounter:
		m.Counter = &dto.Counter{Value: &v}
	case model.MetricTypeGauge:
		m.Gauge = &dto.Gauge{Value: &v}
	default:
		m.Untyped = &dto.Untyped{Value: &v}
	}
	return m
}

// finish gives the family and those of what is not whole.
func (g *grouper) finish() []*dto.MetricFamily {
	all := []*dto.MetricFamily{g.family}
	byName := make(map[string]*dto.MetricFamily)
	for _, one := range g.groups {
		if m := one.whole(g.name, g.typ); m != nil {
			g.family.Metric = append(g.family.Metric, m)
			continue
		}
		for i, lset := range one.labels {
			name := lset.Get(model.MetricNameLabel)
			mf := byName[name]
			if mf == nil {
				mf = message(&Family{Name: name, Type: model.MetricTypeUnknown})
				byName[name] = mf
				all = append(all, mf)
			}
			mf.Metric = append(mf.Metric, single(lset, model.MetricTypeUnknown, one.values[i]))
		}
	}
	return all
}

// differsBy is the label in which the buckets or quantiles of a group differ.
func differsBy(typ model.MetricType) string {
	if typ == model.MetricTypeSummary {
		return model.QuantileLabel
	}
	return model.BucketLabel
}

// whole is the group as a summary or classic histogram; nil when it is not whole.
func (g *group) whole(name string, typ model.MetricType) *dto.Metric {
	h, s := &dto.Histogram{}, &dto.Summary{}
	summary, unbounded := typ == model.MetricTypeSummary, false
	for i, lset := range g.labels {
		v := g.values[i]
		n, counts := count(v)
		suffix := strings.TrimPrefix(lset.Get(model.MetricNameLabel), name)
		switch {
		case suffix == "_sum":
			h.SampleSum, s.SampleSum = &v, &v
			continue
		case !counts && (suffix == "_count" || !summary):
			return nil
		case suffix == "_count":
			h.SampleCount, s.SampleCount = &n, &n
			continue
		}
		at, err := strconv.ParseFloat(lset.Get(differsBy(typ)), 64)
		if err != nil {
			return nil
		}
		unbounded = unbounded || math.IsInf(at, 1)
		if summary {
			s.Quantile = append(s.Quantile, &dto.Quantile{Quantile: &at, Value: &v})
		} else {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &at, CumulativeCount: &n})
		}
	}
	if s.SampleCount == nil || s.SampleSum == nil || !summary && !unbounded {
		return nil
	}
	m := metric(g.labels[0], differsBy(typ))
	if summary {
		m.Summary = s
		return m
	}
	// Readers take the bucket of infinity for the last, wherever it is.
	slices.SortFunc(h.Bucket, func(x, y *dto.Bucket) int { return cmp.Compare(x.GetUpperBound(), y.GetUpperBound()) })
	m.Histogram = h
	return m
}

// count is a whole number of observations; false for anything else.
func count(v float64) (uint64, bool) {
	if v >= 0 && v < math.MaxUint64 && v == math.Trunc(v) {
		return uint64(v), true
	}
	return 0, false
}

// metric is an empty metric with all labels but the name and one other.
func metric(lset labels.Labels, without string) *dto.Metric {
	m := &dto.Metric{}
	lset.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && (without == "" || l.Name != without) {
			m.Label = append(m.Label, &dto.LabelPair{Name: new(l.Name), Value: new(l.Value)})
		}
	})
	return m
}
