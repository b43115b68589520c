package main

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/prompb"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// uncoded is a body without its coding. Remote write has blocks of Snappy, which s2
// reads.
func uncoded(body []byte, coding string) ([]byte, error) {
	switch coding {
	case "":
		return body, nil
	case "snappy":
		return s2.Decode(nil, body)
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	return nil, fmt.Errorf("body is coded as %q", coding)
}

// remoteWrite reads a request of Prometheus' remote write, version 1.
func remoteWrite(body []byte, take func(*shipped)) error {
	var request prompb.WriteRequest
	if err := request.Unmarshal(body); err != nil {
		return err
	}
	var one shipped
	for i := range request.Timeseries {
		one.name, one.labels = "", one.labels[:0]
		for _, l := range request.Timeseries[i].Labels {
			if l.Name == "__name__" {
				one.name = l.Value
			} else {
				one.labels = append(one.labels, [2]string{l.Name, l.Value})
			}
		}
		for _, s := range request.Timeseries[i].Samples {
			one.samples, one.at = 1, time.UnixMilli(s.Timestamp)
			take(&one)
		}
	}
	return nil
}

// otlp reads a request of OTLP. A histogram is so many samples as a page has of it:
// its buckets, the sum and the count.
func otlp(body []byte, take func(*shipped)) error {
	request := pmetricotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return err
	}
	for _, resource := range request.Metrics().ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				if err := points(m, take); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// points takes the points of one family.
func points(m pmetric.Metric, take func(*shipped)) error {
	one := shipped{name: m.Name()}
	next := func(attributes pcommon.Map, at pcommon.Timestamp, samples int) {
		one.labels, one.at, one.samples = one.labels[:0], at.AsTime(), samples
		for name, value := range attributes.All() {
			one.labels = append(one.labels, [2]string{name, value.Str()})
		}
		take(&one)
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for _, p := range m.Gauge().DataPoints().All() { //nolint:promlinter // no metric of ours.
			next(p.Attributes(), p.Timestamp(), 1)
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			next(p.Attributes(), p.Timestamp(), 1)
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			next(p.Attributes(), p.Timestamp(), p.BucketCounts().Len()+2)
		}
	default:
		return fmt.Errorf("%s is a %s", m.Name(), m.Type())
	}
	return nil
}
