package assess

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Basis is what the checks of a replica rest on; equal bases give equal checks.
// Nothing that it points to changes.
type Basis struct {
	// Engine is the kind of server; Topology the models under their public ids.
	Engine   engine.Engine
	Topology *engine.Topology
	engine.Knowledge
	// EngineVersion and TRTLLMVersion are those on the replica's series.
	EngineVersion, TRTLLMVersion string
	// Objectives say which objectives of the pool are measured at the replica.
	Objectives []target.Check
	Expect     *Expectations
	// Declared says which versions the operator gave for the target.
	Declared engine.Pins
}

// Known is what follows from a basis. It is immutable.
type Known struct {
	Basis

	Generation, GenerationReason string
	// Unserved says why a server that is ready serves none of its models; empty
	// where it serves one.
	Unserved string
	Models   []target.Model
	// Checks are in the order of [Lists].
	Checks []target.CheckList
}

// Know draws the conclusions from a basis.
func Know(b *Basis) *Known {
	k := &Known{Basis: *b}
	if b.Page != nil {
		generation, why := b.Engine.Generation(b.Page, b.Facts)
		k.Generation, k.GenerationReason = string(generation), why
	}
	k.Unserved = k.Engine.Unserved(k.Page, k.Facts, k.Health.Models)
	k.Models = describe(&k.Basis)
	for _, list := range Lists() {
		k.Checks = append(k.Checks, target.CheckList{Name: list.Name, Checks: list.of(k)})
	}
	return k
}

// RestsOn says whether a basis would give the same again.
func (k *Known) RestsOn(b *Basis) bool {
	return k != nil && k.Topology == b.Topology && k.EngineVersion == b.EngineVersion && k.TRTLLMVersion == b.TRTLLMVersion &&
		k.Engine == b.Engine && k.Facts == b.Facts && k.Page == b.Page && k.MissingPage == b.MissingPage &&
		k.Health.API == b.Health.API && k.Health.Detail == b.Health.Detail && slices.Equal(k.Health.Models, b.Health.Models) &&
		slices.Equal(k.Objectives, b.Objectives)
}

// List gives the checks of one list.
func (k *Known) List(name string) []target.Check {
	if k == nil {
		return nil
	}
	return target.FindChecks(k.Checks, name)
}

// Unshown says why nobody would see that requests to the replica fail; empty
// where the page shows it or a canary asks.
func (k *Known) Unshown() string {
	if k == nil || k.Canary {
		return ""
	}
	for _, c := range k.List(Capabilities) {
		if c.Name == engine.CanOutcomes && !c.OK {
			return c.Reason
		}
	}
	return ""
}

// BuildVersion is the version that built the TensorRT engine, as its folder
// says; empty when that is not known.
func (k *Known) BuildVersion() string {
	if k == nil || k.Facts == nil {
		return ""
	}
	return k.Facts.BuildVersion
}
