package engine

import (
	"strconv"
	"strings"
)

// MetricSet is one of the four sets of series that stand behind the same port
// of Triton, by the backend of the LLM model.
type MetricSet string

// The metric sets of Triton.
const (
	// SetCPP is A: the C++ backend "tensorrtllm", everything.
	SetCPP MetricSet = "A"
	// SetPython is B: the Python executor of the same repository, without
	// reused blocks and disaggregated serving.
	SetPython MetricSet = "B"
	// SetLLMAPI is C: the LLM-API model, nothing but Triton's core series.
	SetLLMAPI MetricSet = "C"
	// SetCore is D: no TensorRT-LLM at all, or the vLLM backend.
	SetCore MetricSet = "D"
)

// The releases of Triton in which series that tell the sets apart came.
const (
	minorPythonSeries  = 48 // 24.07: set B has series.
	minorMicroseconds  = 49 // 24.08: set A writes its timestamp in microseconds.
	minorFirstResponse = 52 // 24.11: first response histogram, disaggregated serving.
	minorTokenCounts   = 53 // 24.12: token length histograms.
	minorAllResponses  = 65 // 26.01: first response of models that are not decoupled.
)

// backendCPP is the name of TensorRT-LLM's C++ backend in Triton.
const backendCPP = "tensorrtllm"

// MetricSetOf tells which of Triton's metric sets a page shows, with the reason
// for people. What the server says of its models is believed first; the page
// alone leaves doubt only between A and B before 24.08.
func MetricSetOf(p *Page, f *Facts) (MetricSet, string) {
	llm := f.llmModel(p)
	if llm != nil && llm.Configured {
		switch {
		case llm.Backend == backendCPP:
			return SetCPP, "model " + llm.Name + " has backend tensorrtllm"
		case llm.Backend == "python" && (p != nil && p.executor == llm.Name || llm.Parameters["gpt_model_path"] != "" || llm.Parameters["gpt_model_type"] != ""):
			return SetPython, "model " + llm.Name + " has backend python and TensorRT-LLM's engine parameters"
		case llm.Backend == "python" && llm.Name == llmName:
			return SetLLMAPI, "model " + llm.Name + " has backend python and no engine: it is the LLM-API model"
		}
	}
	if p != nil && p.executor != "" {
		return executorSet(p, f)
	}
	switch {
	case p.Begins("vllm:"):
		return SetCore, "the page has vllm:* and no nv_trt_llm_*"
	case p != nil && p.loaded[llmName]:
		return SetLLMAPI, "model " + llmName + " publishes nothing but Triton's core series"
	}
	return SetCore, "the page has Triton's core series only"
}

// llmName is what TensorRT-LLM's own model repositories call the LLM.
const llmName = "tensorrt_llm"

// llmModel is the model that does the work; nil when the server did not say.
func (f *Facts) llmModel(p *Page) *ModelFacts {
	if f == nil {
		return nil
	}
	if p != nil && p.executor != "" {
		if m := f.Model(p.executor); m != nil {
			return m
		}
	}
	var found *ModelFacts
	for i := range f.Models {
		m := &f.Models[i]
		if m.Backend == backendCPP || m.Name == llmName && found == nil {
			found = m
		}
	}
	return found
}

// executorSet tells A from B by the page of an executor.
func executorSet(p *Page, f *Facts) (MetricSet, string) {
	unit := int(p.values[EngineLastIter])
	minor, known := 0, false
	if f != nil {
		minor, known = tritonMinor(f.EngineVersion)
	}
	switch {
	case p.Begins("nv_trt_llm_") && p.oldNames():
		return SetCPP, "the families end in _statistics, as in 23.11"
	case p.kvKinds["reused"] || p.Begins("nv_trt_llm_disaggregated_serving_metrics"):
		return SetCPP, "the page has reused blocks or disaggregated serving"
	case unit == 2:
		return SetCPP, "the executor's timestamp is in microseconds"
	case p.kvKinds["fraction"] || p.Begins("nv_llm_output_token_len"):
		return SetPython, "the page is of a release that counts reused blocks, and does not show them"
	case unit == 1 && known && minor >= minorMicroseconds:
		return SetPython, "the executor's timestamp is in seconds in a release where the C++ backend writes microseconds"
	case unit == 1 && known && minor < minorPythonSeries:
		return SetCPP, "the Python backend of this release has no series"
	}
	return SetCPP, "nothing on the page tells the Python executor from the C++ backend; the latter is taken"
}

// oldNames says whether the families have their names of 23.11.
func (p *Page) oldNames() bool {
	for name := range p.names {
		if strings.HasPrefix(name, "nv_trt_llm_") && strings.HasSuffix(name, "_statistics") {
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

// Generation names what a page is within its kind of server.
type Generation string

// The generations. Triton's are its metric sets.
const (
	// ServePlain are the five families without prefix of 1.1 and 1.2.
	ServePlain Generation = "unprefixed"
	// ServePrefixed has the prefix trtllm_ and no iteration gauges (PR #11243).
	ServePrefixed Generation = "prefixed"
	// ServeFull has config info, token counters and iteration gauges (PR #12545).
	ServeFull Generation = "prefixed with iteration statistics"
	// ServeIdle shows nothing before its first request.
	ServeIdle Generation = "not told before the first request"
	// DynamoFrontend and DynamoWorker are Dynamo's two pages.
	DynamoFrontend Generation = "frontend"
	DynamoWorker   Generation = "worker"
	// NIMFirst is NIM 1.x.
	NIMFirst Generation = "1.x"
)

// GenerationOf tells which generation of its kind of server a page is of, with
// the reason for people; empty while there is no page.
func GenerationOf(kind Kind, p *Page, f *Facts) (Generation, string) {
	if p == nil {
		return "", ""
	}
	switch kind {
	case Triton, TritonOpenAI:
		set, why := MetricSetOf(p, f)
		return Generation("metric set " + string(set)), why
	case TRTLLMServe:
		return serveGeneration(p, f)
	case NIM:
		return NIMFirst, "the page has the names of NIM 1.x"
	case Dynamo:
		if p.Begins("dynamo_frontend_") {
			return DynamoFrontend, "the page has dynamo_frontend_*"
		}
		return DynamoWorker, "the page has no dynamo_frontend_*"
	case Unknown:
	}
	return "", ""
}

// serveGeneration tells trtllm-serve's generations apart by presence.
func serveGeneration(p *Page, f *Facts) (Generation, string) {
	switch {
	case p.names["trtllm_model_config_info"] || p.names["trtllm_prompt_tokens_total"] || p.names["trtllm_num_requests_running"]:
		return ServeFull, "the page has config info, token counters or iteration gauges"
	case p.Begins("trtllm_"):
		return ServePrefixed, "the names have the prefix trtllm_ and there is no config info"
	case p.Shows("request_success_total") || p.Shows("e2e_request_latency_seconds_bucket"):
		return ServePlain, "the names have no prefix"
	case f != nil && (strings.HasPrefix(f.EngineVersion, "1.1.") || strings.HasPrefix(f.EngineVersion, "1.2.")):
		return ServePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"
	}
	return ServeIdle, "the page is empty: families come with their first sample"
}
