package assess

import (
	"cmp"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Basis is what the checks of a replica rest on; equal bases give equal checks. Nothing
// that it points to changes.
type Basis struct {
	// Engine is the kind of server, Topology holds the models under their public ids.
	Engine   engine.Engine
	Topology *engine.Topology
	engine.Knowledge
	// EngineVersion and TRTLLMVersion are those of the replica's series.
	EngineVersion, TRTLLMVersion string
	// Objectives reports which objectives of the pool are measured at the replica.
	Objectives []target.Check
	Expect     *Expectations
	// Declared reports which versions the operator gave for the target.
	Declared engine.Pins
}

// Findings is what follows from a basis. It is immutable.
type Findings struct {
	Basis

	Generation, GenerationReason string
	// Unserved explains why a ready server serves none of its models.
	Unserved string
	Models   []target.Model
	// Checks are in the order of [Lists].
	Checks []target.CheckList
}

// Examine returns the findings for a basis.
func Examine(b *Basis) *Findings {
	f := &Findings{Basis: *b}
	if b.Page != nil {
		generation, why := b.Engine.Generation(b.Page, b.Facts)
		f.Generation, f.GenerationReason = string(generation), why
	}
	f.Unserved = f.Engine.Unserved(f.Page, f.Facts, f.Health.Models)
	f.Models = describe(&f.Basis)
	for _, list := range Lists() {
		f.Checks = append(f.Checks, target.CheckList{Name: list.Name, Checks: list.checks(f)})
	}
	return f
}

// RestsOn reports whether a basis would give the same findings.
func (f *Findings) RestsOn(b *Basis) bool {
	return f != nil && f.Topology == b.Topology && f.EngineVersion == b.EngineVersion && f.TRTLLMVersion == b.TRTLLMVersion &&
		f.Engine == b.Engine && f.Facts == b.Facts && f.Page == b.Page && f.MissingPage == b.MissingPage &&
		f.Health.API == b.Health.API && f.Health.Detail == b.Health.Detail && slices.Equal(f.Health.Models, b.Health.Models) &&
		slices.Equal(f.Objectives, b.Objectives)
}

// List returns the checks of one list.
func (f *Findings) List(name string) []target.Check {
	if f == nil {
		return nil
	}
	return target.FindChecks(f.Checks, name)
}

// Unobservable explains why failing requests to the replica would go unnoticed; empty if
// the page shows them or a canary asks.
func (f *Findings) Unobservable() string {
	if f == nil || f.Canary {
		return ""
	}
	for _, c := range f.List(Capabilities) {
		if c.Name == engine.CanOutcomes && !c.OK {
			return c.Reason
		}
	}
	return ""
}

// BuildVersion returns the version that built the TensorRT engine, or an empty string.
func (f *Findings) BuildVersion() string { return cmp.Or(f.Facts, &engine.Facts{}).BuildVersion }
