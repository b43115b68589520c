package assess

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Series is one series about a replica with its value. Its family goes without
// the common prefix and is one of the catalogue.
type Series struct {
	Family string
	Labels labels.Labels
	Value  float64
}

// Series are those of what is known of a replica, with its own labels on each.
func (k *Known) Series(own labels.Labels) []Series {
	if k == nil {
		return nil
	}
	w := &writer{own: own, b: labels.NewBuilder(own)}
	for i, m := range k.Health.Models {
		if i == modelsShown {
			break
		}
		w.add("model_ready", flag(m.State == engine.ModelReady), "model", m.Name, "version", m.Version, "model_id", k.modelID(m.Name))
	}
	for i := range k.Models {
		w.model(&k.Models[i])
	}
	if v := k.BuildVersion(); v != "" {
		w.add("engine_build_info", 1, "version", v)
	}
	for _, list := range Lists() {
		if list.Family == "" {
			continue
		}
		for _, c := range k.List(list.Name) {
			w.add(list.Family, flag(c.OK != list.Negated), list.Label, c.Name)
		}
	}
	return w.series
}

// modelID is the public id of one of the server's models.
func (k *Known) modelID(name string) string {
	if k.Topology == nil {
		return unknown
	}
	return k.Topology.ModelID(name)
}

// writer collects series that begin with the labels of a replica.
type writer struct {
	own    labels.Labels
	b      *labels.Builder
	series []Series
}

// add adds a series with further labels, given as names and values; empty
// values are no labels.
func (w *writer) add(family string, v float64, pairs ...string) {
	w.b.Reset(w.own)
	for i := 0; i+1 < len(pairs); i += 2 {
		w.b.Set(pairs[i], pairs[i+1])
	}
	w.series = append(w.series, Series{family, w.b.Labels(), v})
}

// hashShown is how much of a hash is in a label; /targets has the whole.
const hashShown = 12

// model adds what one model is and does.
func (w *writer) model(m *target.Model) {
	named := func(more ...string) []string { return append(more, "model", m.Name, "model_id", m.ModelID) }
	if m.State != "" {
		for _, s := range modelStates() {
			w.add("model_state", flag(m.State == s), named("version", m.Version, "state", s)...)
		}
	}
	w.add("model_info", 1, named(
		"version", m.Version, "role", m.Role, "backend", m.Backend, "platform", m.Platform,
		"max_batch_size", number(m.MaxBatchSize), "instance_count", number(m.Instances),
		"decoupled", truth(m.Decoupled), "dynamic_batching", truth(m.Batching),
	)...)
	if len(m.Parameters) > 0 {
		var pairs []string
		for name, value := range m.Parameters {
			pairs = append(pairs, name, value)
		}
		w.add("model_parameters_info", 1, named(pairs...)...)
	}
	if m.ConfigHash != "" {
		w.add("model_config_hash_info", 1, named("sha256", m.ConfigHash[:hashShown])...)
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
