package engine

import (
	"cmp"
	"iter"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Round yields the facts of one round of requests, complete or not: perhaps once those received so
// far, while a request is pending, and then all of them.
type Round iter.Seq2[Facts, bool]

// Complete waits for all facts of the round.
func (r Round) Complete() (f Facts) {
	for f = range r {
		continue
	}
	return f
}

// Facts are what a server answered about itself. They are immutable once shared.
type Facts struct {
	// EngineVersion is the server's own version.
	EngineVersion string
	// TRTLLMVersion is the version of TensorRT-LLM inside, TRTLLMSource where it comes from.
	TRTLLMVersion string
	TRTLLMSource  VersionSource
	// BuildVersion is the version that built the TensorRT engine; no server returns it over HTTP.
	BuildVersion string
	// Confirmed is true if only this kind of server gives such answers.
	Confirmed bool
	// Workers are the ids of the workers that a router can reach; nil if it does not list them.
	Workers []string
	// Listed is true if the server listed its models; Models are in its order.
	Listed bool
	Models []ModelFacts
	// DataParallel is the number of ranks with requests of their own, 0 if the server did not say.
	DataParallel int
	// nextConfig is the number of ready models whose configs were asked for in turn.
	nextConfig int
	// Problems lists the failed requests of the last round.
	Problems []Problem
}

// VersionSource is where a TensorRT-LLM version comes from.
type VersionSource string

// Sources of versions, the most trusted first.
const (
	SourceConfig    VersionSource = "config"
	SourceServer    VersionSource = "version_endpoint"
	SourceParameter VersionSource = "model_parameter"
	SourcePage      VersionSource = "metrics_page"
	SourceTable     VersionSource = "compatibility_table"
	SourceUnknown   VersionSource = "unknown"
)

// States of models in Triton's repository index.
const (
	ModelReady       = "READY"
	ModelLoading     = "LOADING"
	ModelUnloading   = "UNLOADING"
	ModelUnavailable = "UNAVAILABLE"
)

// ModelFacts are what a server answered about one model.
type ModelFacts struct {
	Name string
	// Root is the name or path from which the server loaded the model, if it says so. A page may
	// name the model by it.
	Root string
	// Version and State are from the index. State is empty if the model was never loaded.
	Version, State string
	// Unasked is true for a ready model whose config was not asked for yet, since there are many.
	Unasked bool
	// unlisted is true for a model that the page counts, and the index does not list.
	unlisted bool
	// Configured is true if the model's config is known. All fields below are from it.
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
	// Parameters holds the [ModelParameters] that are set.
	Parameters map[string]string
	// Steps lists the models that an ensemble consists of.
	Steps []string
	// Calls lists the models that a BLS model names. Draft is the one that proposes tokens, Prefill the one that
	// computes prompts whose answers another one generates.
	Calls          []string
	Draft, Prefill string
	// ConfigHash is the SHA-256 of the config in hexadecimal.
	ConfigHash string
}

// InstanceGroup is Count instances of a model, on each of the GPUs with kind KIND_GPU.
type InstanceGroup struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	GPUs  []int  `json:"gpus"`
}

// DynamicBatching is how Triton batches requests of a model.
type DynamicBatching struct {
	DelayMicroseconds int64
	// Preferred is true if some batch sizes are preferred.
	Preferred bool
}

// InstanceCount returns the number of instances of the model, 0 if the config has none.
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

// get returns the facts. Nil facts are empty.
func (f *Facts) get() *Facts {
	if f == nil {
		return &Facts{}
	}
	return f
}

// WithEarlier returns the facts, with unanswered ones replaced by earlier ones. The TensorRT-LLM
// version of the server is kept only while its own version is the same.
func (f Facts) WithEarlier(earlier *Facts) *Facts {
	if earlier == nil {
		return &f
	}
	f.EngineVersion = cmp.Or(f.EngineVersion, earlier.EngineVersion)
	f.BuildVersion = cmp.Or(f.BuildVersion, earlier.BuildVersion)
	f.DataParallel = cmp.Or(f.DataParallel, earlier.DataParallel)
	if f.TRTLLMVersion == "" && f.EngineVersion == earlier.EngineVersion && !f.answeredAgain(earlier) {
		f.TRTLLMVersion, f.TRTLLMSource = earlier.TRTLLMVersion, earlier.TRTLLMSource
	}
	f.Confirmed = f.Confirmed || earlier.Confirmed
	if f.Workers == nil {
		f.Workers = earlier.Workers
	}
	if !f.Listed && (earlier.Listed || len(f.Models) == 0) {
		f.Listed, f.Models = earlier.Listed, earlier.Models
		return &f
	}
	f.Models = slices.Clone(f.Models)
	known := make(map[string]*ModelFacts, len(earlier.Models))
	for i := range earlier.Models {
		known[earlier.Models[i].Name] = &earlier.Models[i]
	}
	for i := range f.Models {
		m := &f.Models[i]
		old := known[m.Name]
		switch {
		case old == nil || m.Configured:
		case old.Configured:
			state, version := m.State, m.Version
			*m = *old
			m.State, m.Version = state, version
		default:
			m.Unasked = m.Unasked && (old.Unasked || old.State != ModelReady)
		}
	}
	return &f
}

// configured reports whether the config of a model is known.
func (f *Facts) configured(name string) bool {
	m := f.Model(name)
	return m != nil && m.Configured
}

// Unasked counts the ready models whose configs were not asked for yet.
func (f *Facts) Unasked() (n int) {
	for i := range f.get().Models {
		if f.Models[i].Unasked {
			n++
		}
	}
	return n
}

// answeredAgain reports whether every config that is in the earlier facts was answered again, so
// that a missing parameter was removed.
func (f *Facts) answeredAgain(earlier *Facts) bool {
	return f.Listed && !slices.ContainsFunc(earlier.Models, func(m ModelFacts) bool {
		if !m.Configured {
			return false
		}
		now := f.Model(m.Name)
		return now == nil || !now.Configured
	})
}

// equal reports whether both facts are the same.
func (f *Facts) equal(o *Facts) bool { return reflect.DeepEqual(f, o) }

// ResolveVersion returns the TensorRT-LLM version of a replica: as declared, or as reported by the
// server, or the version of its stock image, or "unknown".
func (f *Facts) ResolveVersion(e *Kind, p *Page, declared string) (version string, source VersionSource) {
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

// unexpected reports whether there is an answer that no server of the kind gives.
func (f *Facts) unexpected() bool {
	return slices.ContainsFunc(f.Problems, func(q Problem) bool { return q.Unexpected })
}

// agree reports whether an API with the given facts belongs to the server with the page: it is of
// that kind and has the models of the page. A server that answers 200 to any path, like Triton's
// metrics port, is of no kind. Without a page, answers that only this kind gives are trusted.
func agree(k *Kind, p *Page, f *Facts) Ternary {
	switch {
	case f == nil:
		return Unsure
	case !f.Confirmed && !f.Listed && f.unexpected():
		return No
	case p != nil:
		return k.apiBelongs(p, f)
	case f.Confirmed:
		return Yes
	}
	return Unsure
}

// rooted reports whether the server said from where it loaded its models.
func (f *Facts) rooted() bool {
	return slices.ContainsFunc(f.Models, func(m ModelFacts) bool { return m.Root != "" })
}

// agreeByModels compares models: an API that lists none of the page's belongs to another server. One
// common model is enough, since some pages have model names that clients made up. The name noModel on
// the page is none.
func agreeByModels(p *Page, f *Facts, noModel string) Ternary {
	hasNames, shared := false, false
	for _, name := range p.modelNames {
		if name == UnnamedModel || name == noModel {
			continue
		}
		hasNames = true
		shared = shared ||
			slices.ContainsFunc(
				f.Models,
				func(m ModelFacts) bool { return sameModel(m.Name, name) || m.Root != "" && sameModel(m.Root, name) },
			)
	}
	switch {
	case !hasNames || len(f.Models) == 0:
		return Unsure
	case !shared:
		return No
	case f.Confirmed:
		return Yes
	}
	return Unsure
}

// sameModel reports whether two names mean the same model: a path or its base, ignoring case.
func sameModel(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(path.Base(a), path.Base(b)) && (path.IsAbs(a) || path.IsAbs(b))
}
