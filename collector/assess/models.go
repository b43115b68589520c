package assess

import (
	"cmp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// maxModels limits the models of one replica that have series of their own.
const maxModels = 256

// modelStates lists the states of a model, as series name them.
func modelStates() []string { return []string{"ready", "loading", "unloading", "unavailable"} }

// modelState combines the state in the repository index with whether the page shows
// counters of success. It returns an empty string if nothing is known.
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

// describe returns what is known of each model from its config, the repository index and
// the page, which has the last word on what is loaded.
func describe(b *Basis) []target.Model {
	if b.Topology == nil {
		return nil
	}
	d := &description{Basis: b, versions: make(map[[2]string]bool), names: make(map[string]bool)}
	for _, row := range b.Health.Models {
		d.add(row.Name, row.Version, row.State)
	}
	if b.Facts != nil && b.Health.Models == nil { // The index of a health check is newer than the facts.
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

// description builds the list of models.
type description struct {
	*Basis

	models   []target.Model
	versions map[[2]string]bool
	names    map[string]bool
}

// add adds a model, or one version of it, once.
func (d *description) add(name, version, index string) {
	key := [2]string{name, version}
	if name == engine.UnnamedModel || len(d.models) == maxModels || d.versions[key] || d.names[name] && version == "" {
		return
	}
	d.versions[key], d.names[name] = true, true
	loaded, known := d.Page.Loaded(name)
	m := target.Model{
		Name: name, Version: version, ModelID: d.Topology.ModelID(name), Role: string(d.Topology.Role(name)),
		State: modelState(index, loaded, known),
	}
	if d.Facts != nil {
		if f := d.Facts.Model(name); f != nil && f.Configured {
			addConfig(&m, f)
		}
	}
	d.models = append(d.models, m)
}

// addConfig copies what the config of a model states.
func addConfig(m *target.Model, f *engine.ModelFacts) {
	m.Backend, m.Platform = f.Backend, f.Platform
	m.MaxBatchSize, m.Decoupled = new(f.MaxBatchSize), new(f.Decoupled)
	m.Batching = new(f.Batching != nil)
	if n := f.InstanceCount(); n > 0 {
		m.Instances = new(n)
	}
	m.Parameters, m.ConfigHash = f.Parameters, f.ConfigHash
}
