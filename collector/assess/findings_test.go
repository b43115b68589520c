package assess_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// tritonText is a page of a Triton with one model loaded and one unloaded.
const tritonText = `nv_inference_request_success{model="llm",version="1"} 3
nv_inference_request_failure{model="llm",reason="OTHER",version="1"} 0
nv_inference_request_failure{model="gone",reason="OTHER",version="1"} 2
nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="llm",version="1"} 64
nv_inference_first_response_histogram_ms_bucket{model="llm",version="1",le="100"} 3
nv_inference_first_response_histogram_ms_bucket{model="llm",version="1",le="+Inf"} 3
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 1024
`

// triton returns a basis with a page, an index and one config.
func triton(t *testing.T) assess.Basis {
	t.Helper()
	e, ok := engine.ByName("triton")
	require.True(t, ok, "triton is a kind")
	page := pageOf(t, e, tritonText)
	facts := &engine.Facts{
		EngineVersion: "2.64.0",
		BuildVersion:  "1.0.0",
		Listed:        true,
		Models: []engine.ModelFacts{{
			Name:         "llm",
			Version:      "1",
			State:        "READY",
			Configured:   true,
			Backend:      "tensorrtllm",
			MaxBatchSize: 8,
			Decoupled:    true,
			Instances:    []engine.InstanceGroup{{Kind: "KIND_GPU", Count: 1, GPUs: []int{0}}},
			Batching:     &engine.DynamicBatching{},
			Parameters:   map[string]string{"gpt_model_type": "inflight_fused_batching"},
			ConfigHash:   strings.Repeat("0123456789abcdef", 4),
		}},
		Problems: []engine.Problem{{Question: "GET /v2", Reason: "no answer in time"}},
	}
	return assess.Basis{
		Engine:        e,
		Topology:      engine.NewTopology(e, page.NamedModels(), facts.Models, nil),
		EngineVersion: "2.64.0",
		TRTLLMVersion: "1.1.0",
		Expect:        &assess.Expectations{},
		Knowledge: engine.Knowledge{
			Facts: facts,
			Page:  page,
			Health: engine.Health{
				API:    engine.APIReady,
				Detail: "the API answers 200",
				Models: []engine.ModelState{
					{Name: "llm", Version: "1", State: "READY"}, {Name: "never", State: "LOADING"},
				},
			},
		},
	}
}

// pageOf parses the text of a page.
func pageOf(t *testing.T, e *engine.Kind, text string) *engine.Page {
	t.Helper()
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	block, err := cache.Parse([]byte(text), "text/plain", nil)
	require.NoError(t, err)
	return engine.ReadPage(e, block)
}

// after examines a basis with a change.
func after(t *testing.T, change func(*assess.Basis)) *assess.Findings {
	t.Helper()
	b := triton(t)
	change(&b)
	return assess.Examine(&b)
}

// same does not change a basis.
func same(*assess.Basis) {}

func TestSeriesAreRecomputedOnlyAfterChange(t *testing.T) {
	b := triton(t)
	k := assess.Examine(&b)
	again := b
	require.True(t, k.RestsOn(&again), "the same basis again")
	require.False(t, (*assess.Findings)(nil).RestsOn(&b), "a series without findings depends on none")
	for name, change := range map[string]func(*assess.Basis){
		"another kind": func(b *assess.Basis) { b.Engine = engine.None() },
		"other models": func(b *assess.Basis) {
			b.Topology = engine.NewTopology(b.Engine, engine.NamedModels{}, nil, nil)
		},
		"another version":          func(b *assess.Basis) { b.EngineVersion = "2.65.0" },
		"another TensorRT-LLM":     func(b *assess.Basis) { b.TRTLLMVersion = "1.2.0" },
		"other facts":              func(b *assess.Basis) { b.Facts = &engine.Facts{} },
		"no page":                  func(b *assess.Basis) { b.Page = nil },
		"a missing page":           func(b *assess.Basis) { b.MissingPage = true },
		"a failing API":            func(b *assess.Basis) { b.Health.API = engine.APIFailed },
		"another answer of it":     func(b *assess.Basis) { b.Health.Detail = "the API is restricted" },
		"a model in another state": func(b *assess.Basis) { b.Health.Models = b.Health.Models[:1] },
	} {
		other := b
		change(&other)
		require.False(t, k.RestsOn(&other), name)
	}
}

func TestChecks(t *testing.T) {
	k := after(t, same)
	for i, name := range []string{"expectations", "objectives", "capabilities", "determinism", "unanswered"} {
		require.Equal(
			t, []string{name, name}, []string{k.Checks[i].Name, assess.Lists()[i].Name},
			"the order in which they are shown",
		)
	}
	require.Len(t, k.Checks, len(assess.Lists()))
	require.Equal(t, []target.Check{{Name: "GET /v2", Reason: "no answer in time"}}, k.List(assess.Unanswered))
	require.Len(t, k.List(assess.Capabilities), len(engine.CapabilityNames()))
	require.NotEmpty(t, k.List(assess.Determinism))
	require.Empty(t, k.List(assess.Expected), "nothing is expected")
	require.Equal(t, []string{"metric set A", "1.0.0"}, []string{k.Generation, k.BuildVersion()})

	down := after(t, func(b *assess.Basis) { b.Page = nil })
	require.Empty(t, down.List(assess.Capabilities), "nothing is known of a server that is down")
	require.Empty(t, down.List(assess.Determinism))
	require.Empty(t, down.Generation)
	missing := after(t, func(b *assess.Basis) { b.Page, b.MissingPage = nil, true })
	require.Len(
		t, missing.List(assess.Capabilities), len(engine.CapabilityNames()),
		"for one without a page there is what would give it one",
	)
}

// TestUnknownTensorRTLLMVersion uses releases of Triton whose stock image has none,
// or none that is stated.
func TestUnknownTensorRTLLMVersion(t *testing.T) {
	for _, c := range []struct{ release, version, want string }{
		{"2.71.0", "1.2.1", ""},
		{"2.72.0", "unknown", "no table states the TensorRT-LLM of 26.08"},
		{"2.75.0", "unknown", "26.11 says that no image with TensorRT-LLM is included"},
		{"2.75.0", "1.2.1", ""},
		{"9.9.9", "unknown", ""},
	} {
		b := triton(t)
		b.Facts.EngineVersion, b.Facts.Problems, b.TRTLLMVersion = c.release, nil, c.version
		reason := ""
		for _, check := range assess.Examine(&b).List(assess.Unanswered) {
			reason = check.Reason
			require.Contains(t, check.Cure, "metrics module of deploy/triton/llmapi")
		}
		require.Equal(t, c.want, reason, c)
	}
}

func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *assess.Basis)
		want   []string
		unmet  string
	}{
		{
			"the expected version", func(b *assess.Basis) { b.Expect.EngineVersion = "2.64.0" },
			[]string{"engine_version true 2.64.0, as the pool expects"},
			"",
		},
		{
			"another version", func(b *assess.Basis) { b.Expect.EngineVersion = "2.65.0" },
			[]string{"engine_version false 2.64.0, pool expects 2.65.0"},
			"unexpected engine_version",
		},
		{
			"a reported version takes precedence over a declared one",
			func(b *assess.Basis) { b.Expect.EngineVersion, b.EngineVersion = "2.64.0", "2.60.0" },
			[]string{"engine_version true 2.64.0, as the pool expects"},
			"",
		},
		{
			"a declared version without a reported one",
			func(b *assess.Basis) { b.Expect.EngineVersion, b.Facts = "2.64.0", nil },
			[]string{"engine_version true 2.64.0, as the pool expects"},
			"",
		},
		{
			"a reported version of TensorRT-LLM",
			func(b *assess.Basis) { b.Expect.TRTLLMVersion, b.Facts.TRTLLMVersion = "1.1.0", "1.2.0" },
			[]string{"trtllm_version false 1.2.0, pool expects 1.1.0"},
			"unexpected trtllm_version",
		},
		{"a version of TensorRT-LLM on the page", func(b *assess.Basis) {
			b.Page = pageOf(t, b.Engine, tritonText+"nv_llmapi_info{model=\"llm\",tensorrt_llm_version=\"1.2.0\"} 1\n")
			b.Expect.TRTLLMVersion = "1.1.0"
		}, []string{"trtllm_version false 1.2.0, pool expects 1.1.0"}, "unexpected trtllm_version"},
		{
			"an unknown version is not a mismatch",
			func(b *assess.Basis) { b.Expect.TRTLLMVersion, b.TRTLLMVersion = "1.1.0", "unknown" }, nil, "",
		},
		{"nor is none", func(b *assess.Basis) { b.Expect.TRTLLMVersion, b.TRTLLMVersion = "1.1.0", "" }, nil, ""},
		{
			"two different versions",
			func(b *assess.Basis) { b.Expect.EngineVersion, b.Expect.TRTLLMVersion = "1", "2" },
			[]string{"engine_version false 2.64.0, pool expects 1", "trtllm_version false 1.1.0, pool expects 2"},
			"unexpected engine_version, trtllm_version",
		},
		{
			"unmet determinism", func(b *assess.Basis) { b.Expect.Determinism = true },
			[]string{"determinism false failed checks of the determinism profile: single_request, versions_pinned"},
			"unexpected determinism",
		},
		{"determinism of a down server", func(b *assess.Basis) { b.Expect.Determinism, b.Page = true, nil }, nil, ""},
		{
			"an unrecognized replica", func(b *assess.Basis) { b.Expect.EngineVersion, b.Topology = "2.65.0", nil },
			nil, "",
		},
		{"no expectations", func(b *assess.Basis) { b.Expect = nil }, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := after(t, c.change)
			var got []string
			for _, check := range k.List(assess.Expected) {
				got = append(got, fmt.Sprint(check.Name, " ", check.OK, " ", check.Reason))
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.unmet, k.Unmet())
		})
	}
	met := after(t, func(b *assess.Basis) {
		b.Expect.Determinism, b.Declared = true, engine.Pins{EngineVersion: true, TRTLLMVersion: true}
		b.Engine = engine.None()
	})
	require.Equal(
		t, []target.Check{{Name: "determinism", OK: true, Reason: "all checks of the determinism profile hold"}},
		met.List(assess.Expected),
	)
}

func TestModelsFromIndexConfigsAndPage(t *testing.T) {
	lines := func(k *assess.Findings) []string {
		var all []string
		for _, m := range k.Models {
			all = append(
				all,
				fmt.Sprintf(
					"%s %s %s of %s: %s, config %t", m.Name, m.Version, m.Role, m.ModelID, m.State,
					m.MaxBatchSize != nil,
				),
			)
		}
		return all
	}
	require.Equal(t, []string{
		"gone  unknown of gone: unavailable, config false",
		"llm 1 single of llm: ready, config true",
		"never  single of never: loading, config false",
	}, lines(after(t, same)))
	require.Equal(
		t,
		[]string{
			"gone  unknown of gone: unavailable, config false",
			"llm 1 single of llm: ready, config true",
		},
		lines(after(t, func(b *assess.Basis) { b.Health.Models = nil })),
		"facts stand in for an index that was not told",
	)
	require.Equal(t, []string{
		"llm 1 single of llm: ready, config true", "llm 2 single of llm: ready, config true",
	}, lines(after(t, func(b *assess.Basis) {
		b.Page = nil
		b.Health.Models = []engine.ModelState{
			{Name: "llm", Version: "2", State: "READY"},
			{Name: "llm", Version: "1", State: "READY"},
			{Name: "llm", Version: "1", State: "LOADING"},
			{Name: engine.UnnamedModel},
		}
	})), "each version once, in order, and none without a name")
	require.Nil(t, after(t, func(b *assess.Basis) { b.Topology = nil }).Models)

	m := after(t, same).Models[1]
	require.Equal(t, "tensorrtllm", m.Backend)
	require.Equal(t, []any{8, true, true, 1}, []any{*m.MaxBatchSize, *m.Decoupled, *m.Batching, *m.Instances})
	bare := after(t, func(b *assess.Basis) {
		b.Facts.Models[0].Instances, b.Facts.Models[0].Batching = nil, nil
	}).Models[1]
	require.Nil(t, bare.Instances)
	require.False(t, *bare.Batching, "a model without batching")

	many := after(t, func(b *assess.Basis) {
		b.Health.Models = nil
		for i := range 300 {
			b.Health.Models = append(b.Health.Models, engine.ModelState{Name: fmt.Sprintf("m%03d", i), State: "READY"})
		}
	})
	require.Len(t, many.Models, 256)
	told := strings.Count(text(many.Series(labels.EmptyLabels())), `state="ready"`)
	require.Equal(t, 256, told, "one of them is on the page only")
	require.Equal(t, map[string]int{"unavailable": 46}, many.LeftOut, "the page counts none of them")
}

// text returns series as text, in order.
func text(series []assess.Series) string {
	var b strings.Builder
	for _, s := range series {
		fmt.Fprintf(&b, "%s%s %g\n", strings.TrimPrefix(s.Family, "llm_server_"), s.Labels, s.Value)
	}
	return b.String()
}

// TestIndexModelsHaveNoDuplicateSeries lists a model twice, or two versions of it.
func TestIndexModelsHaveNoDuplicateSeries(t *testing.T) {
	listed := func(second engine.ModelState) string {
		return text(
			after(t, func(b *assess.Basis) { b.Health.Models = append(b.Health.Models[:1:1], second) }).Series(
				labels.EmptyLabels(),
			),
		)
	}
	twice := listed(engine.ModelState{Name: "llm", Version: "1", State: "UNAVAILABLE"})
	require.Equal(t, 1, strings.Count(twice, `model_state{model="llm"`))
	require.Contains(t, twice, `model_state{model="llm", model_id="llm", state="ready", version="1"} 1`)
	versions := listed(engine.ModelState{Name: "llm", Version: "2", State: "READY"})
	for family, n := range map[string]int{
		"model_parameters_info{": 1, "model_config_hash_info{": 1, "model_info{backend": 2,
	} {
		require.Equal(t, n, strings.Count(versions, family), family)
	}
}

func TestModelsThatSomebodyUnloadedAreTold(t *testing.T) {
	for reason, want := range map[string]bool{"unloaded": true, "failed to load": false, "": false} {
		got := text(after(t, func(b *assess.Basis) {
			b.Health.Models = append(b.Health.Models[:1:1], engine.ModelState{
				Name: "old", Version: "1", State: engine.ModelUnavailable, Reason: reason,
			})
		}).Series(labels.EmptyLabels()))
		told := strings.Contains(got, `model_unloaded{model="old", model_id="old", version="1"} 1`)
		require.Equal(t, want, told, "reason %q", reason)
	}
}

func TestReplicaSeries(t *testing.T) {
	own := labels.FromStrings("pool_id", "p")
	k := after(t, func(b *assess.Basis) {
		b.Health.Models = b.Health.Models[:1]
		b.Expect.EngineVersion, b.Expect.TRTLLMVersion = "2.64.0", "9"
	})
	got := text(k.Series(own))
	models, _, _ := strings.Cut(got, "capability{")
	require.Equal(t, `model_state{model="gone", model_id="gone", pool_id="p", state="ready"} 0
model_state{model="gone", model_id="gone", pool_id="p", state="unavailable"} 1
model_state{model="llm", model_id="llm", pool_id="p", state="ready", version="1"} 1
model_info{model="gone", model_id="gone", pool_id="p", role="unknown"} 1
model_info{backend="tensorrtllm", decoupled="true", dynamic_batching="true", instance_count="1", max_batch_size="8", model="llm", model_id="llm", pool_id="p", role="single", version="1"} 1
model_parameters_info{gpt_model_type="inflight_fused_batching", model="llm", model_id="llm", pool_id="p"} 1
model_config_hash_info{model="llm", model_id="llm", pool_id="p", sha256="0123456789ab"} 1
engine_build_info{pool_id="p", version="1.0.0"} 1
expectation_mismatch{fact="engine_version", pool_id="p"} 0
expectation_mismatch{fact="trtllm_version", pool_id="p"} 1
`, models)
	value := map[bool]int{true: 1}
	told := make(map[string]int)
	for _, c := range k.List(assess.Capabilities) {
		series := fmt.Sprintf("capability{capability=%q, pool_id=\"p\"}", c.Name)
		if !c.OK && !c.Curable() {
			told["never"]++
			require.NotContains(t, got, series, "nothing at this server would give it")
			continue
		}
		told[strconv.FormatBool(c.OK)]++
		require.Contains(t, got, fmt.Sprintf("%s %d\n", series, value[c.OK]))
	}
	require.Len(t, told, 3, "%v", told)
	for _, c := range k.List(assess.Determinism) {
		require.Contains(t, got, fmt.Sprintf("determinism_profile{check=%q, pool_id=\"p\"} %d\n", c.Name, value[c.OK]))
	}
	require.NotContains(t, "\n"+got, "\n{", "questions have no series")
	require.Nil(t, (*assess.Findings)(nil).Series(own))
	nameless := text(after(t, func(b *assess.Basis) {
		b.Topology, b.Health.Models[0].State, b.Health.Models[0].Reason = nil, engine.ModelUnavailable, "unloaded"
	}).Series(own))
	require.Contains(t, nameless, `model_unloaded{model="llm", model_id="unknown"`)
}

// TestLabelsMatchCatalog uses a model with all facts.
func TestLabelsMatchCatalog(t *testing.T) {
	k := after(t, func(b *assess.Basis) {
		m := &b.Facts.Models[0]
		m.Platform, m.Parameters = "tensorrt_plan", make(map[string]string)
		for _, name := range engine.ModelParameters() {
			m.Parameters[name] = "x"
		}
		b.Expect.EngineVersion, b.Objectives = "2.64.0", []target.Check{{Name: "ttft", OK: true}}
	})
	shown := make(map[string]map[string]bool)
	for _, s := range k.Series(labels.EmptyLabels()) {
		if shown[s.Family] == nil {
			shown[s.Family] = make(map[string]bool)
		}
		s.Labels.Range(func(l labels.Label) { shown[s.Family][l.Name] = true })
	}
	for _, f := range assess.Catalogue() {
		if got := shown[f.Name]; got != nil {
			require.Equal(t, f.Labels, slices.Sorted(maps.Keys(got)), f.Name)
			delete(shown, f.Name)
		}
	}
	require.Empty(t, shown, "families that the catalogue has not got")
	require.Len(t, assess.Metadata(), len(assess.Catalogue()), "each once")
}

func TestReplicasWithoutOutcomes(t *testing.T) {
	counted := after(t, func(b *assess.Basis) {
		b.Facts.Models[0].Decoupled = false
		b.Page = pageOf(t, b.Engine, tritonText+"nv_inference_request_duration_us{model=\"llm\",version=\"1\"} 9\n")
	})
	require.Empty(t, counted.Unobservable(), "the page shows them")
	k := after(t, same)
	i := slices.IndexFunc(k.List(assess.Capabilities), func(c target.Check) bool {
		return c.Name == engine.CanOutcomes
	})
	require.Equal(t, k.List(assess.Capabilities)[i].Reason, k.Unobservable(), "a page without durations counts nothing")
	require.NotEmpty(t, k.Unobservable())
	k.Canary = true
	require.Empty(t, k.Unobservable(), "the canary sees them")
}

func TestReplicaSkewFacts(t *testing.T) {
	facts := after(t, same).Skew()
	require.Equal(t, target.SkewFacts{
		"engine_version":    {"triton": "2.64.0"},
		"trtllm_version":    {"triton": "1.1.0"},
		"config_hash":       {"triton llm": strings.Repeat("0123456789abcdef", 4)},
		"kv_block_tokens":   {"triton": "64"},
		"histogram_buckets": {"triton nv_inference_first_response_histogram_ms": "+Inf 100"},
		"gpu":               {"triton": "1x 1024 bytes"},
	}, facts)
	for fact := range facts {
		require.True(t, slices.Contains(assess.SkewFacts(), fact), fact)
	}
	require.Len(t, facts, len(assess.SkewFacts()))
	require.NotContains(
		t, after(t, func(b *assess.Basis) { b.EngineVersion = "unknown" }).Skew(), "engine_version",
		"what is not known is compared with nothing",
	)
	require.Nil(
		t, after(t, func(b *assess.Basis) { b.Page = nil }).Skew(), "a replica that is gone is of no other version",
	)
	require.Nil(t, after(t, func(b *assess.Basis) { b.Topology = nil }).Skew())
}

func TestSkewCountsDistinctValues(t *testing.T) {
	a := target.SkewFacts{"config_hash": {"llm": "1", "pre": "1"}, "gpu": {"": "A"}}
	b := target.SkewFacts{"config_hash": {"llm": "2", "pre": "1"}, "gpu": {"": "A"}}
	c := target.SkewFacts{"config_hash": {"llm": "3"}}
	version := func(kind, version string) target.SkewFacts {
		return target.SkewFacts{"engine_version": {kind: version}}
	}
	for _, one := range []struct {
		name, fact string
		replicas   []target.SkewFacts
		want       int // -1 if it is unknown.
	}{
		{"equal replicas", "gpu", []target.SkewFacts{a, b}, 0},
		{"a replica without the fact does not count", "gpu", []target.SkewFacts{a, c, nil}, 0},
		{"the item with the most values counts", "config_hash", []target.SkewFacts{a, b, c}, 2},
		{
			"another kind of server has its own versions", "engine_version",
			[]target.SkewFacts{version("vllm", "0.32.0"), version("sglang", "0.5.23"), version("vllm", "0.32.0")},
			0,
		},
		{
			"and replicas of one kind differ in a pool of several", "engine_version",
			[]target.SkewFacts{version("vllm", "0.32.0"), version("sglang", "0.5.23"), version("vllm", "0.31.0")},
			1,
		},
		{"no replica exposes it", "kv_block_tokens", []target.SkewFacts{a, b}, -1},
		{"no replicas", "gpu", nil, -1},
	} {
		got, known := assess.SkewOf(one.fact, one.replicas)
		require.Equal(t, one.want, got, one.name)
		require.Equal(t, one.want >= 0, known, one.name)
	}
}

func TestOutputsAreComparedWithinGroups(t *testing.T) {
	for answers, want := range map[string]int{ // Groups with their outputs; 0 if no two can be compared.
		"v1=x v1=x": 1, "v1=x v1=y": 2, "v1=x v2=y": 0, "v1=x v1=x v2=x v2=y": 2, "v1=x v1=x v2=y": 1, "": 0,
	} {
		var all []*target.Canary
		for answer := range strings.FieldsSeq(answers) {
			group, output, _ := strings.Cut(answer, "=")
			all = append(all, &target.Canary{Group: group, Output: output})
		}
		got, compared := assess.DistinctOutputs(all)
		require.Equal(t, want, got, answers)
		require.Equal(t, want > 0, compared, answers)
	}
}

// TestWrongEngineIsTheReason has a page of another kind than the configured one: what it lacks no flag of that kind brings.
func TestWrongEngineIsTheReason(t *testing.T) {
	const reason = "the page looks like that of triton, engine says vllm"
	f := after(t, func(b *assess.Basis) { b.Mismatch = reason })
	lacking := 0
	for _, c := range f.List(assess.Capabilities) {
		if !c.OK {
			lacking++
			require.Equal(t, reason, c.Reason, c.Name)
			require.Equal(t, "correct engine or leave it out", c.Cure, c.Name)
		}
	}
	require.Positive(t, lacking)
}
