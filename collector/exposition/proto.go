package exposition

import (
	"bytes"
	"io"
	"math"
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
		data, spans := blocks[r.block].data, blocks[r.block].spans
		seg := l.segment(r)
		for _, one := range seg.entries() {
			span := spans[one.value]
			if v, ok := number(data[span.start:span.end]); ok {
				g.add(one.labels, v)
			}
		}
	}
	return g.finish()
}

// message is an empty family.
func message(f *Family) *dto.MetricFamily {
	typ := messageType(f.Type)
	mf := &dto.MetricFamily{Name: new(f.Name), Type: &typ}
	if f.Help != "" {
		mf.Help = new(f.Help)
	}
	if f.Unit != "" && strings.HasSuffix(strings.TrimSuffix(f.Name, "_total"), "_"+f.Unit) {
		mf.Unit = new(f.Unit)
	}
	return mf
}

// messageType is protobuf's word for a type of the text format.
func messageType(t model.MetricType) dto.MetricType {
	switch t {
	case model.MetricTypeCounter:
		return dto.MetricType_COUNTER
	case model.MetricTypeGauge:
		return dto.MetricType_GAUGE
	case model.MetricTypeHistogram:
		return dto.MetricType_HISTOGRAM
	case model.MetricTypeSummary:
		return dto.MetricType_SUMMARY
	default:
		return dto.MetricType_UNTYPED
	}
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
	without := model.BucketLabel
	if g.typ == model.MetricTypeSummary {
		without = model.QuantileLabel
	}
	// The names must be sorted.
	g.key = lset.BytesWithoutLabels(g.key[:0], model.MetricNameLabel, without)
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
		m := one.histogram(g.name)
		if g.typ == model.MetricTypeSummary {
			m = one.summary(g.name)
		}
		if m != nil {
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

// histogram is the group as a classic histogram; nil when it is not whole.
func (g *group) histogram(name string) *dto.Metric {
	h := &dto.Histogram{}
	unbounded := false
	for i, lset := range g.labels {
		v := g.values[i]
		if sample := lset.Get(model.MetricNameLabel); sample == name+"_sum" {
			h.SampleSum = &v
			continue
		}
		n, ok := count(v)
		if !ok {
			return nil
		}
		if lset.Get(model.MetricNameLabel) == name+"_count" {
			h.SampleCount = &n
			continue
		}
		bound, err := strconv.ParseFloat(lset.Get(model.BucketLabel), 64)
		if err != nil {
			return nil
		}
		unbounded = unbounded || math.IsInf(bound, 1)
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &n})
	}
	if h.SampleCount == nil || h.SampleSum == nil || !unbounded {
		return nil
	}
	m := metric(g.labels[0], model.BucketLabel)
	m.Histogram = h
	return m
}

// summary is the group as a summary; nil when it is not whole.
func (g *group) summary(name string) *dto.Metric {
	s := &dto.Summary{}
	for i, lset := range g.labels {
		v := g.values[i]
		switch lset.Get(model.MetricNameLabel) {
		case name + "_count":
			n, ok := count(v)
			if !ok {
				return nil
			}
			s.SampleCount = &n
		case name + "_sum":
			s.SampleSum = &v
		default:
			q, err := strconv.ParseFloat(lset.Get(model.QuantileLabel), 64)
			if err != nil {
				return nil
			}
			s.Quantile = append(s.Quantile, &dto.Quantile{Quantile: &q, Value: &v})
		}
	}
	if s.SampleCount == nil || s.SampleSum == nil {
		return nil
	}
	m := metric(g.labels[0], model.QuantileLabel)
	m.Summary = s
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
