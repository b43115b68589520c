package engine

import (
	"cmp"
	"reflect"
	"slices"
)

// Facts are what a server answered about itself. Empty fields were not
// answered. Facts are immutable once they are handed on.
type Facts struct {
	// EngineVersion is the server's own version.
	EngineVersion string
	// TRTLLMVersion is the version of TensorRT-LLM inside, with the source
	// that said it.
	TRTLLMVersion string
	TRTLLMSource  VersionSource
	// BuildVersion is the version that built the TensorRT engine, from its
	// folder's config.json, which no server says over HTTP.
	BuildVersion string
	// Shown is true when the answers are in the words of that kind of server alone.
	Shown bool
	// Listed is true when the server listed its models, Models are those it
	// has, in its order.
	Listed bool
	Models []ModelFacts
	// Problems are the questions of the last round that got no answer.
	Problems []Problem
}

// VersionSource says where a TensorRT-LLM version comes from.
type VersionSource string

// The sources in the order in which they are believed.
const (
	SourceConfig    VersionSource = "config"
	SourceServer    VersionSource = "version_endpoint"
	SourceParameter VersionSource = "model_parameter"
	SourcePage      VersionSource = "metrics_page"
	SourceTable     VersionSource = "compatibility_table"
	SourceUnknown   VersionSource = "unknown"
)

// The words of Triton's repository index for the state of a model.
const (
	ModelReady       = "READY"
	ModelLoading     = "LOADING"
	ModelUnloading   = "UNLOADING"
	ModelUnavailable = "UNAVAILABLE"
)

// ModelFacts are what a server says about one model.
type ModelFacts struct {
	Name string
	// Version is that of the index row; State its word: READY, LOADING,
	// UNLOADING or UNAVAILABLE; empty for models that were never loaded.
	Version, State string
	// Configured is true when the model's config was answered; what follows is
	// known then only.
	Configured bool
	// Backend and Platform are from the model's config; an ensemble has
	// platform "ensemble" and no backend.
	Backend, Platform string
	// Decoupled models may answer one request with many responses.
	Decoupled    bool
	MaxBatchSize int
	// Instances are the groups of the model's instances; ensembles have none.
	Instances []InstanceGroup
	// Batching is nil while dynamic batching is off.
	Batching *DynamicBatching
	// Parameters are those of [ModelParameters] that the config has.
	Parameters map[string]string
	// Steps are the models an ensemble is made of.
	Steps []string
	// Calls are models that a BLS model names in its parameters, Draft the one of
	// them that proposes tokens to another.
	Calls []string
	Draft string
	// ConfigHash is the SHA-256 of the config, in hexadecimal.
	ConfigHash string
}

// InstanceGroup is a number of instances of a model; of kind KIND_GPU it means
// that number on each of the GPUs.
type InstanceGroup struct {
	Kind  string
	Count int
	GPUs  []int
}

// DynamicBatching is how Triton gathers requests of a model.
type DynamicBatching struct {
	DelayMicroseconds int64
	// Preferred says that some sizes are.
	Preferred bool
}

// Minimal says whether requests are only batched that wait already.
func (b *DynamicBatching) Minimal() bool { return b.DelayMicroseconds == 0 && !b.Preferred }

// InstanceCount is how many instances the model has; 0 when it says none.
func (m *ModelFacts) InstanceCount() int {
	n := 0
	for _, g := range m.Instances {
		if g.Kind == "KIND_GPU" && len(g.GPUs) > 0 {
			n += g.Count * len(g.GPUs)
			continue
		}
		n += g.Count
	}
	return n
}

// Model finds what is known of a model; nil when nothing is.
func (f *Facts) Model(name string) *ModelFacts {
	if i := slices.IndexFunc(f.models(), func(m ModelFacts) bool { return m.Name == name }); i >= 0 {
		return &f.Models[i]
	}
	return nil
}

// models are those that the server has, version is its own; nil and empty while nothing
// was answered.
func (f *Facts) models() []ModelFacts {
	if f == nil {
		return nil
	}
	return f.Models
}

func (f *Facts) version() string {
	if f == nil {
		return ""
	}
	return f.EngineVersion
}

// Over gives these facts, completed by earlier ones about what was not answered
// this time. The version of TensorRT-LLM that a server said is kept only as long
// as its own version is the same.
func (f Facts) Over(before *Facts) *Facts {
	if before == nil {
		return &f
	}
	f.EngineVersion = cmp.Or(f.EngineVersion, before.EngineVersion)
	f.BuildVersion = cmp.Or(f.BuildVersion, before.BuildVersion)
	if f.TRTLLMVersion == "" && f.EngineVersion == before.EngineVersion && !f.answeredAgain(before) {
		f.TRTLLMVersion, f.TRTLLMSource = before.TRTLLMVersion, before.TRTLLMSource
	}
	f.Shown = f.Shown || before.Shown
	if !f.Listed {
		f.Listed, f.Models = before.Listed, before.Models
		return &f
	}
	f.Models = slices.Clone(f.Models)
	for i := range f.Models {
		old := before.Model(f.Models[i].Name)
		if old == nil || f.Models[i].Configured || !old.Configured {
			continue
		}
		state, version := f.Models[i].State, f.Models[i].Version
		f.Models[i] = *old
		f.Models[i].State, f.Models[i].Version = state, version
	}
	return &f
}

// answeredAgain says whether every model whose config was answered before has
// answered again, so that a parameter which is not there was taken out.
func (f *Facts) answeredAgain(before *Facts) bool {
	return f.Listed && !slices.ContainsFunc(before.Models, func(m ModelFacts) bool {
		now := f.Model(m.Name)
		return m.Configured && (now == nil || !now.Configured)
	})
}

// Equal reports whether both are the same.
func (f *Facts) Equal(o *Facts) bool { return reflect.DeepEqual(f, o) }

// ResolveVersion chooses the TensorRT-LLM version of a replica: what the
// operator declared, then what the server said, then what its stock image has,
// else "unknown".
func (f *Facts) ResolveVersion(e Engine, p *Page, declared string) (version string, source VersionSource) {
	switch {
	case declared != "":
		return declared, SourceConfig
	case f.TRTLLMVersion != "":
		return f.TRTLLMVersion, f.TRTLLMSource
	}
	if p != nil && p.version != "" {
		return p.version, SourcePage
	}
	if v, _ := e.StockVersion(f, p); v != "" {
		return v, SourceTable
	}
	return "unknown", SourceUnknown
}
