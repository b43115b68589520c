package engine

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TritonOpenAI is Triton behind its OpenAI frontend: one port, no port 8002, the same nv_* page
// (server python/openai, routers/observability.py).
const TritonOpenAI Kind = "triton-openai"

var _ = register(&tritonOpenAI{newTritonPage(base{
	kind: TritonOpenAI, path: "/metrics", owners: []string{"Triton Inference Server"}, ready: "/health/ready",
	pagesOf: []Kind{Triton},
	answers: []Signal{AnswersHealth, AnswersModels, AnswersStream},
	stream:  Stream{Usage: true},
})})

// tritonOpenAI reports no version of Triton: /openapi.json has the version of the document.
type tritonOpenAI struct{ tritonPage }

// identify implements Engine: Triton's metrics port has no list of models.
func (*tritonOpenAI) identify(ctx context.Context, q *questions) string {
	if list, _ := q.models(ctx); len(list.Data) > 0 {
		return "/v1/models lists models on the port of the page"
	}
	return ""
}

// judge implements Engine. The page is Triton's, except for what needs options or Triton's own
// API.
func (o *tritonOpenAI) judge(name string, k *Knowledge) target.Check {
	const noOptions = "the OpenAI frontend takes no metric options"
	c := o.tritonPage.judge(name, k)
	set, _ := tritonSet(k.Page, k.Facts)
	switch {
	case c.OK:
	case name == CanConfig:
		return no("the OpenAI frontend does not expose configs", cureKServe)
	case k.Page == nil:
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
