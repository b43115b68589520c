package engine

import (
	_ "embed" // For the compatibility table.
	"strconv"
	"strings"
)

// Generation implements Engine: Triton's generations are its metric sets.
func (*tritonPage) Generation(p *Page, f *Facts) (Generation, string) {
	set, why := tritonSet(p, f)
	return Generation("metric set " + string(set)), why
}

// metricSet is one of the five sets of series that a Triton may show, by the
// backend of the LLM model.
type metricSet string

// The metric sets of Triton.
const (
	// setCPP is A: the C++ backend "tensorrtllm", everything.
	setCPP metricSet = "A"
	// setPython is B: the Python executor of the same repository, without
	// reused blocks and disaggregated serving.
	setPython metricSet = "B"
	// setLLMAPI is C: the LLM-API model, nothing but Triton's core series.
	setLLMAPI metricSet = "C"
	// setCore is D: no TensorRT-LLM at all, or the vLLM backend.
	setCore metricSet = "D"
	// setModule is E: the LLM-API model with the metrics module.
	setModule metricSet = "E"
)

// The releases of Triton that brought the series by which the sets are
// recognised.
const (
	minorPythonSeries  = 48 // 24.07: set B has series.
	minorMicroseconds  = 49 // 24.08: set A writes its timestamp in microseconds.
	minorReuse         = 51 // 24.10: reused blocks of set A.
	minorFirstResponse = 52 // 24.11: first response histogram, disaggregated serving.
	minorTokenCounts   = 53 // 24.12: token length histograms.
	minorAllResponses  = 65 // 26.01: first response of models that are not decoupled.
)

// The names of backends in Triton, of TensorRT-LLM's C++ one the first.
const (
	backendCPP    = "tensorrtllm"
	backendPython = "python"
	backendVLLM   = "vllm"
)

// tritonSet is which of the metric sets a page shows, with the reason
// for people. What the server says of its models is believed first; the page
// alone is not enough only for A and B before 24.08.
func tritonSet(p *Page, f *Facts) (metricSet, string) {
	if hadModule(p) {
		return setModule, "the page has nv_llmapi_*, of the metrics module for the LLM-API backend"
	}
	llm, executor := tritonLLM(f, p), tritonExecutor(p)
	if llm != nil && llm.Configured {
		switch {
		case llm.Backend == backendCPP:
			return setCPP, "model " + llm.Name + " has backend tensorrtllm"
		case llm.Backend == backendPython && (executor == llm.Name || llm.Parameters["gpt_model_path"] != "" || llm.Parameters["gpt_model_type"] != ""):
			return setPython, "model " + llm.Name + " has backend python and TensorRT-LLM's engine parameters"
		case llm.Backend == backendPython && llm.Name == llmName:
			return setLLMAPI, "model " + llm.Name + " has backend python and no engine: it is the LLM-API model"
		}
	}
	if executor != "" {
		return executorSet(p, f)
	}
	switch {
	case p.Begins(vllmPrefix):
		return setCore, "the page has vllm:* and no nv_trt_llm_*"
	case p != nil && p.loaded[llmName]:
		return setLLMAPI, "model " + llmName + " publishes nothing but Triton's core series"
	}
	return setCore, "the page has Triton's core series only"
}

// tritonLLM is the model that does the work; nil when the server did not say.
func tritonLLM(f *Facts, p *Page) *ModelFacts {
	if m := f.Model(tritonExecutor(p)); m != nil {
		return m
	}
	var found *ModelFacts
	for i := range f.models() {
		m := &f.Models[i]
		if m.Backend == backendCPP || m.Name == llmName && found == nil {
			found = m
		}
	}
	return found
}

// executorSet is A or B, by the page of an executor.
func executorSet(p *Page, f *Facts) (metricSet, string) {
	unit := p.values[EngineLastIter]
	minor, known := tritonMinor(f.version())
	switch {
	case tritonOldNames(p):
		return setCPP, "the families end in _statistics, as in 23.11"
	case p.Has(KVBlocksReused) || p.Begins("nv_trt_llm_disaggregated_serving_metrics"):
		return setCPP, "the page has reused blocks or disaggregated serving"
	case unit == microseconds:
		return setCPP, "the executor's timestamp is in microseconds"
	case p.Has(KVUtilization) || p.Begins("nv_llm_output_token_len"):
		return setPython, "the page is of a release that counts reused blocks, and does not show them"
	case unit == seconds && known && minor >= minorMicroseconds:
		return setPython, "the executor's timestamp is in seconds in a release where the C++ backend writes microseconds"
	case unit == seconds && known && minor < minorPythonSeries:
		return setCPP, "the Python backend of this release has no series"
	}
	return setCPP, "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"
}

// executorPrefix begins the names of what the executor of the LLM publishes.
const executorPrefix = "nv_trt_llm_"

// tritonExecutor is the model whose executor publishes its series; empty when
// none does.
func tritonExecutor(p *Page) (name string) {
	if p == nil {
		return ""
	}
	for _, r := range p.readings {
		if strings.HasPrefix(r.meaning.Name, executorPrefix) && !p.gone(modelOf(p.labels(r))) {
			name = modelOf(p.labels(r))
		}
	}
	return name
}

// tritonOldNames says whether the families have their names of 23.11.
func tritonOldNames(p *Page) bool {
	for name := range p.names {
		if strings.HasPrefix(name, executorPrefix) && strings.HasSuffix(name, "_statistics") {
			return true
		}
	}
	return false
}

// tritonMinor is the minor number of a version of Triton, which grew by one a
// month: 2.41 is 23.12, 2.53 is 24.12. Versions are read leniently: 2.73.0dev.
func tritonMinor(version string) (int, bool) {
	rest, ok := strings.CutPrefix(version, "2.")
	if !ok {
		return 0, false
	}
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return n, err == nil
}

//go:embed compatibility.tsv
var compatibility string

// StockVersion implements Engine, with NVIDIA's compatibility table. It is only
// right for stock images: a pip upgrade or an own build is not seen.
func (*tritonPage) StockVersion(f *Facts, p *Page) (trtllm, none string) {
	if set, _ := tritonSet(p, f); f.EngineVersion == "" || set == setCore {
		return "", ""
	}
	for row := range strings.Lines(compatibility) {
		fields := strings.Split(strings.TrimSpace(row), "\t")
		switch {
		case fields[0] != f.EngineVersion:
		case fields[3] == "not-included":
			return "", fields[2] + " says that no image with TensorRT-LLM is included"
		case fields[1] == "":
			return "", "no table states the TensorRT-LLM of " + fields[2]
		default:
			return fields[1], ""
		}
	}
	return "", ""
}
