package simulate

import "net/http"

// Triton's OpenAI frontend, with one port, for the models of KindTriton, KindTritonVLLM,
// KindTritonLLMAPI and KindTritonLLMAPIModule.
const (
	KindTritonOpenAI             Kind = "triton-openai"
	KindTritonOpenAIVLLM         Kind = "triton-openai-vllm"
	KindTritonOpenAILLMAPI       Kind = "triton-openai-llmapi"
	KindTritonOpenAILLMAPIModule Kind = "triton-openai-llmapi-module"
)

// behindOpenAI replaces Triton's own ports by the OpenAI frontend.
func (f flavour) behindOpenAI() software {
	f.onePort = (*triton).openAI
	return f.software()
}

// openAI answers with page and health, but without any /v2 route.
func (t *triton) openAI(r *Replica) http.Handler {
	mux := r.routes(t, map[string]answer{
		"GET /metrics":      shown(plainText, t.page),
		"GET /health/ready": t.readiness(object{"detail": "Attached inference engine is not ready for inference requests."}),
		"GET /v1/models": ok(func() any {
			var names []string
			t.each(func(m *model, _ string) { names = append(names, m.name) })
			return modelList(t.w.start.Add(t.w.up), "Triton Inference Server", names...)
		}),
	})
	r.addChat(mux, t)
	mux.HandleFunc("/", notFound)
	return uvicorn(mux)
}
