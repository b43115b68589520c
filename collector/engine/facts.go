package engine

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Facts are what a server answered about itself. They do not change once they are shared.
type Facts struct {
	// EngineVersion is the server's own version.
	EngineVersion string
	// TRTLLMVersion is the version of TensorRT-LLM inside, TRTLLMSource where it is from.
	TRTLLMVersion string
	TRTLLMSource  VersionSource
	// BuildVersion is the version that built the TensorRT engine; no server returns it over HTTP.
	BuildVersion string
	// Confirmed is true if the answers are such as only this kind of server gives.
	Confirmed bool
	// Listed is true if the server listed its models; Models are in its order.
	Listed bool
	Models []ModelFacts
	// Responsive: in the last round the engine itself answered, or was paused. It does not hang.
	Responsive bool
	// Problems are the failed requests of the last round.
	Problems []Problem
}

// VersionSource is where a TensorRT-LLM version comes from.
type VersionSource string

// The sources, the most trusted first.
const (
	SourceConfig    VersionSource = "config"
	SourceServer    VersionSource = "version_endpoint"
	SourceParameter VersionSource = "model_parameter"
	SourcePage      VersionSource = "metrics_page"
	SourceTable     VersionSource = "compatibility_table"
	SourceUnknown   VersionSource = "unknown"
)

// The states of models in Triton's repository index.
const (
	ModelReady       = "READY"
	ModelLoading     = "LOADING"
	ModelUnloading   = "UNLOADING"
	ModelUnavailable = "UNAVAILABLE"
)

// ModelFacts are what a server answered about one model.
type ModelFacts struct {
	Name string
	// Version and State are those of the index; State is empty if it was never loaded.
	Version, State string
	// Configured is true if the model's config was answered. All fields below are from it.
	Configured bool
	// Backend is empty for an ensemble, whose Platform is "ensemble".
	Backend, Platform string
	// Decoupled models may answer one request with many responses.
	Decoupled    bool
	MaxBatchSize int
	// Instances is empty for ensembles.
	Instances []InstanceGroup
	// Batching is nil while dynamic batching is off.
	Batching *DynamicBatching
	// Parameters has those of [ModelParameters] that are set.
	Parameters map[string]string
	// Steps lists the models that an ensemble consists of.
	Steps []string
	// Calls lists the models that a BLS model names, Draft is that of them which proposes tokens.
	Calls []string
	Draft string
	// ConfigHash is the SHA-256 of the config in hexadecimal.
	ConfigHash string
}

// InstanceGroup is Count instances of a model, on each of the GPUs with kind KIND_GPU.
type InstanceGroup struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	GPUs  []int  `json:"gpus"`
}

// DynamicBatching is how Triton gathers requests of a model.
type DynamicBatching struct {
	DelayMicroseconds int64
	// Preferred is true if some batch sizes are preferred.
	Preferred bool
}

// InstanceCount returns the number of instances of the model; 0 if the config has none.
func (m *ModelFacts) InstanceCount() int {
	n := 0
	for _, g := range m.Instances {
		groups := 1
		if g.Kind == "KIND_GPU" {
			groups = max(1, len(g.GPUs))
		}
		n += g.Count * groups
	}
	return n
}

// Model returns the facts about a model, or nil.
func (f *Facts) Model(name string) *ModelFacts {
	if i := slices.IndexFunc(f.get().Models, func(m ModelFacts) bool { return m.Name == name }); i >= 0 {
		return &f.Models[i]
	}
	return nil
}

// get returns the facts; nil facts are empty.
func (f *Facts) get() *Facts {
	if f == nil {
		return &Facts{}
	}
	return f
}

// WithEarlier returns the facts, completed by earlier ones about what was not answered. The
// TensorRT-LLM version of the server is kept only while its own version is the same.
func (f Facts) WithEarlier(before *Facts) *Facts {
	if before == nil {
		return &f
	}
	f.EngineVersion = cmp.Or(f.EngineVersion, before.EngineVersion)
	f.BuildVersion = cmp.Or(f.BuildVersion, before.BuildVersion)
	if f.TRTLLMVersion == "" && f.EngineVersion == before.EngineVersion && !f.answeredAgain(before) {
		f.TRTLLMVersion, f.TRTLLMSource = before.TRTLLMVersion, before.TRTLLMSource
	}
	f.Confirmed = f.Confirmed || before.Confirmed
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

// answeredAgain reports whether every model whose config was answered before has answered again, so
// that a missing parameter was removed.
func (f *Facts) answeredAgain(before *Facts) bool {
	return f.Listed && !slices.ContainsFunc(before.Models, func(m ModelFacts) bool {
		now := f.Model(m.Name)
		return m.Configured && (now == nil || !now.Configured)
	})
}

// Equal reports whether both are the same.
func (f *Facts) Equal(o *Facts) bool { return reflect.DeepEqual(f, o) }

// ResolveVersion returns the TensorRT-LLM version of a replica: the operator's, or else the
// server's, or else that of its stock image, or else "unknown".
func (f *Facts) ResolveVersion(e Engine, p *Page, declared string) (version string, source VersionSource) {
	switch {
	case declared != "":
		return declared, SourceConfig
	case f.TRTLLMVersion != "":
		return f.TRTLLMVersion, f.TRTLLMSource
	case p != nil && p.version != "":
		return p.version, SourcePage
	}
	if v, _ := e.StockVersion(f, p); v != "" {
		return v, SourceTable
	}
	return "unknown", SourceUnknown
}

// Agree reports whether an API with these facts belongs to the server that shows a page: it is of
// that kind and has the models of the page. A server that answers 200 to any path, as Triton's
// metrics port does, is of no kind. Without a page, answers that only this kind gives are trusted.
func Agree(e Engine, p *Page, f *Facts) Trust {
	switch {
	case f == nil:
		return TrustUnknown
	case !f.Confirmed && !f.Listed && slices.ContainsFunc(f.Problems, func(q Problem) bool { return q.Unexpected }):
		return TrustNo
	case p != nil:
		return e.agree(p, f)
	case f.Confirmed:
		return TrustYes
	}
	return TrustUnknown
}

// agree implements Engine: an API that lists none of the page's models belongs to another server.
// One common model is enough, since clients can make up names that come to some pages.
func (b *base) agree(p *Page, f *Facts) Trust {
	named, shared := false, false
	for _, name := range p.modelNames {
		if name == UnnamedModel || name == b.noModel {
			continue
		}
		named = true
		shared = shared || slices.ContainsFunc(f.Models, func(m ModelFacts) bool { return sameModel(m.Name, name) })
	}
	switch {
	case !named || len(f.Models) == 0:
		return TrustUnknown
	case !shared:
		return TrustNo
	case f.Confirmed:
		return TrustYes
	}
	return TrustUnknown
}

// sameModel reports whether two names are one model: a path or its base, in any case.
func sameModel(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(path.Base(a), path.Base(b)) && (path.IsAbs(a) || path.IsAbs(b))
}
