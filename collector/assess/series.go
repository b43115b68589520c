package assess

import (
	"fmt"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Metadata returns the metadata of the catalogue's families by name, made once for all
// replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var Metadata = sync.OnceValue(func() map[string]*exposition.Family {
	all := make(map[string]*exposition.Family)
	for _, f := range Catalogue() {
		all[f.Name] = &exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	}
	return all
})

// Situation is what is known of a replica at one moment.
type Situation struct {
	// Labels are those of all its series.
	Labels labels.Labels
	State  State
	// Suspected reports that one sign speaks against the replica, see [Verdict].
	Suspected bool
	// Findings is nil for a silent replica.
	Findings *Findings
	Answers  *api.Answers
	Canary   *canary.Record
	// Processes is how many processes answer in turn, or 0 if no more than one is known
	// to.
	Processes int
}

// ReplicaSeries makes the series about a replica that remain when its scrape fails. It
// is not safe for concurrent use; its blocks are.
type ReplicaSeries struct {
	values exposition.Values
	// cached are the series of these findings with these labels.
	cached   []Series
	labels   labels.Labels
	findings *Findings
}

// NewReplicaSeries returns the series of one replica, which a labeler labels if it is
// not nil.
func NewReplicaSeries(label exposition.Labeler) ReplicaSeries {
	return ReplicaSeries{values: exposition.NewValues(label)}
}

// Block renders the series. They give way to equal series of the shapes before.
func (a *ReplicaSeries) Block(now *Situation, before ...*exposition.Shape) *exposition.Block {
	metadata := Metadata()
	if state := metadata[derive.Prefix+"state"]; now.State != Silent {
		for _, s := range States() {
			a.values.Add(state, flag(s == now.State), now.Labels, labels.Label{Name: "state", Value: string(s)})
		}
	}
	for i := range moments() {
		m := &moments()[i]
		if v, ok := m.value(now); ok {
			a.values.Add(metadata[m.Name], v, now.Labels)
		}
	}
	now.Canary.Series(func(family, modelID, result string, v float64) {
		a.values.Add(metadata[derive.Prefix+family], v, now.Labels, labels.Label{Name: relabel.LabelModelID, Value: modelID}, labels.Label{Name: "result", Value: result})
	})
	if a.findings != now.Findings || !labels.Equal(a.labels, now.Labels) {
		a.findings, a.labels, a.cached = now.Findings, now.Labels, now.Findings.Series(now.Labels)
	}
	for i := range a.cached {
		a.values.Add(metadata[a.cached[i].Family], a.cached[i].Value, a.cached[i].Labels)
	}
	return a.values.Block(before...)
}

// Series is a series about a replica. Its family is one of [Catalogue].
type Series struct {
	Family string
	Labels labels.Labels
	Value  float64
}

// Series returns the series of the findings, with the labels of the replica.
func (f *Findings) Series(lset labels.Labels) []Series {
	if f == nil {
		return nil
	}
	var all []Series
	b := labels.NewBuilder(lset)
	for i := range families() {
		family := &families()[i]
		family.series(f, func(v float64, pairs ...string) {
			b.Reset(lset)
			for i := 0; i+1 < len(pairs); i += 2 {
				b.Set(pairs[i], pairs[i+1])
			}
			all = append(all, Series{family.Name, b.Labels(), v})
		})
	}
	return all
}

// modelID returns the public id of one of the server's models.
func (f *Findings) modelID(name string) string {
	if f.Topology == nil {
		return relabel.Unknown
	}
	return f.Topology.ModelID(name)
}

// text formats a value that may be nil as a label, which is empty then.
func text[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
