package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/prompb"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// labelled are the labels of a series of a replica.
func labelled(replica, model string) map[string]string {
	all := map[string]string{"engine": "triton", "engine_version": "2", "trtllm_version": "1", "pool_id": "bench", "replica_id": replica}
	if model != "" {
		all["model"], all["model_id"] = model, model
	}
	return all
}

// written is a request of remote write with one sample of each series.
func written(t *testing.T, at time.Time, name string, series ...map[string]string) []byte {
	t.Helper()
	var request prompb.WriteRequest
	for _, labels := range series {
		one := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}}, Samples: []prompb.Sample{{Value: 1, Timestamp: at.UnixMilli()}}}
		for _, l := range slices.Sorted(maps.Keys(labels)) {
			one.Labels = append(one.Labels, prompb.Label{Name: l, Value: labels[l]})
		}
		request.Timeseries = append(request.Timeseries, one)
	}
	body, err := request.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return s2.EncodeSnappy(nil, body)
}

// exported is a request of OTLP: of each series a point of a gauge, of a sum, and of
// a histogram with so many buckets.
func exported(t *testing.T, at time.Time, buckets int, series ...map[string]string) []byte {
	t.Helper()
	metrics := pmetric.NewMetrics()
	all := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	gauge, sum, histogram := all.AppendEmpty(), all.AppendEmpty(), all.AppendEmpty()
	gauge.SetName("nv_gauge")
	gauge.SetEmptyGauge()
	sum.SetName("nv_sum")
	sum.SetEmptySum()
	histogram.SetName("nv_histogram")
	histogram.SetEmptyHistogram()
	for _, labels := range series {
		put := func(attributes pcommon.Map) {
			for name, value := range labels {
				attributes.PutStr(name, value)
			}
		}
		g, s, h := gauge.Gauge().DataPoints().AppendEmpty(), sum.Sum().DataPoints().AppendEmpty(), histogram.Histogram().DataPoints().AppendEmpty() //nolint:promlinter // no metric of ours.
		put(g.Attributes())
		put(s.Attributes())
		put(h.Attributes())
		h.BucketCounts().FromRaw(make([]uint64, buckets))
		g.SetTimestamp(pcommon.NewTimestampFromTime(at))
		s.SetTimestamp(pcommon.NewTimestampFromTime(at))
		h.SetTimestamp(pcommon.NewTimestampFromTime(at))
	}
	body, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// ship sends a body and gives the status of the answer.
func ship(t *testing.T, s *sink, path, coding string, body []byte) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Encoding", coding)
	response, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

// listening is a sink for so many targets.
func listening(t *testing.T, targets int) *sink {
	t.Helper()
	s, err := newSink(t.Context(), targets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// models are as many series of one replica.
func models(replica string, n int) (all []map[string]string) {
	for i := range n {
		all = append(all, labelled(replica, "m"+strings.Repeat("x", i)))
	}
	return all
}

func TestASinkIsWholeWhenAllSamplesOfAllReplicasHaveCome(t *testing.T) {
	t.Parallel()
	now := time.Now()
	// A gauge, a sum, and the sum, the count and the buckets of a histogram of each of two models are a page.
	buckets := samples/2 - 4
	for name, requests := range map[string]func(t *testing.T, s *sink, replica string){
		"remote write": func(t *testing.T, s *sink, replica string) {
			t.Helper()
			all := models(replica, samples)
			for _, part := range [][]map[string]string{all[:100], all[100:], all[:7]} { // some come again.
				if code := ship(t, s, "/remote_write", "snappy", written(t, now, "nv_x", part...)); code != http.StatusOK {
					t.Fatal(code)
				}
			}
			ship(t, s, "/remote_write", "snappy", written(t, now, "up", nil)) // is not of servers.
		},
		"OTLP": func(t *testing.T, s *sink, replica string) {
			t.Helper()
			if code := ship(t, s, "/v1/metrics", "gzip", exported(t, now, buckets, models(replica, 2)...)); code != http.StatusOK {
				t.Fatal(code)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listening(t, 2)
			requests(t, s, "r")
			if _, err := s.complete(t.Context(), time.Millisecond); err == nil || !strings.Contains(err.Error(), "226 samples of 1 replicas, not 452 of 2") {
				t.Fatalf("%v", err)
			}
			requests(t, s, "s")
			whole, err := s.complete(t.Context(), time.Minute)
			if err != nil || whole.Before(now) || whole.After(time.Now()) {
				t.Fatalf("%v, %v", whole, err)
			}
		})
	}
}

func TestSeriesThatMissSomethingAreWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(map[string]string)
		wrong  string
	}{
		"no pool":           {func(l map[string]string) { delete(l, "pool_id") }, "no pool_id on nv_"},
		"no model_id":       {func(l map[string]string) { delete(l, "model_id") }, "no model_id"},
		"replica not known": {func(l map[string]string) { l["replica_id"] = "s" }, "of 2 replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, body := range map[string]func(map[string]string) []byte{
				"/remote_write": func(l map[string]string) []byte { return written(t, time.Now(), "nv_x", labelled("r", "n"), l) },
				"/v1/metrics":   func(l map[string]string) []byte { return exported(t, time.Now(), 3, labelled("r", "n"), l) },
			} {
				s, bad := listening(t, 1), labelled("r", "m")
				c.change(bad)
				ship(t, s, path, map[bool]string{true: "gzip", false: "snappy"}[path == "/v1/metrics"], body(bad))
				if _, err := s.complete(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}

func TestBodiesThatAreBrokenAreRefusedAndRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, coding, body string }{
		"not Snappy":      {"/remote_write", "snappy", "\xff\xff\xff"},
		"not gzip":        {"/v1/metrics", "gzip", "plain"},
		"another coding":  {"/v1/metrics", "br", ""},
		"not remote":      {"/remote_write", "", "\xff"},
		"not OTLP":        {"/v1/metrics", "", "\xff"},
		"cut in a sample": {"/remote_write", "", "\x0a\x7f"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listening(t, 1)
			if code := ship(t, s, c.path, c.coding, []byte(c.body)); code != http.StatusBadRequest {
				t.Error(code)
			}
			if _, err := s.complete(t.Context(), time.Second); err == nil {
				t.Error("it is forgotten")
			}
		})
	}
}

func TestSamplesAreCountedByTheirOwnTime(t *testing.T) {
	t.Parallel()
	s, begin := listening(t, 1), time.Now()
	s.count(begin)
	late := written(t, begin.Add(-time.Second), "nv_x", labelled("r", "m"))
	due := written(t, begin.Add(time.Second), "nv_x", labelled("r", "m"))
	for _, body := range [][]byte{late, due, due} {
		ship(t, s, "/remote_write", "snappy", body)
	}
	got, err := s.counted(t.Context(), 2)
	if want := float64(len(late)+2*len(due)) / 2; err != nil || got != want {
		t.Errorf("%v bytes a sample, not %v, %v", got, want, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.counted(ctx, 3); err == nil {
		t.Error("what did not come was counted")
	}
}
