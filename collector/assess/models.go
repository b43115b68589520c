package assess

import (
	"cmp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// modelsShown bounds the models of one replica that have series of their own.
const modelsShown = 256

// modelStates lists the states of a model, as series name them.
func modelStates() []string { return []string{"ready", "loading", "unloading", "unavailable"} }

// modelState puts together what the repository index says of a model, in its
// own word, and whether the page shows it as loaded. A model whose counters of
// success are gone from the page is not loaded, whatever else the page has of
// it; empty when nothing is known.
func modelState(index string, loaded, known bool) string {
	switch {
	case index == engine.ModelLoading:
	case known && !loaded:
		index = engine.ModelUnavailable
	case known && index != engine.ModelUnavailable && index != engine.ModelUnloading:
		index = engine.ModelReady
	}
	if state := strings.ToLower(index); slices.Contains(modelStates(), state) {
		return state
	}
	return ""
}

// describe says what is known of each model: from the configs, from the
// repository index and from the page, which is the last word on what is loaded.
func describe(b *Basis) []target.Model {
	if b.Topology == nil {
		return nil
	}
	d := &description{Basis: b, rows: make(map[[2]string]bool), names: make(map[string]bool)}
	for _, row := range b.Health.Models {
		d.add(row.Name, row.Version, row.State)
	}
	if b.Facts != nil && b.Health.Models == nil {
		// An index that is newer than the facts comes first.
		for i := range b.Facts.Models {
			if f := &b.Facts.Models[i]; f.State != "" {
				d.add(f.Name, f.Version, f.State)
			}
		}
	}
	for _, name := range b.Page.Models() {
		d.add(name, "", "")
	}
	slices.SortFunc(d.models, func(x, y target.Model) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	return d.models
}

// description is the list of models while it is made.
type description struct {
	*Basis

	models []target.Model
	rows   map[[2]string]bool
	names  map[string]bool
}

// add adds a model, or one version of it, once.
func (d *description) add(name, version, index string) {
	row := [2]string{name, version}
	if name == engine.UnnamedModel || len(d.models) == modelsShown || d.rows[row] || d.names[name] && version == "" {
		return
	}
	d.rows[row], d.names[name] = true, true
	loaded, known := d.Page.Loaded(name)
	m := target.Model{
		Name: name, Version: version, ModelID: d.Topology.ModelID(name), Role: string(d.Topology.Role(name)),
		State: modelState(index, loaded, known),
	}
	if d.Facts != nil {
		if f := d.Facts.Model(name); f != nil && f.Configured {
			configured(&m, f)
		}
	}
	d.models = append(d.models, m)
}

// configured copies what a model's config says.
func configured(m *target.Model, f *engine.ModelFacts) {
	m.Backend, m.Platform = f.Backend, f.Platform
	m.MaxBatchSize, m.Decoupled = new(f.MaxBatchSize), new(f.Decoupled)
	m.Batching = new(f.Batching != nil)
	if n := f.InstanceCount(); n > 0 {
		m.Instances = new(n)
	}
	m.Parameters, m.ConfigHash = f.Parameters, f.ConfigHash
}
