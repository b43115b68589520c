package assess

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Heads are the heads of the catalogue's families by name, made once for all
// replicas.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var Heads = sync.OnceValue(func() map[string]*exposition.Family {
	heads := make(map[string]*exposition.Family)
	for _, f := range Catalogue() {
		heads[f.Name] = &exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
	}
	return heads
})

// Situation is what is known of a replica at one moment.
type Situation struct {
	// Own are the labels of all its series.
	Own   labels.Labels
	State State
	// Suspected says that one sign speaks against the replica, see [Verdict].
	Suspected bool
	// Known is what follows from page and answers, nil for a silent replica.
	Known   *Known
	Answers *api.Answers
	Canary  *canary.Record
	// Processes is how many answer at the address in turn, 0 where no more than one is
	// known to.
	Processes int
}

// About makes the series of what is known of a replica, which stay when its
// scrape fails. It is not safe for concurrent use; its blocks are.
type About struct {
	values exposition.Values
	// fixed are the series of what follows from page and answers.
	fixed []Series
	own   labels.Labels
	known *Known
}

// NewAbout returns the series of one replica, which get their labels from a
// labeler, nil for none.
func NewAbout(label exposition.Labeler) About { return About{values: exposition.NewValues(label)} }

// Block renders what is known now. Its series give way to those of the shapes before.
func (a *About) Block(now *Situation, before ...*exposition.Shape) *exposition.Block {
	heads := Heads()
	if state := heads[derive.Prefix+"state"]; now.State != Silent {
		for _, s := range States() {
			a.values.Add(state, flag(s == now.State), now.Own, labels.Label{Name: "state", Value: string(s)})
		}
	}
	for i := range moments() {
		m := &moments()[i]
		if v, ok := m.value(now); ok {
			a.values.Add(heads[m.Name], v, now.Own)
		}
	}
	now.Canary.Series(func(family, modelID, result string, v float64) {
		a.values.Add(heads[derive.Prefix+family], v, now.Own, labels.Label{Name: relabel.LabelModelID, Value: modelID}, labels.Label{Name: "result", Value: result})
	})
	if a.known != now.Known || !labels.Equal(a.own, now.Own) {
		a.known, a.own, a.fixed = now.Known, now.Own, now.Known.Series(now.Own)
	}
	for i := range a.fixed {
		a.values.Add(heads[a.fixed[i].Family], a.fixed[i].Value, a.fixed[i].Labels)
	}
	return a.values.Block(before...)
}
