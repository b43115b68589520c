package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// pages parses consecutive pages of one server.
func pages(t *testing.T, kind engine.Name) func(lines ...string) *exposition.Block {
	t.Helper()
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(engineOf(t, kind))})
	return func(lines ...string) *exposition.Block {
		block, err := cache.Parse([]byte(strings.Join(lines, "\n")+"\n"), "", nil)
		require.NoError(t, err)
		return block
	}
}

func TestWatchedSamples(t *testing.T) {
	for _, c := range []struct {
		kind         engine.Name
		watched, not string
	}{
		{
			engine.Triton, "nv_inference_request_success nv_llm_output_token_len_bucket " +
				"nv_llm_output_token_len_sum nv_inference_request_summary_us vllm:anything " +
				"vllm:e2e_request_latency_seconds_sum",
			"nv_inference_request_duration_ms nv_inference_first_response_histogram_ms vllm:anything_sum " +
				"vllm:anything_count dynamo_frontend_x trtllm_request_success_total",
		},
		{
			engine.TRTLLMServe, "request_success_total trtllm_request_success_total trtllm_model_config_info " +
				"trtllm_e2e_request_latency_seconds_count",
			"trtllm:request_success_total trtllm_x vllm:x nv_inference_request_success num_request_max",
		},
		{
			engine.Dynamo, "dynamo_frontend_x dynamo_component_x trtllm:request_success_total " +
				"trtllm_request_success_total vllm:x sglang:num_queue_reqs nv_inference_request_success " +
				"dynamo_frontend_model_ready",
			"dynamo_x dynamo_frontend_x_sum dynamo_component_x_count nv_inference_request_x",
		},
		{engine.NIM, "num_request_max request_finish_total", "nv_x vllm:x"},
		{engine.Unknown, "vllm:x dynamo_frontend_x", "vllm:x_sum nv_inference_request_success request_success_total"},
	} {
		watch := engine.Watch(engineOf(t, c.kind))
		for name := range strings.FieldsSeq(c.watched) {
			require.True(t, watch(name), "%s: %s", c.kind, name)
		}
		for name := range strings.FieldsSeq(c.not) {
			require.False(t, watch(name), "%s: %s", c.kind, name)
		}
	}
}

func TestPageSources(t *testing.T) {
	block := pages(t, engine.Triton)(
		`nv_inference_request_success{model="a",version="1"} 5`,
		`nv_inference_request_failure{model="a",version="1",reason="OTHER"} 1`,
		`nv_inference_request_failure{model="gone",version="2"} 7`,
		`nv_trt_llm_request_metrics{model="a",request_type="active",version="1"} 3`,
		`nv_trt_llm_request_metrics{model="a",request_type="of no meaning",version="1"} 9`,
		`nv_trt_llm_request_metrics{model="gone",request_type="max",version="2"} 8`,
		`nv_llm_output_token_len_sum{model="a",version="1"} 40`,
		`nv_trt_llm_general_metrics{general_type="iteration_counter",model="a",version="1"} 6`,
		`nv_llmapi_iterations_total{model="api",version="1"} 4`,
		`nv_gpu_utilization{gpu_uuid="g"} 0.5`,
		`vllm:num_requests_running{model_name="b"} 2`,
		`vllm:of_no_rule{model_name="c"} 2`,
	)
	page := engine.ReadPage(engineOf(t, engine.Triton), block)
	var got []string
	for _, s := range page.Sources() {
		v := block.Number(s.Place)
		got = append(
			got,
			fmt.Sprintf(
				"%s %s/%s of %s unloaded=%v part=%d %v",
				s.Meaning.Signal,
				s.Model,
				s.Version,
				s.Labels.Get("__name__"),
				s.Unloaded,
				s.Part,
				v,
			),
		)
	}
	require.Equal(t, []string{
		"gpu_utilization_ratio / of nv_gpu_utilization unloaded=false part=0 0.5",
		"model_requests_failed_total a/1 of nv_inference_request_failure unloaded=false part=0 1",
		"model_requests_failed_total gone/2 of nv_inference_request_failure unloaded=true part=0 7",
		"model_requests_success_total a/1 of nv_inference_request_success unloaded=false part=0 5",
		"generation_tokens_total a/1 of nv_llm_output_token_len_sum unloaded=false part=0 40",
		"request_generation_tokens a/1 of nv_llm_output_token_len_sum unloaded=false part=3 40",
		"engine_iterations_total api/1 of nv_llmapi_iterations_total unloaded=true part=0 4",
		"engine_iterations_total a/1 of nv_trt_llm_general_metrics unloaded=false part=0 6",
		"requests_active a/1 of nv_trt_llm_request_metrics unloaded=false part=0 3",
		"requests_limit gone/2 of nv_trt_llm_request_metrics unloaded=true part=0 8",
		"requests_running b/ of vllm:num_requests_running unloaded=true part=0 2",
	}, got)
	require.Equal(t, engine.NamedModels{
		Names:     []string{"a", "api", "b", "c", "gone"},
		Executors: []string{"a"},
		Inner:     []string{"b"},
	}, page.NamedModels())
	require.Same(t, block.Shape(), page.Shape())
}

func TestLoadedModels(t *testing.T) {
	page := readPage(t, engine.Triton, []byte(`nv_inference_request_success{model="b"} 5
nv_inference_request_failure{model="b"} 1
nv_inference_request_success{model="a"} 0
nv_inference_request_failure{model="gone"} 7
nv_trt_llm_request_metrics{model="gone",request_type="max"} 8
nv_trt_llm_request_metrics{model="not counted",request_type="active"} 8
nv_llm_input_token_len_bucket{le="1",model="gone"} 8
nv_llm_output_token_len_bucket{le="1",model="a"} 8
`))
	require.Equal(t, []string{"a", "b", "gone"}, page.Models())
	for name, want := range map[string]bool{"a": true, "b": true, "gone": false, "of another page": false} {
		loaded, known := page.Loaded(name)
		require.True(t, known, name)
		require.Equal(t, want, loaded, name)
	}
	require.False(t, page.Has(engine.RequestsLimit), "what is left of a model says nothing of the server")
	_, known := page.Value(engine.RequestsLimit)
	require.False(t, known, "the limit has no value")
	require.True(t, page.Has(engine.RequestsActive), "it has active requests")
	require.Equal(t, map[string]string{"nv_llm_output_token_len": "1"}, page.Buckets())
	require.False(t, page.HasName("nv_llm_input_token_len_bucket"), "a name of which no model is left")
	require.True(t, page.HasName("nv_trt_llm_request_metrics"), "a name of the page")
	require.False(t, page.HasName("nv_trt_llm_request"), "the beginning of a name is none")
	require.True(t, page.HasPrefix("nv_trt_llm_request"), "the beginning of a name")
	require.False(t, page.HasPrefix("trt_llm"), "the middle of a name is no beginning")

	served := readPage(t, engine.TRTLLMServe, []byte("request_success_total{model_name=\"m\"} 1\n"))
	_, known = served.Loaded("m")
	require.False(t, known, "the page does not say what is loaded")
	for _, s := range served.Sources() {
		require.False(t, s.Unloaded, "%+v is loaded", s)
	}

	nim := readPage(t, engine.NIM, []byte("nv_inference_request_success{model=\"inside\"} 1\n"))
	loaded, known := nim.Loaded("inside")
	require.True(t, loaded && known, "loaded %t, known %t", loaded, known)
	_, known = nim.Loaded("public")
	require.False(t, known, "the page of Triton does not know the name that NIM gives the model")
}

func TestTensorRTLLMVersionFromPage(t *testing.T) {
	for text, want := range map[string]string{
		`nv_llmapi_info{model="llm",module_version="1",tensorrt_llm_version="1.3.0rc14"} 1`:                                             "1.3.0rc14",
		`nv_llmapi_info{model="llm",module_version="1"} 1`:                                                                              "unknown",
		`nv_inference_request_failure{model="llm"} 0` + "\n" + `nv_llmapi_info{model="llm",tensorrt_llm_version="1.2.1"} 0`:             "1.2.1",
		`nv_llmapi_info{model="llm",tensorrt_llm_version="1.2.0"} 1` + "\n" + `nv_llmapi_info{model="other",tensorrt_llm_version=""} 1`: "1.2.0",
	} {
		version, source := (&engine.Facts{}).ResolveVersion(
			engineOf(t, engine.Triton),
			readPage(t, engine.Triton, []byte(text+"\n")),
			"",
		)
		require.Equal(t, want, version)
		require.Equal(t, want != "unknown", source == engine.SourcePage, source)
	}
}

func TestPageValues(t *testing.T) {
	parse := pages(t, engine.Triton)
	lines := func(limit, tokens, stamp, waiting string) []string {
		return []string{
			`nv_inference_request_success{model="m"} 5`,
			`nv_trt_llm_request_metrics{model="m",request_type="max"} ` + limit,
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="m"} ` + tokens,
			`nv_trt_llm_general_metrics{general_type="timestamp",model="m"} ` + stamp,
			`nv_trt_llm_request_metrics{model="m",request_type="waiting"} ` + waiting,
		}
	}
	page := engine.ReadPage(engineOf(t, engine.Triton), parse(lines("0", "0", "0", "0")...))
	_, known := page.Value(engine.RequestsLimit)
	require.False(t, known, "0 before the first iteration")
	for _, c := range []struct {
		name          string
		lines         []string
		changed       bool
		limit, tokens float64
	}{
		{"the first iteration", lines("64", "32", "1700000000000000", "0"), true, 64, 32},
		{"the same except for irrelevant series", lines("64", "32", "1700000005000000", "9"), false, 64, 32},
		{"another limit", lines("8", "32", "1700000005000000", "9"), true, 8, 32},
		{"other blocks", lines("8", "64", "1700000005000000", "9"), true, 8, 64},
		{"another unit of time", lines("8", "64", "1700000005", "9"), true, 8, 64},
		{"the same again", lines("8", "64", "1700000010", "9"), false, 8, 64},
	} {
		require.Equal(t, c.changed, page.Refresh(parse(c.lines...)), c.name)
		limit, _ := page.Value(engine.RequestsLimit)
		require.Equal(t, c.limit, limit, c.name)
		tokens, _ := page.Value(engine.KVBlockTokens)
		require.Equal(t, c.tokens, tokens, c.name)
	}
}

func TestFrontendWithoutWorkerIsUnrouted(t *testing.T) {
	parse := pages(t, engine.Dynamo)
	lines := func(a, b string) []string {
		return []string{`dynamo_frontend_model_ready{model="a"} ` + a, `dynamo_frontend_model_ready{model="b"} ` + b}
	}
	page := engine.ReadPage(engineOf(t, engine.Dynamo), parse(lines("0", "0")...))
	require.True(t, page.Unrouted(), "no model has a worker")
	require.Equal(t, []string{"a", "b"}, page.UnroutedModels())
	require.True(t, page.Refresh(parse(lines("0", "1")...)), "a worker came")
	require.False(t, page.Unrouted(), "one model is enough")
	require.Equal(t, []string{"a"}, page.UnroutedModels())
	require.False(t, page.Refresh(parse(lines("0", "1")...)), "nothing changed")
	require.Equal(t, []string{"a"}, page.UnroutedModels())
	require.True(t, page.Refresh(parse(lines("1", "1")...)), "the other worker came")
	require.Empty(t, page.UnroutedModels())
	require.True(t, page.Refresh(parse(lines("0", "NaN")...)), "a worker left")
	require.Equal(t, []string{"a"}, page.UnroutedModels())
	require.True(t, page.Refresh(parse(lines("0", "0")...)), "the last worker left")
	require.True(t, page.Unrouted(), "no model has a worker again")
	require.False(
		t,
		readPage(t, engine.Dynamo, []byte("dynamo_frontend_requests_total 1\n")).Unrouted(),
		"it does not say",
	)
}

func TestBucketSpelling(t *testing.T) {
	page := readPage(t, engine.TRTLLMServe, []byte(`# TYPE e2e_request_latency_seconds histogram
e2e_request_latency_seconds_bucket{le="2.50",model_name="m"} 1
e2e_request_latency_seconds_bucket{le="1e0",model_name="m"} 1
e2e_request_latency_seconds_bucket{le="0.5",model_name="m"} 1
e2e_request_latency_seconds_bucket{le="+Inf",model_name="m"} 1
e2e_request_latency_seconds_bucket{le="some",model_name="m"} 1
e2e_request_latency_seconds_sum{model_name="m"} 1
`))
	require.Equal(t, map[string]string{"e2e_request_latency_seconds": "+Inf 0.5 1 2.5 some"}, page.Buckets())
}

func TestGPUs(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  engine.Name
		lines string
		want  string
	}{
		{
			"by name and number", engine.TRTLLMServe,
			"trtllm_model_config_info{gpu_type=\"NVIDIA H100\"} 1\ntrtllm_parallel_config_info{gpu_count=\"8\"} 1\n",
			"8x NVIDIA H100",
		},
		{"by name", engine.TRTLLMServe, "trtllm_model_config_info{gpu_type=\"NVIDIA H100\"} 1\n", "1x NVIDIA H100"},
		{
			"an invalid number", engine.TRTLLMServe,
			"trtllm_parallel_config_info{gpu_count=\"some\"} 1\ntrtllm_model_config_info{gpu_type=\"L4\"} 1\n",
			"1x L4",
		},
		{
			"by the process that reports it", engine.TRTLLMServe,
			"trtllm_model_config_info{gpu_type=\"L4\",pid=\"1\"} 1\n" +
				"trtllm_model_config_info{gpu_type=\"\",pid=\"2\"} 1\n" +
				"trtllm_parallel_config_info{gpu_count=\"2\",pid=\"1\"} 1\ntrtllm_parallel_config_info{pid=\"2\"} 1\n",
			"2x L4",
		},
		{
			"by the memory of the largest", engine.Triton,
			"nv_gpu_memory_total_bytes{gpu_uuid=\"a\"} 80\nnv_gpu_memory_total_bytes{gpu_uuid=\"b\"} 96\n",
			"2x 96 bytes",
		},
		{
			"by the memory of those that report it", engine.Triton,
			"nv_gpu_memory_total_bytes{gpu_uuid=\"a\"} 80\nnv_gpu_memory_total_bytes{gpu_uuid=\"b\"} Nan\n",
			"2x 80 bytes",
		},
		{"not at all", engine.Triton, "nv_gpu_utilization{gpu_uuid=\"a\"} 1\n", ""},
	} {
		got, ok := readPage(t, c.kind, []byte(c.lines)).GPU()
		require.Equal(t, c.want != "", ok, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

func TestNaNValueIsUnknown(t *testing.T) {
	page := readPage(t, engine.NIM, fmt.Appendf(nil, "num_request_max %v\n", math.NaN()))
	_, ok := page.Value(engine.RequestsLimit)
	require.False(t, ok, "NaN is no value")

	block := pages(t, engine.SGLang)(`sglang:page_size{dp_rank="0"} 64`, `sglang:page_size{dp_rank="1"} NaN`)
	page = engine.ReadPage(engineOf(t, engine.SGLang), block)
	size, ok := page.Value(engine.KVBlockTokens)
	require.True(t, ok, "the other rank says it")
	require.InDelta(t, 64, size, 0)
	require.False(t, page.Refresh(block), "the same page says nothing new")
}

func TestModelsOfSources(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   engine.Name
		page   string
		signal engine.Signal
		want   string // Models and names.
	}{
		{
			"the better name counts for its model alone", engine.Triton,
			`nv_inference_request_success{model="cpp",version="1"} 1
nv_inference_request_success{model="api",version="1"} 1
nv_trt_llm_request_metrics{model="cpp",request_type="active",version="1"} 3
nv_trt_llm_request_metrics{model="api",request_type="active",version="1"} 5
nv_llmapi_requests_in_flight{model="api",model_instance="0",version="1"} 7
`, engine.RequestsActive, "api nv_llmapi_requests_in_flight, cpp nv_trt_llm_request_metrics",
		},
		{
			"the engine's count replaces the worker's", engine.Dynamo,
			`dynamo_component_inflight_requests{dynamo_endpoint="generate",model="org/llama",model_name="org/llama"} 24
vllm:num_requests_running{engine="0",model_name="llama"} 16
`, engine.RequestsActive, "",
		},
		{
			"the other name is where it was loaded from", engine.TRTLLMServe,
			`trtllm_model_config_info{model="/models/llama",model_name="llama"} 1` + "\n",
			engine.ModelConfig, "llama trtllm_model_config_info",
		},
		{
			"a model that Dynamo does not serve", engine.Dynamo,
			`dynamo_frontend_requests_total{model="llama",status="success"} 1
dynamo_frontend_requests_total{model="unknown_model",status="success"} 1
`, engine.RequestsFinished, "llama dynamo_frontend_requests_total",
		},
		{
			"a name as any elsewhere", engine.Triton,
			`nv_inference_request_success{model="unknown_model"} 1` + "\n",
			engine.ModelSuccess, "unknown_model nv_inference_request_success",
		},
	} {
		var got []string
		for _, s := range readPage(t, c.kind, []byte(c.page)).Sources() {
			if s.Meaning.Signal == c.signal {
				got = append(got, s.Model+" "+s.Meaning.Name)
			}
		}
		require.Equal(t, c.want, strings.Join(got, ", "), c.name)
	}
}

func TestInterTokenLatencyNamesOfVLLMInside(t *testing.T) {
	const old, now = "vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds"
	for _, kind := range []engine.Name{engine.Dynamo, engine.Triton, engine.TritonOpenAI} {
		for shown, want := range map[string]string{old: old, now: now, old + " " + now: now} {
			var body strings.Builder
			for name := range strings.FieldsSeq(shown) {
				fmt.Fprintf(&body, "# TYPE %[1]s histogram\n%[1]s_bucket{model_name=\"m\",le=\"+Inf\"} 2\n"+
					"%[1]s_sum{model_name=\"m\"} 1\n%[1]s_count{model_name=\"m\"} 2\n", name)
			}
			page := readPage(t, kind, []byte(body.String()))
			require.Len(t, page.Sources(), 3, "%s with %s", kind, shown)
			for _, s := range page.Sources() {
				require.Equal(t, engine.InterToken, s.Meaning.Signal)
				name := s.Meaning.Name
				require.True(t, strings.HasPrefix(name, want), "%s with %s: %q begins with %q", kind, shown, name, want)
			}
		}
		alone := readPage(t, kind, []byte("vllm:num_preemptions_total 1\n"))
		require.True(t, alone.Has(engine.Preemptions), "the name stands alone on a page")
	}
}
