package assess

import (
	"fmt"

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
	var all []Series
	b := labels.NewBuilder(own)
	for i := range families() {
		f := &families()[i]
		f.series(k, func(v float64, pairs ...string) {
			b.Reset(own)
			for i := 0; i+1 < len(pairs); i += 2 {
				b.Set(pairs[i], pairs[i+1])
			}
			all = append(all, Series{f.Name, b.Labels(), v})
		})
	}
	return all
}

// written is what is known as text, empty for what is not.
func written[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
