package exposition

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Values creates blocks from series that are added again for each block, such as the exporter's
// own series about a replica or a pool. They are rendered again only if they changed since the
// last block. It is not safe for concurrent use; its blocks are.
type Values struct {
	label    Labeler
	existing []*Shape
	// all holds the series of the last block, of which the first n were added to the next one.
	all     []value
	n       int
	changed bool
	out     *Shape
}

// value is a series with its value. Replicas share its additional labels.
type value struct {
	family     *Family
	labels     labels.Labels
	additional *[]labels.Label
	v          float64
}

// NewValues returns Values that are relabeled by label, which may be nil.
func NewValues(label Labeler) Values { return Values{label: label} }

// Add adds a series to the next block. Additional labels that are empty are ignored.
func (s *Values) Add(f *Family, v float64, lset labels.Labels, additional ...labels.Label) {
	if s.n < len(s.all) && s.all[s.n].equals(f, lset, additional) {
		s.all[s.n].v = v
	} else {
		s.all = append(s.all[:s.n], value{
			family:     f,
			labels:     lset,
			additional: intern(&internedLabels, slices.Clone(additional)),
			v:          v,
		})
		s.changed = true
	}
	s.n++
}

func (v *value) equals(f *Family, lset labels.Labels, additional []labels.Label) bool {
	return v.family == f && slices.Equal(*v.additional, additional) && labels.Equal(v.labels, lset)
}

// Repeat adds the next n series of the last block again, with their values.
func (s *Values) Repeat(n int) { s.n += n }

// Block returns a block of the series that were added since the last block, without series that
// equal one of the existing shapes, see [NewComputed].
func (s *Values) Block(existing ...*Shape) *Block {
	s.changed = s.changed || s.n < len(s.all) || s.out == nil
	s.all, s.n = s.all[:s.n], 0
	if s.changed || s.label != nil && !slices.Equal(s.existing, existing) {
		s.existing, s.changed = slices.Clone(existing), false
		s.all = slices.Clone(s.all) // Without spare capacity.
		s.out = NewComputed(s.series(), s.label, existing...)
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
		all[i] = ComputedSeries{
			Family: *v.family,
			Labels: b.Labels(),
		}
	}
	return all
}
