package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestTopologyOfModels(t *testing.T) {
	template := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}
	configured := func(f engine.ModelFacts) engine.ModelFacts {
		f.Configured = true
		return f
	}
	steps := []engine.ModelFacts{
		configured(engine.ModelFacts{Name: "chat", Platform: "ensemble", Steps: []string{"tok", "llm", "detok"}}),
		configured(engine.ModelFacts{Name: "tok"}),
		configured(engine.ModelFacts{Name: "llm", Decoupled: true}),
		configured(engine.ModelFacts{Name: "detok"}),
		configured(engine.ModelFacts{Name: "resnet"}),
	}
	for _, tc := range []struct {
		name       string
		kind       engine.Kind
		page       []string
		facts      []engine.ModelFacts
		configured map[string][]string
		ids        map[string]string
		roles      map[string]engine.Role
		behind     []string
	}{
		{
			name: "the template's names make one deployment", kind: engine.Triton, page: template,
			ids:    map[string]string{"ensemble": "ensemble", "preprocessing": "ensemble", "tensorrt_llm": "ensemble", "tensorrt_llm_bls": "ensemble"},
			roles:  map[string]engine.Role{"ensemble": engine.RoleEntry, "tensorrt_llm_bls": engine.RoleEntry, "tensorrt_llm": engine.RolePart, "postprocessing": engine.RolePart},
			behind: []string{"postprocessing"},
		},
		{
			name: "a BLS model alone names the deployment", kind: engine.Triton, page: template[1:],
			ids:    map[string]string{"tensorrt_llm_bls": "tensorrt_llm_bls", "tensorrt_llm": "tensorrt_llm_bls", "postprocessing": "tensorrt_llm_bls"},
			roles:  map[string]engine.Role{"tensorrt_llm_bls": engine.RoleEntry, "tensorrt_llm": engine.RolePart},
			behind: []string{"postprocessing"},
		},
		{
			name: "the LLM alone is its own entry", kind: engine.Triton, page: []string{"tensorrt_llm"},
			ids:   map[string]string{"tensorrt_llm": "tensorrt_llm"},
			roles: map[string]engine.Role{"tensorrt_llm": engine.RoleSingle},
		},
		{
			name: "configs tell what an ensemble is made of, whatever the names", kind: engine.Triton, page: []string{"llm"}, facts: steps,
			ids:    map[string]string{"chat": "chat", "tok": "chat", "llm": "chat", "detok": "chat", "resnet": "resnet"},
			roles:  map[string]engine.Role{"chat": engine.RoleEntry, "tok": engine.RolePart, "detok": engine.RolePart, "resnet": engine.RoleSingle},
			behind: []string{"detok"},
		},
		{
			name: "the operator's id goes to the whole deployment", kind: engine.Triton, page: template,
			configured: map[string][]string{"llama-70b": {"ensemble"}},
			ids:        map[string]string{"ensemble": "llama-70b", "postprocessing": "llama-70b", "tensorrt_llm_bls": "llama-70b"},
			roles:      map[string]engine.Role{"ensemble": engine.RoleEntry},
			behind:     []string{"postprocessing"},
		},
		{
			name: "a server of one model gives its name to series that name none", kind: engine.TRTLLMServe, page: []string{engine.UnnamedModel},
			facts: []engine.ModelFacts{{Name: "qwen"}},
			ids:   map[string]string{engine.UnnamedModel: "qwen", "": "qwen", "qwen": "qwen"},
		},
		{
			name: "a server that names nothing is unknown", kind: engine.TRTLLMServe, page: []string{engine.UnnamedModel},
			ids: map[string]string{engine.UnnamedModel: "unknown"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := engine.NewTopology(of(t, tc.kind), tc.page, tc.facts, tc.configured)
			for model, id := range tc.ids {
				require.Equal(t, id, got.ModelID(model), model)
			}
			for model, role := range tc.roles {
				require.Equal(t, role, got.Role(model), model)
			}
			for _, model := range template {
				require.Equal(t, model == "postprocessing" && len(tc.behind) > 0 && tc.behind[0] == model, got.Behind(model), model)
			}
			for _, model := range tc.behind {
				require.True(t, got.Behind(model), model)
			}
			require.True(t, got.Equal(engine.NewTopology(of(t, tc.kind), tc.page, tc.facts, tc.configured)))
		})
	}
}
