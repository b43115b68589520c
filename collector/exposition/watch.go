package exposition

import (
	"unique"

	"github.com/prometheus/prometheus/model/labels"
)

// watchedSeries is a series selected by [Options.Watch], as the server wrote it:
// without the exporter's labels, and even if relabeling drops it from the page.
type watchedSeries struct {
	// labels holds the labels without the GPU, interned.
	labels unique.Handle[labels.Labels]
	index  uint32
	// gpu is the number, from 1, of the GPU among the GPUs of the shape; 0 means none.
	gpu uint8
}

// watch adds a watched series.
func (b *shapeBuilder) watch(lset labels.Labels, index uint32) {
	w := watchedSeries{index: index}
	if gpu := lset.Get(LabelGPU); gpu != "" {
		if w.gpu = uint8(addLocal(&b.gpus, gpu)); w.gpu > 0 {
			lset = labels.NewBuilder(lset).Del(LabelGPU).Labels()
		}
	}
	w.labels = unique.Make(lset)
	b.watched = append(b.watched, w)
}

// Watched returns the number of watched series. They are numbered in the order of the
// exporter's page, whatever the order of the source.
func (s *Shape) Watched() int { return len(*s.watched) }

// WatchedLabels returns the labels of watched series i. It allocates if they include a GPU.
func (s *Shape) WatchedLabels(i int) labels.Labels {
	w := &(*s.watched)[i]
	if w.gpu == 0 {
		return w.labels.Value()
	}
	return labels.NewBuilder(w.labels.Value()).Set(LabelGPU, s.gpus[w.gpu-1]).Labels()
}

// WatchedIndex returns the value index of watched series i.
func (s *Shape) WatchedIndex(i int) ValueIndex { return ValueIndex((*s.watched)[i].index) }

// GPUs returns the GPUs in the order of the watched series. The caller must not change them.
func (s *Shape) GPUs() []string { return s.gpus }

// WatchedKey identifies the watched series of a shape without their GPUs. It keeps them in memory.
type WatchedKey struct {
	watched *[]watchedSeries
	gpus    int
}

// WatchedKey returns the key of the shape. It reports false if the shape has too many GPUs.
func (s *Shape) WatchedKey() (WatchedKey, bool) {
	return WatchedKey{s.watched, len(s.gpus)}, len(s.gpus) < maxLocal
}
