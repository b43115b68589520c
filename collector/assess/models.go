package assess

import (
	"cmp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// maxModels limits the models of a replica that have series of their own.
const maxModels = 256

func modelStates() []string { return []string{"ready", "loading", "unloading", "unavailable"} }

// modelState combines the state in the repository index with whether the page shows counters.
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

// describe returns what is known about each model. Whether a model is loaded depends on the page.
func describe(b *Basis) []target.Model {
	if b.Topology == nil {
		return nil
	}
	var all []target.Model
	versions, names := make(map[[2]string]bool), make(map[string]bool)
	add := func(name, version, index string) {
		key := [2]string{name, version}
		if name == engine.UnnamedModel || len(all) == maxModels || versions[key] || names[name] && version == "" {
			return
		}
		versions[key], names[name] = true, true
		all = append(all, b.model(name, version, index))
	}
	for _, row := range b.Health.Models {
		add(row.Name, row.Version, row.State)
	}
	if b.Facts != nil && b.Health.Models == nil { // The index from a health check is newer than the facts.
		for i := range b.Facts.Models {
			if f := &b.Facts.Models[i]; f.State != "" {
				add(f.Name, f.Version, f.State)
			}
		}
	}
	for _, name := range b.Page.Models() {
		add(name, "", "")
	}
	slices.SortFunc(all, func(x, y target.Model) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	return all
}

func (b *Basis) model(name, version, index string) target.Model {
	loaded, known := b.Page.Loaded(name)
	m := target.Model{
		Name: name, Version: version, ModelID: b.Topology.ModelID(name), Role: string(b.Topology.Role(name)),
		State: modelState(index, loaded, known),
	}
	if b.Facts == nil {
		return m
	}
	if f := b.Facts.Model(name); f != nil && f.Configured {
		m.Backend, m.Platform = f.Backend, f.Platform
		m.MaxBatchSize, m.Decoupled, m.Batching = new(f.MaxBatchSize), new(f.Decoupled), new(f.Batching != nil)
		if n := f.InstanceCount(); n > 0 {
			m.Instances = new(n)
		}
		m.Parameters, m.ConfigHash = f.Parameters, f.ConfigHash
	}
	return m
}
