package assess

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
)

// Series is one series about a replica with its value. Its family is one of
// [Catalogue].
type Series struct {
	Family string
	Labels labels.Labels
	Value  float64
}

// modelID is the public id of one of the server's models.
func (k *Known) modelID(name string) string {
	if k.Topology == nil {
		return unknown
	}
	return k.Topology.ModelID(name)
}

// Series are those of what is known of a replica, with its own labels on each.
func (k *Known) Series(own labels.Labels) []Series {
	if k == nil {
		return nil
	}
	w := &writer{own: own, b: labels.NewBuilder(own)}
	for i := range families() {
		f := &families()[i]
		w.family = f.Name
		f.series(k, w)
	}
	return w.series
}

// writer collects series that begin with the labels of a replica.
type writer struct {
	own    labels.Labels
	b      *labels.Builder
	family string
	series []Series
}

// add adds a series with further labels, given as names and values; empty
// values are no labels.
func (w *writer) add(v float64, pairs ...string) {
	w.b.Reset(w.own)
	for i := 0; i+1 < len(pairs); i += 2 {
		w.b.Set(pairs[i], pairs[i+1])
	}
	w.series = append(w.series, Series{w.family, w.b.Labels(), v})
}

// list adds a list of checks.
func (w *writer) list(k *Known, name string) {
	for _, list := range Lists() {
		if list.Name != name {
			continue
		}
		for _, c := range k.List(name) {
			w.add(flag(c.OK != list.Negated), list.Label, c.Name)
		}
	}
}

// number writes what is known.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// truth writes what is known.
func truth(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
