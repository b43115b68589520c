package exposition

import (
	"bytes"
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

// WriteFormat writes the page in any format that can be negotiated: text with
// the writer of [Layout.WriteText], the rest with expfmt, which builds every
// family each time and is meant for the few clients that cannot take text. What
// the format has no place for, such as histograms with fractional counts in
// OpenMetrics, is left out.
func (l *Layout) WriteFormat(w io.Writer, blocks []*Block, format expfmt.Format, only func(name string) bool) error {
	l = l.In(format)
	if format.FormatType() == expfmt.TypeTextPlain {
		_, err := l.WriteText(w, blocks, nil, only)
		return err
	}
	p := newPageEncoder(w, format)
	wholeCounts := format.FormatType() == expfmt.TypeOpenMetrics
	for i := range l.families {
		f := &l.families[i]
		if !f.selected(only) {
			continue
		}
		if err := p.encode(l.message(f, blocks, wholeCounts, only)); err != nil {
			return err
		}
	}
	return p.close()
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

// close writes the end of the page, which OpenMetrics has.
func (p *pageEncoder) close() error {
	closer, ok := p.enc.(expfmt.Closer)
	if !ok {
		return nil
	}
	p.buf.Reset()
	if err := closer.Close(); err != nil {
		return err
	}
	_, err := p.w.Write(p.buf.Bytes())
	return err
}

// message builds one family as protobuf message. With wholeCounts histograms
// that count in fractions are left out.
func (l *Layout) message(f *mergedFamily, blocks []*Block, wholeCounts bool, only func(name string) bool) *dto.MetricFamily {
	typ := messageType(f.Type)
	mf := &dto.MetricFamily{Name: new(f.Name), Type: &typ}
	if f.Help != "" {
		mf.Help = new(f.Help)
	}
	if f.Unit != "" {
		mf.Unit = new(f.Unit)
	}
	g := grouper{family: mf, name: f.Name, typ: f.Type, byLabels: make(map[string]*dto.Metric)}
	for j := range f.refs {
		r := &f.refs[j]
		if f.mixed && only != nil && !only(l.asked(r)) {
			continue
		}
		data, spans := blocks[r.block].data, blocks[r.block].spans
		for _, one := range r.entries() {
			span := spans[one.value]
			if v, ok := number(data[span.start:span.end]); ok {
				g.add(one.labels, v)
			}
		}
	}
	g.finish()
	if wholeCounts {
		mf.Metric = slices.DeleteFunc(mf.Metric, fractional)
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
	byLabels map[string]*dto.Metric
	key      []byte
}

// add takes one sample.
func (g *grouper) add(lset labels.Labels, v float64) {
	switch g.typ {
	case model.MetricTypeHistogram:
		g.histogram(lset, v)
	case model.MetricTypeSummary:
		g.summary(lset, v)
	default:
		m := metric(lset, "")
		switch g.typ {
		case model.MetricTypeCounter:
			m.Counter = &dto.Counter{Value: &v}
		case model.MetricTypeGauge:
			m.Gauge = &dto.Gauge{Value: &v}
		default:
			m.Untyped = &dto.Untyped{Value: &v}
		}
		g.family.Metric = append(g.family.Metric, m)
	}
}

// histogram adds one sample of a classic histogram.
func (g *grouper) histogram(lset labels.Labels, v float64) {
	m := g.group(lset, model.BucketLabel)
	if m.Histogram == nil {
		m.Histogram = &dto.Histogram{}
	}
	whole, isWhole := count(v)
	switch strings.TrimPrefix(lset.Get(model.MetricNameLabel), g.name) {
	case "_count":
		if isWhole {
			m.Histogram.SampleCount = &whole
		} else {
			m.Histogram.SampleCountFloat = &v
		}
	case "_sum":
		m.Histogram.SampleSum = &v
	case "_bucket":
		bound, err := strconv.ParseFloat(lset.Get(model.BucketLabel), 64)
		if err != nil {
			return
		}
		bucket := &dto.Bucket{UpperBound: &bound}
		if isWhole {
			bucket.CumulativeCount = &whole
		} else {
			bucket.CumulativeCountFloat = &v
		}
		m.Histogram.Bucket = append(m.Histogram.Bucket, bucket)
	}
}

// summary adds one sample of a summary.
func (g *grouper) summary(lset labels.Labels, v float64) {
	m := g.group(lset, model.QuantileLabel)
	if m.Summary == nil {
		m.Summary = &dto.Summary{}
	}
	switch strings.TrimPrefix(lset.Get(model.MetricNameLabel), g.name) {
	case "_count":
		if n, ok := count(v); ok {
			m.Summary.SampleCount = &n
		}
	case "_sum":
		m.Summary.SampleSum = &v
	case "":
		q, err := strconv.ParseFloat(lset.Get(model.QuantileLabel), 64)
		if err == nil {
			m.Summary.Quantile = append(m.Summary.Quantile, &dto.Quantile{Quantile: &q, Value: &v})
		}
	}
}

// group finds the metric of all labels but one.
func (g *grouper) group(lset labels.Labels, without string) *dto.Metric {
	// The names must be sorted.
	g.key = lset.BytesWithoutLabels(g.key[:0], model.MetricNameLabel, without)
	if m, ok := g.byLabels[string(g.key)]; ok {
		return m
	}
	m := metric(lset, without)
	g.byLabels[string(g.key)] = m
	g.family.Metric = append(g.family.Metric, m)
	return m
}

// finish completes histograms that lack a count with their last bucket's.
func (g *grouper) finish() {
	for _, m := range g.family.Metric {
		h := m.Histogram
		if h == nil || h.SampleCount != nil || h.SampleCountFloat != nil || len(h.Bucket) == 0 {
			continue
		}
		last := h.Bucket[len(h.Bucket)-1]
		h.SampleCount, h.SampleCountFloat = last.CumulativeCount, last.CumulativeCountFloat
	}
}

// fractional says whether a metric is a histogram with a number of
// observations that is not whole.
func fractional(m *dto.Metric) bool {
	h := m.Histogram
	return h != nil && (h.SampleCountFloat != nil || slices.ContainsFunc(h.Bucket, func(b *dto.Bucket) bool {
		return b.CumulativeCountFloat != nil
	}))
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
