package exposition

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Values creates blocks of series that are added anew for each block, such as the
// exporter's own series about a replica or a pool. They are rendered again only if they
// differ from those of the last block. It is not safe for concurrent use; its blocks are.
type Values struct {
	label  Labeler
	before []*Shape
	// all are the series of the last block; the first n are added for the next one.
	all     []value
	n       int
	changed bool
	out     *Computed
}

// value is a series with its value. Replicas share the additional labels.
type value struct {
	family     *Family
	labels     labels.Labels
	additional *[]labels.Label
	v          float64
}

// NewValues returns Values that relabel with a labeler, which may be nil.
func NewValues(label Labeler) Values { return Values{label: label} }

// Add adds a series to the next block. Additional labels that are empty are ignored.
func (s *Values) Add(f *Family, v float64, lset labels.Labels, additional ...labels.Label) {
	if s.n < len(s.all) && s.all[s.n].is(f, lset, additional) {
		s.all[s.n].v = v
	} else {
		s.all = append(s.all[:s.n], value{f, lset, intern(&internedLabels, slices.Clone(additional)), v})
		s.changed = true
	}
	s.n++
}

func (v *value) is(f *Family, lset labels.Labels, additional []labels.Label) bool {
	return v.family == f && slices.Equal(*v.additional, additional) && labels.Equal(v.labels, lset)
}

// Repeat adds the next n series of the last block with their values.
func (s *Values) Repeat(n int) { s.n += n }

// Block returns a block of the series added since the last one, without those that
// equal a series of the shapes before, see [NewComputed].
func (s *Values) Block(before ...*Shape) *Block {
	s.changed = s.changed || s.n < len(s.all) || s.out == nil
	s.all, s.n = s.all[:s.n], 0
	if s.changed || s.label != nil && !slices.Equal(s.before, before) {
		s.before, s.changed = slices.Clone(before), false
		s.all = slices.Clone(s.all) // Without room for more.
		s.out = NewComputed(s.series(), s.label, before...)
	}
	b := s.out.Block()
	for i := range s.all {
		b.Set(i, s.all[i].v)
	}
	return b
}

func (s *Values) series() []ComputedSeries {
	all := make([]ComputedSeries, len(s.all))
	b := labels.NewBuilder(labels.EmptyLabels())
	for i := range s.all {
		v := &s.all[i]
		b.Reset(v.labels)
		for _, l := range *v.additional {
			if l.Value != "" {
				b.Set(l.Name, l.Value)
			}
		}
		all[i] = ComputedSeries{Family: *v.family, Labels: b.Labels()}
	}
	return all
}
