package engine

// Facts are what a server answered about itself. Empty fields were not
// answered.
type Facts struct {
	// Answered is true when at least one question got an answer.
	Answered bool
	// EngineVersion is the server's own version.
	EngineVersion string
	// TRTLLMVersion is the version of TensorRT-LLM inside, with the source
	// that told it.
	TRTLLMVersion string
	TRTLLMSource  VersionSource
	// Models are the models the server has, in its order.
	Models []ModelFacts
}

// VersionSource says where a TensorRT-LLM version comes from.
type VersionSource string

// The sources in the order in which they are believed.
const (
	SourceConfig    VersionSource = "config"
	SourceServer    VersionSource = "version_endpoint"
	SourceParameter VersionSource = "model_parameter"
	SourceTable     VersionSource = "compatibility_table"
	SourceUnknown   VersionSource = "unknown"
)

// ModelFacts are what a server says about one model.
type ModelFacts struct {
	Name string
	// State is the repository index's word: READY, LOADING, UNLOADING or
	// UNAVAILABLE; empty when the index was not answered.
	State string
	// Backend and Platform are from the model's config; an ensemble has
	// platform "ensemble" and no backend.
	Backend, Platform string
	// Decoupled models may answer one request with many responses.
	Decoupled bool
	// Configured is true when the model's config was answered.
	Configured bool
	// Steps are the models an ensemble is made of.
	Steps []string
	// Calls are models that a BLS model names in its parameters.
	Calls []string
}

// ResolveVersion chooses the TensorRT-LLM version of a replica: what the
// operator declared, then what the server said, then the table of stock
// images by Triton version, else "unknown".
func (f *Facts) ResolveVersion(kind Kind, declared string) (version string, source VersionSource) {
	switch {
	case declared != "":
		return declared, SourceConfig
	case f.TRTLLMVersion != "":
		return f.TRTLLMVersion, f.TRTLLMSource
	}
	if kind == Triton || kind == TritonOpenAI {
		if v, ok := StockVersion(f.EngineVersion); ok {
			return v, SourceTable
		}
	}
	return "unknown", SourceUnknown
}
