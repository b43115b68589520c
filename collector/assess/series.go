package assess

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Metadata returns the metadata of the catalogue's families by name.
//
//nolint:gochecknoglobals // constant data, built on first use.
var Metadata = sync.OnceValue(func() map[string]*exposition.Family {
	all := make(map[string]*exposition.Family)
	for _, f := range Catalogue() {
		all[f.Name] = &f.Family
	}
	return all
})

// Situation holds the current knowledge about a replica.
type Situation struct {
	// Labels are the labels that all its series have.
	Labels labels.Labels
	State  State
	// Serves, Suspected and Deliberate are those of the [Verdict].
	Serves, Suspected, Deliberate bool
	// Findings is nil for a silent replica.
	Findings *Findings
	Answers  *engine.Answers
	Canary   *canary.Record
	// Asks is true if the pool has a canary: without one no replica is canary_failing.
	Asks bool
	// Processes is the number of processes that answer in turn, or 0 if only one is known.
	Processes int
}

// ReplicaSeries renders series that outlast failed scrapes. It is not safe for concurrent use.
type ReplicaSeries struct {
	values exposition.Values
	// off lists the groups whose series are left out.
	off exposition.Groups
	// cached is the number of series from findings with labels. They are the first ones.
	cached   int
	labels   labels.Labels
	findings *Findings
}

// NewReplicaSeries returns the series of one replica without those of some groups; the labeler may be nil.
func NewReplicaSeries(label exposition.Labeler, off exposition.Groups) ReplicaSeries {
	return ReplicaSeries{values: exposition.NewValues(label), off: off}
}

// Block renders the series, except those that equal a series of the existing shapes.
func (a *ReplicaSeries) Block(now *Situation, existing ...*exposition.Shape) *exposition.Block {
	if a.findings != now.Findings || !labels.Equal(a.labels, now.Labels) {
		a.findings, a.labels, a.cached = now.Findings, now.Labels, 0
		now.Findings.series(func(family string, v float64, pairs []labels.Label) {
			if a.add(family, v, now.Labels, pairs...) {
				a.cached++
			}
		})
	} else {
		a.values.Repeat(a.cached)
	}
	if now.State != Silent {
		for _, s := range States() {
			if s == CanaryFailing && s != now.State && !now.Asks {
				continue
			}
			if saysState(stateFamily, string(s), string(now.State)) {
				a.add(stateFamily, flag(s == now.State), now.Labels, labels.Label{Name: "state", Value: string(s)})
			}
		}
	}
	for i := range moments() {
		m := &moments()[i]
		if v, ok := m.value(now); ok {
			a.add(m.Name, v, now.Labels)
		}
	}
	now.Canary.Series(func(family, modelID, result string, v float64) {
		a.add(
			derive.Prefix+family, v, now.Labels, labels.Label{Name: relabel.LabelModelID, Value: modelID},
			labels.Label{Name: "result", Value: result},
		)
	})
	return a.values.Block(existing...)
}

// add adds a series and reports whether it is written.
func (a *ReplicaSeries) add(family string, v float64, lset labels.Labels, pairs ...labels.Label) bool {
	if a.off != 0 && a.off.Has(GroupOf(family)) {
		return false
	}
	a.values.Add(Metadata()[family], v, lset, pairs...)
	return true
}

// series adds the series of the findings, without the labels of the replica.
func (f *Findings) series(add func(family string, v float64, pairs []labels.Label)) {
	if f == nil {
		return
	}
	for i := range families() {
		family := &families()[i]
		family.series(f, func(v float64, pairs ...string) {
			var all []labels.Label
			for pair := range slices.Chunk(pairs, 2) {
				all = append(all, labels.Label{Name: pair[0], Value: pair[1]})
			}
			add(family.Name, v, all)
		})
	}
}

// text formats a value as a label, empty if it is nil.
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
