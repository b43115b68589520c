package series

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Heads are the heads of the catalogue's families by name, made once for all
// replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var Heads = sync.OnceValue(func() map[string]exposition.Family {
	heads := make(map[string]exposition.Family)
	for _, f := range Catalogue() {
		heads[f.Name] = exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	}
	return heads
})

// Facts are what is known of a replica at one moment.
type Facts struct {
	// Own are the labels of all its series.
	Own   labels.Labels
	State assess.State
	// Suspected says that one sign speaks against the replica, see [assess.Verdict].
	Suspected bool
	// Known is what follows from page and answers, nil for a silent replica.
	Known   *assess.Known
	Answers *api.Answers
	Canary  *canary.Record
	// Processes is how many answer at the address in turn, 0 where no more than one is
	// known to.
	Processes int
	// Before are the shapes of the blocks whose series are before these, nil for
	// none.
	Before [2]*exposition.Shape
}

// Known makes the series of what is known of a replica, which stay when its
// scrape fails. It is not safe for concurrent use; its blocks are.
type Known struct {
	label  exposition.Labeler
	before [2]*exposition.Shape
	out    *exposition.Computed
	// points are the series of the last block whose values may change with each,
	// next those of the one that is made.
	points, next []point
	own          labels.Labels
	known        *assess.Known
	// now is what the last block was made of.
	now Facts
}

// point is a series with its value at one moment.
type point struct {
	id    pointID
	value float64
}

// pointID is the family of a series, without the common prefix, and the labels
// that it has in addition to the replica's own; empty for none.
type pointID struct{ family, label, value, modelID string }

// NewKnown returns the series of one replica, which get their labels from a
// labeler, nil for none.
func NewKnown(label exposition.Labeler) Known { return Known{label: label} }

// Block renders what is known now. Its labels are made again only when there
// are other series.
func (k *Known) Block(facts *Facts) *exposition.Block {
	k.next, k.now = k.next[:0], *facts // A copy in place: a scrape allocates none.
	now := &k.now
	if now.State != assess.Silent {
		for _, s := range assess.States() {
			k.add(pointID{"state", "state", string(s), ""}, flag(s == now.State))
		}
		k.add(pointID{family: "suspected"}, flag(now.Suspected))
	}
	for i := range moments() {
		m := &moments()[i]
		if v, ok := m.value(now); ok {
			k.add(pointID{family: m.name}, v)
		}
	}
	now.Canary.Series(func(family, modelID, result string, v float64) {
		k.add(pointID{family, "result", result, modelID}, v)
	})
	same := slices.EqualFunc(k.points, k.next, func(a, b point) bool { return a.id == b.id })
	k.points, k.next = k.next, k.points
	if k.out == nil || !same || k.known != now.Known || !labels.Equal(k.own, now.Own) || k.label != nil && k.before != now.Before {
		k.own, k.known, k.before = now.Own, now.Known, now.Before
		k.shape(now.Known.Series(now.Own))
	}
	b := k.out.Block()
	for i := range k.points {
		b.Set(i, k.points[i].value)
	}
	b.Seal()
	return b
}

// shape makes the labels of all series: those of points, and of those that follow
// from what is known.
func (k *Known) shape(fixed []assess.Series) {
	all := make([]exposition.ComputedSeries, 0, len(k.points)+len(fixed))
	b := labels.NewBuilder(k.own)
	for i := range k.points {
		id := &k.points[i].id
		b.Reset(k.own)
		if id.value != "" {
			b.Set(id.label, id.value)
		}
		if id.modelID != "" {
			b.Set(relabel.LabelModelID, id.modelID)
		}
		all = append(all, exposition.ComputedSeries{Family: Heads()[derive.Prefix+id.family], Labels: b.Labels()})
	}
	for _, s := range fixed {
		all = append(all, exposition.ComputedSeries{Family: Heads()[s.Family], Labels: s.Labels})
	}
	k.out = exposition.NewRelabelled(all, k.label, k.before[:]...)
	for i := range fixed {
		k.out.Fix(len(k.points)+i, fixed[i].Value)
	}
}

// add adds one series.
func (k *Known) add(id pointID, v float64) { k.next = append(k.next, point{id, v}) }

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
