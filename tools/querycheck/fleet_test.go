//go:build budget

package querycheck_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// The time between two samples in milliseconds, also of slow recording rules.
const (
	scrape = 15_000
	slow   = 120_000
)

// fleet is a storage with many replicas of Triton in pools of fifty: every series of the
// vocabulary, with a sample per scrape at any time. Samples are generated when they are
// read.
type fleet struct {
	vocabulary vocabulary.Vocabulary
	replicas   int
	series     map[string][]labels.Labels
}

func newFleet(v vocabulary.Vocabulary, replicas int) *fleet {
	return &fleet{vocabulary: v, replicas: replicas, series: make(map[string][]labels.Labels)}
}

// valuesOf returns the values of a label, by default one.
func valuesOf(metric, label string) []string {
	n := map[string]int{
		"le":            20,
		"gpu_uuid":      8,
		"class":         5,
		"reason":        3,
		"slo":           3,
		"signal":        4,
		"phase":         3,
		"queue":         2,
		"memory":        3,
		"resource":      4,
		"capability":    4,
		"finish_reason": 3,
		"check":         8,
		"fact":          6,
		"mechanism":     1,
		"code":          4,
	}[label]
	switch {
	case label == "state" && strings.Contains(metric, "model_state"):
		return []string{"ready", "loading", "unloading", "unavailable"}
	case label == "state":
		return []string{
			"ready", "unknown", "blind", "starting", "draining", "not_ready", "unserved", "failing", "stalled",
			"down",
		}
	case label == "percentile":
		return []string{"50", "95", "99"}
	case label == "bound":
		return []string{"lower", "upper"}
	case label == "model" && strings.HasPrefix(metric, "llm_server_model_"):
		n = 5
	case label == "alertname":
		n = 20
	case label == "tier":
		return []string{""}
	case label == "job":
		return []string{"trtllm_exporter"}
	}
	out := make([]string, max(n, 1))
	for i := range out {
		out[i] = label[:1] + strconv.Itoa(i)
		if label == "le" {
			out[i] = strconv.FormatFloat(float64(i+1)/10, 'g', -1, 64)
		}
	}
	if label == "le" {
		out[len(out)-1] = "+Inf"
	}
	return out
}

// seriesOf returns all series of a metric.
func (f *fleet) seriesOf(metric string) []labels.Labels {
	if all, cached := f.series[metric]; cached {
		return all
	}
	m, found := f.vocabulary[metric]
	if !found {
		return nil
	}
	sets := []map[string]string{{model.MetricNameLabel: metric}}
	// Few alerts fire: one of each name for each pool is a lot.
	ofAlert := slices.Contains(m.Labels, "alertname")
	ofPool, ofReplica := slices.Contains(m.Labels, "pool_id"), slices.Contains(m.Labels, "replica_id") && !ofAlert
	if ofPool || ofReplica {
		sets = nil
		for i := range f.replicas {
			set := map[string]string{model.MetricNameLabel: metric, "pool_id": fmt.Sprintf("p%d", i/50)}
			if ofReplica {
				set["replica_id"] = fmt.Sprintf("r%d", i%50)
			} else if i%50 > 0 {
				continue
			}
			sets = append(sets, set)
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(m.Labels)))
	for _, l := range names {
		if l == "pool_id" || l == "replica_id" || l == "alertstate" {
			continue
		}
		var next []map[string]string
		for _, set := range sets {
			values := valuesOf(metric, l)
			if ofAlert && l != "alertname" {
				values = values[:1]
			}
			for _, v := range values {
				more := map[string]string{l: v}
				for k, v := range set {
					more[k] = v
				}
				next = append(next, more)
			}
		}
		sets = next
	}
	all := make([]labels.Labels, len(sets))
	for i, set := range sets {
		all[i] = labels.FromMap(set)
	}
	slices.SortFunc(all, labels.Compare)
	f.series[metric] = all
	return all
}

// Querier implements [storage.Queryable].
func (f *fleet) Querier(mint, maxt int64) (storage.Querier, error) {
	return &reader{fleet: f, from: mint, to: maxt}, nil
}

// reader reads a time range of a fleet.
type reader struct {
	*fleet

	from, to int64
}

// Select implements [storage.Querier].
func (r *reader) Select(
	_ context.Context,
	_ bool,
	hints *storage.SelectHints,
	matchers ...*labels.Matcher,
) storage.SeriesSet {
	from, to := r.from, r.to
	if hints != nil {
		from, to = hints.Start, hints.End
	}
	found := &found{at: -1}
	for _, m := range matchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		for _, l := range r.seriesOf(m.Value) {
			if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) }) {
				continue
			}
			counter := r.vocabulary[m.Value].Type == model.MetricTypeCounter
			found.all = append(found.all, storage.NewListSeries(l, nil))
			found.samples = append(found.samples, samples{
				from:    from,
				to:      to,
				every:   every(m.Value),
				counter: counter,
				seed:    seed(l),
			})
		}
	}
	return found
}

// LabelValues implements [storage.Querier]. Queries of panels do not use it.
func (*reader) LabelValues(
	context.Context,
	string,
	*storage.LabelHints,
	...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements [storage.Querier]. Queries of panels do not use it.
func (*reader) LabelNames(
	context.Context,
	*storage.LabelHints,
	...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements [storage.Querier].
func (*reader) Close() error { return nil }

// every returns the time between two samples of a metric.
func every(metric string) int64 {
	if strings.HasPrefix(metric, "pool_model:llm_server_slo_") && strings.HasSuffix(metric, ":sum") ||
		strings.HasSuffix(metric, ":rate5m") {
		return slow
	}
	return scrape
}

// seed returns a number that differs between series.
func seed(l labels.Labels) float64 {
	h := fnv.New32a()
	h.Write([]byte(l.String()))
	return float64(h.Sum32()%1000) / 1000
}

// found holds the series that match.
type found struct {
	all     []storage.Series
	samples []samples
	at      int
}

func (f *found) Next() bool {
	f.at++
	return f.at < len(f.all)
}

func (f *found) At() storage.Series {
	s := f.samples[f.at]
	return &storage.SeriesEntry{
		Lset:             f.all[f.at].Labels(),
		SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator { fresh := s; fresh.now = 0; return &fresh },
	}
}

func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }

// samples holds the samples of a series, one per scrape.
type samples struct {
	from, to, now, every int64
	counter              bool
	seed                 float64
}

func (s *samples) Next() chunkenc.ValueType { return s.Seek(s.now + 1) }

func (s *samples) Seek(t int64) chunkenc.ValueType {
	t = max(t, s.from)
	if t <= s.now && s.now != 0 {
		return chunkenc.ValFloat
	}
	s.now = (t + s.every - 1) / s.every * s.every
	if s.now > s.to {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (s *samples) At() (int64, float64) {
	if s.counter {
		return s.now, float64(s.now/1000) * (s.seed + 0.1)
	}
	return s.now, s.seed
}

func (*samples) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }
func (*samples) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}
func (s *samples) AtT() int64 { return s.now }
func (*samples) AtST() int64  { return 0 }
func (*samples) Err() error   { return nil }
