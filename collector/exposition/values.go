package exposition

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Values makes blocks of series that are listed anew for each block, as what the
// exporter says of a replica or of pools: their labels are made again only when there
// are other series. It is not safe for concurrent use; its blocks are.
type Values struct {
	label  Labeler
	before []*Shape
	// all are the series of the last block, of which the first n are listed for the next
	// one.
	all     []value
	n       int
	changed bool
	out     *Computed
}

// value is a series with its value; more are labels that it has besides others.
type value struct {
	family *Family
	labels labels.Labels
	more   [2]labels.Label
	v      float64
}

// NewValues returns values of series that get their labels from a labeler, nil for
// none.
func NewValues(label Labeler) Values { return Values{label: label} }

// Add lists a series for the next block. More are at most two labels that it has
// besides the others; empty ones are none.
func (s *Values) Add(f *Family, v float64, lset labels.Labels, more ...labels.Label) {
	next := value{family: f, labels: lset, v: v}
	copy(next.more[:], more)
	if s.n < len(s.all) && s.all[s.n].same(&next) {
		s.all[s.n].v = v
	} else {
		s.all, s.changed = append(s.all[:s.n], next), true
	}
	s.n++
}

// same reports whether both are the same series.
func (v *value) same(o *value) bool {
	return v.family == o.family && v.more == o.more && labels.Equal(v.labels, o.labels)
}

// Block makes a block of the series that were listed since the last one. They give
// way to those of the shapes before, see [NewRelabeled]; nil is none.
func (s *Values) Block(before ...*Shape) *Block {
	s.changed = s.changed || s.n < len(s.all) || s.out == nil
	s.all, s.n = s.all[:s.n], 0
	if s.changed || s.label != nil && !slices.Equal(s.before, before) {
		s.before, s.changed = slices.Clone(before), false
		s.out = NewRelabeled(s.series(), s.label, before...)
	}
	b := s.out.Block()
	for i := range s.all {
		b.Set(i, s.all[i].v)
	}
	return b
}

// series are the series with all their labels.
func (s *Values) series() []ComputedSeries {
	all := make([]ComputedSeries, len(s.all))
	b := labels.NewBuilder(labels.EmptyLabels())
	for i := range s.all {
		v := &s.all[i]
		b.Reset(v.labels)
		for _, l := range v.more {
			if l.Value != "" {
				b.Set(l.Name, l.Value)
			}
		}
		all[i] = ComputedSeries{Family: *v.family, Labels: b.Labels()}
	}
	return all
}
