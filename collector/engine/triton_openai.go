package engine

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TritonOpenAI is Triton behind its OpenAI frontend: one port, no port 8002, the same nv_* page
// (server python/openai, routers/observability.py).
const TritonOpenAI Name = "triton-openai"

// tritonOpenAI reports no version of Triton: /openapi.json has the version of the document.
func tritonOpenAI() *Kind {
	k := tritonPage()
	k.Name = TritonOpenAI
	k.pagesOf = []Name{Triton}
	k.Ready = "/health/ready"
	k.versionless = true
	k.owners = []string{"Triton Inference Server"}
	k.stream = Stream{Usage: true}
	k.mayBeEmpty = true
	k.identify = tritonOpenAIIdentify
	k.judge = func(name string, known *Knowledge) (target.Check, bool) { return tritonOpenAIJudge(k, name, known) }
	k.lacking = func(name string, known *Knowledge) target.Check { return tritonOpenAILacking(k, name, known) }
	return k
}

// tritonOpenAIIdentify returns the evidence. Triton's metrics port has no list of models, not even an
// empty one.
func tritonOpenAIIdentify(ctx context.Context, q *questions) string {
	if _, listed := q.models(ctx); listed {
		return "/v1/models lists models on the port of the page"
	}
	return ""
}

// tritonOpenAILacking explains what a page lacks. It is Triton's, except for what needs options.
func tritonOpenAILacking(kind *Kind, name string, k *Knowledge) target.Check {
	const noOptions = "the OpenAI frontend takes no metric options"
	c := tritonLacking(kind, name, k)
	set, _ := tritonSet(k.Page, k.Facts)
	switch {
	case name == CanGPU:
		return no(c.Reason, cureDCGMIn)
	case set == setLLMAPI && (name == CanTTFT || name == CanQuantiles):
		return no(noOptions, cureModule)
	case name == CanTTFT:
		return no(noOptions, cureCanary)
	case name == CanQuantiles:
		return no(noOptions, cureClient)
	}
	return c
}

// tritonOpenAIJudge judges what the series do not tell. It has no API for configs.
func tritonOpenAIJudge(kind *Kind, name string, k *Knowledge) (target.Check, bool) {
	if name == CanConfig {
		return k.config(no("the OpenAI frontend does not expose configs", cureKServe)), true
	}
	return tritonJudge(kind, name, k)
}
