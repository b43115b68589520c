package engine

import (
	_ "embed" // For the compatibility table.
	"strconv"
	"strings"
)

// Sets of series that a Triton may show, by the backend of its LLM.
const (
	// setCPP is for the C++ backend "tensorrtllm", with all series.
	setCPP Generation = "metric set A"
	// setPython is for the Python executor, without reused blocks and disaggregated serving.
	setPython Generation = "metric set B"
	// setLLMAPI is for the LLM-API model, with only Triton's core series.
	setLLMAPI Generation = "metric set C"
	// setCore is without TensorRT-LLM, or for the vLLM backend.
	setCore Generation = "metric set D"
	// setModule is for the LLM-API model with the metrics module.
	setModule Generation = "metric set E"
)

// Releases of Triton with new series that distinguish the sets.
const (
	minorSummaries     = 33 // 23.04: summaries of times.
	minorPythonSeries  = 48 // 24.07: set B has series.
	minorMicroseconds  = 49 // 24.08: set A writes its timestamp in microseconds.
	minorReuse         = 51 // 24.10: reused blocks of set A.
	minorFirstResponse = 52 // 24.11: first response histogram, disaggregated serving.
	minorTokenCounts   = 53 // 24.12: token length histograms.
	minorAllResponses  = 65 // 26.01: first response of models that are not decoupled.
)

// Names of backends in Triton; backendCPP is TensorRT-LLM's.
const (
	backendCPP    = "tensorrtllm"
	backendPython = "python"
	backendVLLM   = "vllm"
)

// tritonSet returns the metric set of a page, with the reason. The configs of models come first;
// without them, only A and B before 24.08 cannot be told apart.
func tritonSet(p *Page, f *Facts) (Generation, string) {
	// The series of a model with the module stay when it is unloaded (seen on 2.51).
	if p.hasReading(func(r reading) bool { return r.meaning.Name == moduleBeat }) {
		return setModule, "the page has nv_llmapi_*, of the metrics module for the LLM-API backend"
	}
	llm, executor := tritonLLM(f, p), tritonExecutor(p)
	if llm != nil && llm.Configured {
		switch {
		case llm.Backend == backendCPP:
			return setCPP, "model " + llm.Name + " has backend tensorrtllm"
		case llm.Backend == backendPython && (executor == llm.Name ||
			llm.Parameters["gpt_model_path"] != "" || llm.Parameters["gpt_model_type"] != ""):
			return setPython, "model " + llm.Name + " has backend python and TensorRT-LLM's engine parameters"
		case llm.Backend == backendPython && llm.Name == llmName:
			return setLLMAPI, "model " + llm.Name + " has backend python and no engine: it is the LLM-API model"
		}
	}
	if executor != "" {
		return executorSet(p, f)
	}
	switch {
	case p.HasPrefix(vllmPrefix):
		return setCore, "the page has vllm:* and no nv_trt_llm_*"
	case p.get().loaded[llmName]:
		return setLLMAPI, "model " + llmName + " publishes nothing but Triton's core series"
	}
	return setCore, "the page has Triton's core series only"
}

// tritonLLM returns the model that runs the LLM, or nil if the server did not list it.
func tritonLLM(f *Facts, p *Page) *ModelFacts {
	if m := f.Model(tritonExecutor(p)); m != nil {
		return m
	}
	var found *ModelFacts
	for i := range f.get().Models {
		m := &f.Models[i]
		if m.Backend == backendCPP || m.Name == llmName && found == nil {
			found = m
		}
	}
	return found
}

// executorSet returns A or B by the page of an executor.
func executorSet(p *Page, f *Facts) (Generation, string) {
	unit := p.values[EngineLastIter]
	minor, ok := tritonMinor(f.get().EngineVersion)
	switch {
	case p.hasNameLike(func(name string) bool {
		return strings.HasPrefix(name, executorPrefix) && strings.HasSuffix(name, "_statistics")
	}):
		return setCPP, "the families end in _statistics, as in 23.11"
	case p.Has(KVBlocksReused) || p.HasPrefix("nv_trt_llm_disaggregated_serving_metrics"):
		return setCPP, "the page has reused blocks or disaggregated serving"
	case unit == microseconds:
		return setCPP, "the executor's timestamp is in microseconds"
	case p.Has(KVUtilization) || p.HasPrefix("nv_llm_output_token_len"):
		return setPython, "the page is of a release that counts reused blocks, and does not show them"
	case unit == seconds && ok && minor >= minorMicroseconds:
		return setPython, "the executor's timestamp is in seconds in a release where the C++ backend writes " +
			"microseconds"
	case unit == seconds && ok && minor < minorPythonSeries:
		return setCPP, "the Python backend of this release has no series"
	}
	return setCPP, "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"
}

// executorPrefix begins the names of what the executor of the LLM publishes.
const executorPrefix = "nv_trt_llm_"

// tritonExecutor returns the model whose executor publishes series, empty if there is none.
func tritonExecutor(p *Page) (name string) {
	for _, r := range p.get().readings {
		if strings.HasPrefix(r.meaning.Name, executorPrefix) && !p.unloadedModel(p.engine.modelOf(p.labels(r))) {
			name = p.engine.modelOf(p.labels(r))
		}
	}
	return name
}

// tritonMinor returns the minor number of a Triton version, which grew by one a month: 2.41 is
// 23.12, 2.53 is 24.12. It accepts versions like 2.73.0dev.
func tritonMinor(version string) (int, bool) {
	numbers, ok := strings.CutPrefix(version, "2.")
	if !ok {
		return 0, false
	}
	minor, _, _ := strings.Cut(numbers, ".")
	n, err := strconv.Atoi(minor)
	return n, err == nil
}

//go:embed compatibility.tsv
var compatibility string

// tritonStockVersion looks the version up in NVIDIA's table, regardless of what was upgraded or
// built.
func tritonStockVersion(f *Facts, p *Page) (trtllm, reason string) {
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
