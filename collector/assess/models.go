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

// describe returns what is known about each model in rows. Whether a model is loaded depends on the
// page.
func describe(b *Basis, rows []engine.ModelState) (all []target.Model) {
	if b.Topology == nil {
		return nil
	}
	for _, row := range rows {
		all = append(all, b.model(&row))
	}
	slices.SortFunc(all, func(x, y target.Model) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	return all
}

// count counts models that are left out by state: rows, and those that the health check left out.
func count(b *Basis, rows []engine.ModelState) map[string]int {
	states := make(map[string]int)
	for state, n := range b.Health.LeftOut {
		states[modelState(state, false, false)] += n
	}
	for _, row := range rows {
		loaded, known := b.Page.Loaded(row.Name)
		states[modelState(row.State, loaded, known)]++
	}
	return states
}

// rows returns the versions of models that get series of their own, and the others. First come those
// that have requests, the busiest version first, then those in trouble, then the rest by the index.
func (b *Basis) rows() (kept, leftOut []engine.ModelState) {
	rows := b.versions()
	if len(rows) <= maxModels {
		return rows, nil
	}
	inTrouble := func(m engine.ModelState) int { return [...]int{1, 0, 2, 3}[m.Rank()] }
	slices.SortStableFunc(rows, func(x, y engine.ModelState) int {
		return cmp.Or(
			cmp.Compare(b.Page.Requests(y.Name, y.Version), b.Page.Requests(x.Name, x.Version)),
			inTrouble(x)-inTrouble(y),
		)
	})
	return rows[:maxModels], rows[maxModels:]
}

// versions returns the versions of models that index or page name, each once.
func (b *Basis) versions() (all []engine.ModelState) {
	versions, names := make(map[[2]string]bool), make(map[string]bool)
	add := func(row engine.ModelState) {
		key := [2]string{row.Name, row.Version}
		if row.Name == engine.UnnamedModel || versions[key] || names[row.Name] && row.Version == "" {
			return
		}
		versions[key], names[row.Name] = true, true
		all = append(all, row)
	}
	for _, row := range b.Health.Models {
		add(row)
	}
	if b.Facts != nil && b.Health.Models == nil { // The index from a health check is newer than the facts.
		for i := range b.Facts.Models {
			if f := &b.Facts.Models[i]; f.State != "" {
				add(engine.ModelState{Name: f.Name, Version: f.Version, State: f.State})
			}
		}
	}
	for _, name := range b.Page.Models() {
		row := engine.ModelState{Name: name}
		if loaded, _ := b.Page.Loaded(name); loaded {
			row.State = engine.ModelReady
		}
		add(row)
	}
	return all
}

func (b *Basis) model(row *engine.ModelState) target.Model {
	loaded, known := b.Page.Loaded(row.Name)
	m := target.Model{
		Name:    row.Name,
		Version: row.Version,
		ModelID: b.Topology.ModelID(row.Name),
		Role:    string(b.Topology.Role(row.Name)),
		State:   modelState(row.State, loaded, known),
	}
	if b.Facts == nil {
		return m
	}
	if f := b.Facts.Model(row.Name); f != nil && f.Configured {
		m.Backend, m.Platform = f.Backend, f.Platform
		m.MaxBatchSize, m.Decoupled, m.Batching = new(f.MaxBatchSize), new(f.Decoupled), new(f.Batching != nil)
		if n := f.InstanceCount(); n > 0 {
			m.Instances = new(n)
		}
		m.Parameters, m.ConfigHash = f.Parameters, f.ConfigHash
	}
	return m
}
