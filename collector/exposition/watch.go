package exposition

import (
	"unique"

	"github.com/prometheus/prometheus/model/labels"
)

// watched is a series that [Options.Watch] asked for, as the server wrote it:
// without our labels, and also when relabeling keeps it off the page.
type watched struct {
	// one keeps the labels once for all targets that show the series, without the
	// GPU that it is of: that is the text of this number of those that the shape
	// shows, from 1 on, 0 for none.
	one   unique.Handle[labels.Labels]
	value uint32
	own   uint8
}

// Watched is how many series are watched. They are numbered in the order of the
// page as it is shown, whatever the source's is.
func (s *Shape) Watched() int { return len(*s.watched) }

// WatchedLabels are the labels of watched series i. Those of a GPU are made for
// each call.
func (s *Shape) WatchedLabels(i int) labels.Labels {
	w := &(*s.watched)[i]
	if w.own == 0 {
		return w.one.Value()
	}
	return labels.NewBuilder(w.one.Value()).Set(LabelGPU, s.shows[w.own-1]).Labels()
}

// watch adds a series that is watched.
func (b *shapeBuilder) watch(lset labels.Labels, value uint32) {
	w := watched{value: value}
	if gpu := lset.Get(LabelGPU); gpu != "" {
		if w.own = uint8(numberOf(&b.shows, gpu)); w.own > 0 {
			lset = labels.NewBuilder(lset).Del(LabelGPU).Labels()
		}
	}
	w.one = unique.Make(lset)
	b.watched = append(b.watched, w)
}
