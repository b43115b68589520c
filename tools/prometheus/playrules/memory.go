package main

import (
	"context"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// sample is a value at a time in milliseconds.
type sample struct {
	at    int64
	value float64
}

// series are the samples of a set of labels, in the order of their times.
type series struct {
	set     labels.Labels
	samples []sample
}

// memory is a storage for samples that come in order. Prometheus' own packs them into chunks, which is most of
// the time of a test whose rules read the last samples of every series again and again.
type memory struct {
	all    map[string]*series
	byName map[string][]*series
	// chosen holds what matchers chose of a name, and of how many series.
	chosen map[string]*choice
}

type choice struct {
	series []*series
	of     int
}

func newMemory() *memory {
	return &memory{
		all:    make(map[string]*series),
		byName: make(map[string][]*series),
		chosen: make(map[string]*choice),
	}
}

// of returns the series of a set of labels, which it adds if there is none.
func (m *memory) of(set labels.Labels) *series {
	key := string(set.Bytes(nil))
	s := m.all[key]
	if s == nil {
		s = &series{set: set}
		m.all[key] = s
		name := set.Get(labels.MetricName)
		m.byName[name] = append(m.byName[name], s)
	}
	return s
}

// add adds a sample, with the errors of Prometheus' storage.
func (s *series) add(at int64, value float64) error {
	if n := len(s.samples); n > 0 {
		switch last := s.samples[n-1]; {
		case at < last.at:
			return storage.ErrOutOfOrderSample
		case at == last.at && math.Float64bits(value) == math.Float64bits(last.value):
			return nil
		case at == last.at:
			return storage.ErrDuplicateSampleForTimestamp
		}
	}
	s.samples = append(s.samples, sample{at, value})
	return nil
}

// choose returns the series that matchers match, of one name.
func (m *memory) choose(matchers []*labels.Matcher) []*series {
	var key strings.Builder
	name := -1
	for i, matcher := range matchers {
		key.WriteString(matcher.String())
		key.WriteByte(0)
		if matcher.Name == labels.MetricName && matcher.Type == labels.MatchEqual {
			name = i
		}
	}
	if name < 0 {
		panic("playrules: a selector without a name")
	}
	c := m.chosen[key.String()]
	if c == nil {
		c = &choice{}
		m.chosen[key.String()] = c
	}
	named := m.byName[matchers[name].Value]
	for _, s := range named[c.of:] {
		if matchAll(s.set, matchers) {
			c.series = append(c.series, s)
		}
	}
	c.of = len(named)
	return c.series
}

func matchAll(set labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(set.Get(m.Name)) })
}

// Querier implements storage.Queryable.
func (m *memory) Querier(_, _ int64) (storage.Querier, error) { return querier{memory: m}, nil }

// Appender implements storage.Appendable.
func (m *memory) Appender(context.Context) storage.Appender { return appender{memory: m} }

// querier selects series. Rules do nothing else with it, so that other calls end the program.
type querier struct {
	storage.Querier

	memory *memory
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// Select returns the series with samples in the time of the hints.
func (q querier) Select(_ context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &found{next: -1}
	for _, s := range q.memory.choose(matchers) {
		from := sort.Search(len(s.samples), func(i int) bool { return s.samples[i].at >= hints.Start })
		to := from + sort.Search(len(s.samples)-from, func(i int) bool { return s.samples[from+i].at > hints.End })
		if from < to {
			found.series = append(found.series, &series{s.set, s.samples[from:to]})
		}
	}
	if sorted {
		slices.SortFunc(found.series, func(a, b *series) int { return labels.Compare(a.set, b.set) })
	}
	return found
}

// found implements storage.SeriesSet.
type found struct {
	series []*series
	next   int
}

func (f *found) Next() bool {
	f.next++
	return f.next < len(f.series)
}

func (f *found) At() storage.Series              { return f.series[f.next] }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }
func (s *series) Labels() labels.Labels          { return s.set }
func (s *series) Iterator(old chunkenc.Iterator) chunkenc.Iterator {
	it, ok := old.(*iterator)
	if !ok {
		it = &iterator{}
	}
	*it = iterator{samples: s.samples, now: -1}
	return it
}

// iterator walks along samples. Rules have no histograms, so that calls for those end the program.
type iterator struct {
	chunkenc.Iterator

	samples []sample
	now     int
}

func (it *iterator) Next() chunkenc.ValueType {
	it.now++
	return it.kind()
}

// Seek goes on to the first sample at a time or later, if it is not there.
func (it *iterator) Seek(at int64) chunkenc.ValueType {
	it.now = max(it.now, 0)
	left := it.samples[min(it.now, len(it.samples)):]
	it.now += sort.Search(len(left), func(i int) bool { return left[i].at >= at })
	return it.kind()
}

func (it *iterator) kind() chunkenc.ValueType {
	if it.now >= len(it.samples) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (it *iterator) At() (int64, float64) {
	s := it.samples[it.now]
	return s.at, s.value
}

func (it *iterator) AtT() int64 { return it.samples[it.now].at }
func (*iterator) AtST() int64   { return 0 }
func (*iterator) Err() error    { return nil }

// appender adds the results of rules. They are floats, so that calls for others end the program.
type appender struct {
	storage.Appender

	memory *memory
}

func (a appender) Append(_ storage.SeriesRef, set labels.Labels, at int64, value float64) (storage.SeriesRef, error) {
	return 0, a.memory.of(set).add(at, value)
}

func (appender) SetOptions(*storage.AppendOptions) {}
func (appender) Commit() error                     { return nil }
func (appender) Rollback() error                   { return nil }
