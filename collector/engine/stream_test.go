package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestStreamFormats(t *testing.T) {
	worker := readPage(t, engine.Dynamo, []byte("# TYPE dynamo_component_requests_total counter\n"+
		"dynamo_component_requests_total 1\n"))
	front := readPage(t, engine.Dynamo, []byte("# TYPE dynamo_frontend_requests_total counter\n"+
		"dynamo_frontend_requests_total{model=\"m\"} 1\n"))
	for _, c := range []struct {
		name string
		kind engine.Name
		page *engine.Page
		want engine.Stream
		why  string
	}{
		{"trtllm-serve", engine.TRTLLMServe, nil, engine.Stream{Usage: true, Seed: true, IgnoreEOS: true}, ""},
		{"Triton's OpenAI frontend", engine.TritonOpenAI, nil, engine.Stream{Usage: true}, ""},
		{"NIM knows no options", engine.NIM, nil, engine.Stream{}, ""},
		{"Dynamo's frontend", engine.Dynamo, front, engine.Stream{Usage: true}, ""},
		{
			"a worker of Dynamo", engine.Dynamo, worker,
			engine.Stream{},
			"a worker of Dynamo has no API for clients; enable the canary for its frontend",
		},
		{"an unrecognized server", engine.Unknown, nil, engine.Stream{}, "the server was not recognised yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, why := engineOf(t, c.kind).Stream("unknown", c.page)
			require.Equal(t, c.want, got)
			require.Equal(t, c.why, why)
		})
	}
}

func TestCanarySkipsTritonThatMayCrash(t *testing.T) {
	for version, why := range map[string]string{
		"2.41.0": "", "2.64.0": "", "2.73.0dev": "",
		"2.40.0": "before 23.12 (2.41) an aborted stream may crash Triton", "2.36.0": "before 23.12",
		"": "the version of Triton is not known", "unknown": "set engine_version",
	} {
		got, reason := engineOf(t, engine.Triton).Stream(version, nil)
		require.Equal(t, why == "", reason == "", version)
		require.Contains(t, reason, why)
		require.Equal(t, engine.Stream{Generate: why == ""}, got)
	}
}

func TestEntryModel(t *testing.T) {
	ensemble := engine.ModelFacts{Name: "chat", Configured: true, Platform: "ensemble", Steps: []string{"pre", "llm"}}
	for _, c := range []struct {
		name   string
		kind   engine.Name
		onPage []string
		models []engine.ModelFacts
		want   string
		why    string
	}{
		{"nothing is known", engine.Triton, nil, nil, "", "no model of the server is known yet"},
		{"the only model", engine.TRTLLMServe, nil, named("llama"), "llama", ""},
		{"the ensemble by its config", engine.Triton, nil, append(named("pre", "llm"), ensemble), "chat", ""},
		{
			"the ensemble of the template, not its twin", engine.Triton,
			[]string{"ensemble", "preprocessing", "tensorrt_llm", "postprocessing", "tensorrt_llm_bls"},
			nil, "ensemble", "",
		},
		{
			"the BLS model alone", engine.Triton,
			[]string{"preprocessing", "tensorrt_llm", "postprocessing", "tensorrt_llm_bls"},
			nil, "tensorrt_llm_bls", "",
		},
		{
			"the names listed by an OpenAI frontend", engine.TritonOpenAI, nil,
			named("ensemble", "preprocessing", "tensorrt_llm", "postprocessing", "tensorrt_llm_bls"),
			"ensemble", "",
		},
		{"the listed model, not that of the page", engine.NIM, []string{"adapter"}, named("zephyr"), "zephyr", ""},
		{"the base model before its adapters", engine.NIM, nil, named("zephyr", "adapter"), "zephyr", ""},
		{
			"two models of one Triton", engine.Triton,
			[]string{"bert", "resnet"},
			nil, "",
			"clients may call any of bert, resnet; set canary.model",
		},
		{"two deployments in one Triton", engine.Triton, nil, []engine.ModelFacts{
			ensemble, {
				Name:       "other",
				Configured: true,
				Platform:   "ensemble",
				Steps:      []string{"llm2"},
			}, {Name: "pre"}, {Name: "llm"}, {Name: "llm2"},
		}, "", "clients may call any of chat, other; set canary.model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, why := engine.NewTopology(engineOf(t, c.kind), engine.NamedModels{Names: c.onPage}, c.models, nil).
				EntryModel()
			require.Equal(t, c.want, name)
			require.Equal(t, c.why, why)
		})
	}
}

func TestCanaryIsSourceOfFirstTokensOnly(t *testing.T) {
	page := readPage(t, engine.TritonOpenAI, []byte("nv_inference_count{model=\"m\",version=\"1\"} 1\n"))
	for _, name := range engine.CapabilityNames() {
		off := capability(t, engine.TritonOpenAI, name, &engine.Knowledge{Page: page})
		on := capability(t, engine.TritonOpenAI, name, &engine.Knowledge{Page: page, Canary: true})
		if name != engine.CanTTFT {
			require.Equal(t, off, on)
			continue
		}
		require.Contains(t, off, "canary: { enabled: true }")
		require.Contains(t, on, "true, the canary, for its own requests only")
	}
}
