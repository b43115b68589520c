package engine_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// The name of a simulated server begins with that of its kind, the longest of several.
func TestSimulatedServersAreDetected(t *testing.T) {
	for _, simulated := range simulate.Kinds() {
		t.Run(string(simulated), func(t *testing.T) {
			want := engine.None()
			for _, k := range engine.All() {
				if strings.HasPrefix(string(simulated), string(k.Name)) { // They are sorted.
					want = k
				}
			}
			r := listening(t, replica(t, simulate.Spec{Kind: simulated}, 0))
			found := engine.Detect(t.Context(), newNetwork(t), "http://"+r.MetricsAddr(), true)
			require.Equal(t, want.Name, found.Kind, found.Evidence)
			require.Equal(t, want.Path, found.Path)
			require.NotEmpty(t, found.Evidence)
		})
	}
}

// TestSimulatedPagesShowEverySeries has the servers that need no code in simulate: of the others some
// series belong to releases or modes.
func TestSimulatedPagesShowEverySeries(t *testing.T) {
	for _, simulated := range simulate.Kinds() {
		if simulated.Product() == "" {
			continue
		}
		t.Run(string(simulated), func(t *testing.T) {
			r := replica(t, simulate.Spec{
				Kind:     simulated,
				Workload: simulate.Workload{Rate: 5, OutputTokens: 20, ErrorRate: 0.2},
			}, time.Minute)
			page := "\n" + string(r.Page())
			for _, m := range engineOf(t, engine.Name(simulated)).Meanings() {
				name := m.Name
				if m.Form() != engine.Single {
					name += "_count"
				}
				if m.Inside == "" && !strings.Contains(page, "\n"+name+"{") {
					t.Errorf("its page of collector/simulate has no %s", m.Name)
				}
			}
		})
	}
}

func TestServersAreDetectedInTheirModes(t *testing.T) {
	busy := simulate.Workload{Rate: 5, OutputTokens: 20}
	for _, c := range []struct {
		name   string
		spec   simulate.Spec
		worked time.Duration
		api    bool
		kind   engine.Name
		path   string
	}{
		{
			name: "names of 23.11",
			spec: simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.40.0"},
			kind: engine.Triton,
			path: "/metrics",
		},
		{
			name:   "serve, busy",
			spec:   simulate.Spec{Kind: simulate.KindServe, Workload: busy},
			worked: 20 * time.Second,
			kind:   engine.TRTLLMServe,
			path:   "/prometheus/metrics",
		},
		{
			name:   "serve 1.1, busy",
			spec:   simulate.Spec{Kind: simulate.KindServeOld, Workload: busy},
			worked: 20 * time.Second,
			kind:   engine.TRTLLMServe,
			path:   "/prometheus/metrics",
		},
		{
			name: "serve without its page",
			spec: simulate.Spec{Kind: simulate.KindServe, Setup: simulate.Setup{NoPerfMetrics: true}},
			kind: engine.TRTLLMServe,
			path: "/prometheus/metrics",
		},
		{
			name: "Dynamo frontend",
			spec: simulate.Spec{Kind: simulate.KindDynamo},
			api:  true,
			kind: engine.Dynamo,
			path: "/metrics",
		},
		{
			name:   "vLLM without statistics",
			spec:   simulate.Spec{Kind: simulate.KindVLLM, Setup: simulate.Setup{NoPerfMetrics: true}, Workload: busy},
			worked: 20 * time.Second,
			kind:   engine.VLLM,
			path:   "/metrics",
		},
		{
			name: "SGLang without a page",
			spec: simulate.Spec{Kind: simulate.KindSGLang, Setup: simulate.Setup{NoPerfMetrics: true}},
			kind: engine.SGLang,
			path: "/metrics",
		},
		{
			name: "the API port of Triton shows no page",
			spec: simulate.Spec{Kind: simulate.KindTriton},
			api:  true,
			kind: engine.Unknown,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := listening(t, replica(t, c.spec, c.worked))
			base := "http://" + r.MetricsAddr()
			if c.api {
				base = r.APIURL()
			}
			found := engine.Detect(t.Context(), newNetwork(t), base, true)
			require.Equal(t, c.kind, found.Kind)
			require.Equal(t, c.path, found.Path)
			require.Equal(t, c.kind != engine.Unknown, found.Evidence != "")
		})
	}
}

func TestWrongTritonPortIsNamed(t *testing.T) {
	r := listening(t, replica(t, simulate.Spec{Kind: simulate.KindTriton}, 0))
	require.Contains(t, engine.Hint(t.Context(), newNetwork(t), r.APIURL()), "metrics port")
	require.Empty(t, engine.Hint(t.Context(), newNetwork(t), "http://"+r.MetricsAddr()))
	for about, want := range map[string]bool{
		`{"name":"triton"}`:                        true,
		`{"name":"x","extensions":["statistics"]}`: true,
		`{"name":"x"}`:                             false,
	} {
		require.Equal(t, want, engine.Hint(t.Context(), answers{"/v2": about}, "http://server") != "", about)
	}
}

func TestForeignServersStayUnknown(t *testing.T) {
	for name, server := range map[string]answers{
		"node exporter":     {"/metrics": "# TYPE node_load1 gauge\nnode_load1 0.1\n"},
		"a page of HTML":    {"*": "<html><body>Sign in</body></html>"},
		"an empty answer":   {"*": ""},
		"nothing":           {},
		"a closing port":    {"*": refuses},
		"names in comments": {"/metrics": "# HELP other like nv_inference_count\nother 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want := engine.Detection{Kind: engine.Unknown, Answers: server["*"] != refuses}
			require.Equal(t, want, engine.Detect(t.Context(), server, "http://server", true))
			require.Equal(t, want, engine.Detect(t.Context(), server, "http://server", false))
		})
	}
}

func TestDetectionNeverRequestsJSON(t *testing.T) {
	r := listening(t, replica(t, simulate.Spec{Kind: simulate.KindServe}, 0))
	rec := &recorder{Client: newNetwork(t)}
	require.Equal(t, engine.TRTLLMServe, engine.Detect(t.Context(), rec, r.APIURL(), true).Kind)
	require.NotContains(t, rec.paths, "/metrics", "reading it takes iterations away from other readers")
}

// sampleKinds has the kinds and generations of sample pages; the longest prefix of the name counts.
var sampleKinds = []struct {
	prefix     string
	kind       engine.Name
	generation engine.Generation
}{
	{"GENERATED-prometheus-cpp", engine.Unknown, ""},
	{"GENERATED-triton", engine.Triton, "metric set A"},
	{"GENERATED-trtllm-serve", engine.TRTLLMServe, "prefixed with iteration statistics"},
	{"GENERATED-trtllm-serve-gen1-under", engine.TRTLLMServe, "unprefixed"},
	{"GENERATED-trtllm-serve-gen2-under", engine.TRTLLMServe, "prefixed"},
	{"dynamo", engine.Dynamo, "worker"},
	{"dynamo-trtllm-worker", engine.Dynamo, "worker like trtllm-serve: prefixed"},
	{"nim", engine.NIM, "1.x"},
	{"real-dynamo", engine.Dynamo, "frontend"},
	{"real-dynamo-worker", engine.Dynamo, "worker"},
	{"real-dynamo-worker-after-load", engine.Dynamo, "worker like vllm"},
	{"real-dynamo-worker-under-load", engine.Dynamo, "worker like vllm"},
	{"real-sglang", engine.SGLang, ""},
	{"real-triton", engine.Triton, "metric set B"},
	{"real-triton-2.51-llmapi", engine.Triton, "metric set E"},
	{"real-vllm", engine.VLLM, ""},
	{"triton", engine.Triton, "metric set D"},
	{"triton-trtllm-backend-readme", engine.Triton, "metric set A"},
	{"trtllm-prometheus", engine.TRTLLMServe, "prefixed with iteration statistics"},
	{"trtllm-prometheus-1.1.0", engine.TRTLLMServe, "unprefixed"},
	{"composed-production-stack-router", engine.Unknown, ""},
	{"real-smg", engine.Unknown, ""},
	{"trtllm", engine.Triton, "metric set A"},
	// Excerpts of core series, which reveal no more.
	{"trtllm-readme-23.12-base-zero", engine.Triton, "metric set C"},
	{"trtllm-issue49", engine.Triton, "metric set C"},
}

// apisOfKinds holds what the APIs of real servers answer.
var apisOfKinds = map[engine.Name]answers{
	engine.Triton:      {"*": ""},
	engine.TRTLLMServe: {"/v1/models": serveModels, "/version": `{"version":"1.1.0"}`, "/metrics": "[]"},
	engine.VLLM: {
		"/v1/models": `{"data":[{"id":"tiny","owned_by":"vllm"}]}`,
		"/version":   `{"version":"0.32.0"}`,
	},
	engine.SGLang: {
		"/v1/models":  `{"data":[{"id":"tiny","owned_by":"sglang"}]}`,
		"/model_info": `{"model_path":"tiny"}`,
	},
	engine.NIM: {
		"/v1/models":  `{"data":[{"id":"m","owned_by":"system"}]}`,
		"/v1/version": `{"release":"1.0.0"}`,
	},
	engine.Dynamo: {"/v1/models": `{"data":[{"id":"m","owned_by":"nvidia"}]}`, "/health": `{}`},
}

func TestSamplePagesAreRecognized(t *testing.T) {
	for _, file := range samples(t, "*.prom") {
		name := sampleName(file)
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			want, generation, length := engine.Unknown, engine.Generation(""), -1
			for _, k := range sampleKinds {
				if strings.HasPrefix(name, k.prefix) && len(k.prefix) > length {
					want, generation, length = k.kind, k.generation, len(k.prefix)
				}
			}
			require.GreaterOrEqual(t, length, 0, "no kind is known for this sample")
			if len(body) == 0 {
				require.Equal(t, engine.Unknown, engine.FromPage(body).Kind, "an empty page says nothing")
				server := answers{
					"/prometheus/metrics": "",
					"/version":            `{"version":"1.1.0"}`,
					"/v1/models":          serveModels,
				}
				require.Equal(t, want, engine.Detect(t.Context(), server, "http://server", true).Kind)
				return
			}
			server := maps.Clone(apisOfKinds[want])
			if server == nil {
				server = answers{}
			}
			server[engineOf(t, want).Path] = string(body)
			found := engine.Detect(t.Context(), server, "http://server", true)
			require.Equal(t, want, found.Kind, found.Evidence)
			if !strings.Contains(name, "disable-log-stats") { // Its page has no marks.
				require.Equal(t, want, engine.FromPage(body).Kind)
			}
			if want != engine.Unknown && !strings.Contains(name, "openmetrics") {
				got, why := engineOf(t, want).Generation(readPage(t, want, body), nil)
				require.Equal(t, generation, got, why)
			}
		})
	}
}

func TestHeaviestMarkDecides(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       engine.Name
	}{
		{"a name in a later line", "x 1\nrequest_success_total{engine_type=\"undefined\"} 1\n", engine.TRTLLMServe},
		{"a common name", "x 1\nrequest_success_total{code=\"200\"} 1\n", engine.Unknown},
		{"a family without samples", "# TYPE trtllm_request_queue_time_seconds histogram\n", engine.Unknown},
		{
			"its names without its labels",
			"e2e_request_latency_seconds_sum 1\nrequest_queue_time_seconds_sum 1\n",
			engine.Unknown,
		},
		{
			"a worker of Dynamo without Dynamo's series",
			"trtllm_request_success_total{engine_type=\"trtllm\"} 1\n",
			engine.Dynamo,
		},
		{
			"its label behind others",
			"trtllm_request_success_total{model_name=\"m\",engine_type=\"trtllm\"} 1\n",
			engine.Dynamo,
		},
		{
			"a tag of Triton with a similar name",
			"nv_inference_count{_engine_type=\"trtllm\",model=\"m\"} 1\n",
			engine.Triton,
		},
		{
			"trtllm-serve with another type",
			"trtllm_request_success_total{engine_type=\"pytorch\"} 1\n",
			engine.TRTLLMServe,
		},
		{
			"vLLM with several API processes before the first request",
			"# TYPE vllm:num_requests_running gauge\nvllm:prompt_tokens_total 0\n",
			engine.VLLM,
		},
		{"an idle router with the families of vLLM", "# TYPE vllm:num_requests_running gauge\n", engine.Unknown},
		{"SGLang", "sglang:num_running_reqs 0\n", engine.SGLang},
		{"a name within a name", "my_nv_inference_count 1\nmy_trtllm_x 1\n", engine.Unknown},
		{"nothing", "", engine.Unknown},
	} {
		require.Equal(t, c.want, engine.FromPage([]byte(c.page)).Kind, c.name)
	}
}

// TestAPIOfAnotherProgram uses programs whose API answers like that of a known kind.
func TestAPIOfAnotherProgram(t *testing.T) {
	const libraries = "# TYPE python_info gauge\npython_info 1\nprocess_start_time_seconds 1\n" +
		"http_requests_total{handler=\"/v1/models\",method=\"GET\",status=\"2xx\"} 1\n"
	for _, c := range []struct {
		name, owner, path, page string
		want                    engine.Name
	}{
		{"vLLM without statistics", "vllm", "/metrics", libraries, engine.VLLM},
		{"the frontend in Rust without statistics", "vllm-frontend-rs", "/metrics", libraries, engine.VLLM},
		{"vLLM without a page", "vllm", "/other", "", engine.VLLM},
		{
			"a server made of vLLM, with families of its own", "vllm", "/metrics",
			libraries + "vllm_omni:num_requests_running 1\n", engine.Unknown,
		},
		{"a server with a similar owner", "vllm-mlx", "/metrics", libraries, engine.Unknown},
		{
			"the same with its families", "vllm-mlx", "/metrics", "vllm_mlx_scheduler_running_requests 1\n",
			engine.Unknown,
		},
		{"a plugin's owner", "vllm-omni", "/metrics", libraries, engine.Unknown},
		{"an owner that ends alike", "my-vllm", "/metrics", libraries, engine.Unknown},
		{"another case", "vLLM", "/metrics", libraries, engine.Unknown},
		{
			"a router of vLLM before it has an engine", "vllm", "/metrics",
			libraries + "# TYPE vllm:num_requests_running gauge\n",
			engine.Unknown,
		},
		{
			"a gateway in front of vLLM", "vllm", "/metrics",
			"# HELP litellm_requests_metric Requests\n# TYPE litellm_requests_metric counter\n",
			engine.Unknown,
		},
		{
			"trtllm-serve before its first request", "tensorrt_llm", "/prometheus/metrics",
			"# TYPE trtllm_request_success_total counter\n", engine.TRTLLMServe,
		},
		{
			"a proxy in front of trtllm-serve", "tensorrt_llm", "/prometheus/metrics",
			"envoy_cluster_upstream_rq_total 1\n", engine.Unknown,
		},
		{"a server with a similar owner", "tensorrt_llm_bench", "/prometheus/metrics", "", engine.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := answers{
				"/version":   `{"version":"1.0.0"}`,
				"/v1/models": `{"data":[{"id":"m","owned_by":"` + c.owner + `"}]}`,
				c.path:       c.page,
			}
			for _, pages := range []bool{true, false} {
				require.Equal(t, c.want, engine.Detect(t.Context(), server, "http://server", pages).Kind)
			}
		})
	}
}

// serveModels is the list of models of a trtllm-serve.
const serveModels = `{"object":"list","data":[{"id":"m","object":"model","owned_by":"tensorrt_llm"}]}`

func TestDetectionOrder(t *testing.T) {
	const page, models = "nv_inference_count 1\n", `{"data":[{"id":"m"}]}`
	const ours = "/prometheus/metrics /version /metrics /v1/models /v1/metrics"
	const others = "/prometheus/metrics /v1/models /metrics"
	for _, c := range []struct {
		name     string
		server   answers
		requests string
		kind     engine.Name
		path     string
	}{
		{"nothing answers", answers{}, others + " /v1/metrics", engine.Unknown, ""},
		{
			"trtllm-serve with its page",
			answers{"/prometheus/metrics": "trtllm_x 1\n"},
			"/prometheus/metrics", engine.TRTLLMServe, "/prometheus/metrics",
		},
		{
			"trtllm-serve with or without a slash",
			answers{"/prometheus/metrics": "trtllm_x 1\n", "/prometheus/metrics/": "trtllm_x 1\n"},
			"", engine.TRTLLMServe, "/prometheus/metrics",
		},
		{
			"trtllm-serve without",
			answers{"/version": `{"version":"1.1.0"}`, "/v1/models": serveModels},
			"/prometheus/metrics /v1/models /version", engine.TRTLLMServe, "/prometheus/metrics",
		},
		{
			"a version alone",
			answers{"/version": `{"version":"1.1.0"}`, "/metrics": page},
			others, engine.Triton, "/metrics",
		},
		{
			"a version of nothing",
			answers{"/version": `{}`, "/v1/models": serveModels},
			"/prometheus/metrics /v1/models /version /metrics /v1/metrics",
			engine.Unknown, "",
		},
		{
			"Triton behind OpenAI's API",
			answers{"/metrics": page, "/v1/models": models},
			others, engine.TritonOpenAI, "/metrics",
		},
		{"Triton whose port answers everything", answers{"/metrics": page, "*": ""}, others, engine.Triton, "/metrics"},
		{
			"the same before it has a model",
			answers{"/metrics": page, "/v1/models": `{"data":[]}`},
			others, engine.TritonOpenAI, "/metrics",
		},
		{"Dynamo", answers{"/metrics": "dynamo_component_x 1\n", "/v1/models": models}, others, engine.Dynamo, "/metrics"},
		{
			"NIM without a page",
			answers{"/v1/metadata": `{"assetInfo":[]}`},
			others + " /v1/metrics", engine.NIM, "/v1/metrics",
		},
		{"another description", answers{"/v1/metadata": `{"name":"x"}`}, others + " /v1/metrics", engine.Unknown, ""},
		{
			"NIM with Triton inside",
			answers{"/v1/metrics": page, "/v1/version": `{"release":"1.5.0"}`},
			others + " /v1/metrics", engine.NIM, "/v1/metrics",
		},
		{
			"NIM",
			answers{"/v1/metrics": "num_request_max 1\n", "/v1/models": models},
			others + " /v1/metrics", engine.NIM, "/v1/metrics",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &recorder{Client: c.server}
			found := engine.Detect(t.Context(), rec, "http://server", true)
			// Pages of kinds without a case here do not matter.
			rec.paths = slices.DeleteFunc(rec.paths, func(path string) bool { return !strings.Contains(ours, path) })
			require.Equal(t, c.requests, strings.Join(rec.paths, " "))
			require.Equal(t, c.kind, found.Kind)
			require.Equal(t, c.path, found.Path)
		})
	}
}

func TestServerThatLoadsIsDetected(t *testing.T) {
	detected := func(server response) engine.Detection {
		return engine.Detect(t.Context(), server, "http://server", true)
	}
	found := detected(response{status: http.StatusServiceUnavailable, state: "starting"})
	require.Equal(t, engine.TRTLLMServe, found.Kind)
	require.Equal(t, "/prometheus/metrics", found.Path)
	require.Equal(t, "its answers have the header X-Trtllm-Server-State", found.Evidence)
	require.Equal(t, engine.Unknown, detected(response{status: http.StatusServiceUnavailable}).Kind)
}

func TestAnswersAreBounded(t *testing.T) {
	rec := &recorder{Client: answers{"/metrics": "nv_inference_count 1\n"}}
	require.Equal(t, engine.Triton, engine.Detect(t.Context(), rec, "http://server", true).Kind)
	for i, path := range rec.paths {
		want := int64(4 << 20)
		if strings.HasSuffix(strings.TrimSuffix(path, "/"), "/metrics") {
			want = 16 << 20
		}
		require.Equal(t, want, rec.limits[i], path)
	}
}

func TestSharedPageIsRecognizedByAPI(t *testing.T) {
	const page = "nv_inference_count 1\n"
	recognised := func(server answers, page string) engine.Name {
		return engine.Recognize(t.Context(), server, "http://server", []byte(page)).Kind
	}
	models := answers{"/v1/models": `{"data":[{"id":"m"}]}`}
	require.Equal(t, engine.TritonOpenAI, recognised(models, page))
	require.Equal(t, engine.Triton, recognised(answers{}, page))
	require.Equal(t, engine.Dynamo, recognised(models, "dynamo_component_x 1\n"))
	require.Equal(t, engine.Unknown, recognised(models, "dynamo_operator_reconcile_total 1\ncontroller_runtime_x 1\n"))
	require.Equal(t, engine.Unknown, recognised(models, "x 1\n"))
}

// marksByWeight lists marks, the heaviest first.
var marksByWeight = [][]struct {
	line string
	kind engine.Name
}{
	{{"trtllm_exporter_x 1", engine.Unknown}},
	{{"dynamo_frontend_x 1", engine.Dynamo}, {"nv_llm_http_service_x 1", engine.Dynamo}},
	{{"dynamo_component_router_x 1", engine.Unknown}, {`x{dynamo_component="router"} 1`, engine.Unknown}},
	{{`x{engine_type="trtllm"} 1`, engine.Dynamo}},
	{{"dynamo_component_x 1", engine.Dynamo}},
	{{"num_request_max 1", engine.NIM}, {"request_finish_total 1", engine.NIM}},
	{{"nv_x 1", engine.Triton}},
	{
		{"ctx_total_requests_total 1", engine.TRTLLMDisaggregated},
		{"gen_total_requests_total 1", engine.TRTLLMDisaggregated},
	},
	{{"trtllm_x 1", engine.TRTLLMServe}},
	{{"trtllm:x 1", engine.Dynamo}},
	{
		{`request_success_total{engine_type="x"} 1`, engine.TRTLLMServe},
		{`e2e_request_latency_seconds_sum{engine_type="x"} 1`, engine.TRTLLMServe},
	},
	{{"vllm:x 1", engine.VLLM}, {"sglang:x 1", engine.SGLang}},
}

func TestHeavierMarkDecidesInAnyOrder(t *testing.T) {
	for i, row := range marksByWeight {
		for _, heavy := range row {
			require.Equal(t, heavy.kind, engine.FromPage([]byte(heavy.line+"\n")).Kind, heavy.line)
			for _, light := range slices.Concat(marksByWeight[i+1:]...) {
				for _, page := range []string{
					heavy.line + "\n" + light.line + "\n", light.line + "\n" + heavy.line + "\n",
				} {
					require.Equal(t, heavy.kind, engine.FromPage([]byte(page)).Kind, page)
				}
			}
		}
	}
}

func TestProgramsNextToServersAreNotServers(t *testing.T) {
	vllm := answers{
		"/version":   `{"version":"0.1.12"}`,
		"/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`,
		"/health":    "",
	}
	for _, c := range []struct {
		name, page string
		companion  string
		kind       engine.Name
	}{
		{
			"a router with the gauges of each engine",
			"vllm:num_requests_running{server=\"http://10.0.0.1:8000\"} 5\n",
			"the router of vLLM's production stack", engine.Unknown,
		},
		{
			"the same before it has an engine",
			"# TYPE vllm:healthy_pods_total gauge\nrouter_cpu_usage_percent 3\n",
			"the router of vLLM's production stack", engine.Unknown,
		},
		{"an engine", "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 5\n", "", engine.VLLM},
		{
			"a router with names of engines",
			"sglang:num_running_reqs 1\nsmg_worker_health{worker=\"a\"} 1\n",
			"the router smg, or that of SGLang it comes from", engine.Unknown,
		},
		{
			"its page of all engines",
			"sglang:num_running_reqs{model_name=\"m\",worker_addr=\"http://10.0.0.1:8000\"} 3\n",
			"the router smg, or that of SGLang it comes from", engine.Unknown,
		},
		{
			"its older name", "sgl_router_requests_total 1\n", "the router smg, or that of SGLang it comes from",
			engine.Unknown,
		},
		{"another router", "vllm_router_running_requests 1\n", "vllm-router", engine.Unknown},
		{
			"a picker", "# TYPE llm_d_epp_request_total counter\n", "the endpoint picker of an inference gateway",
			engine.Unknown,
		},
		{
			"a picker of the gateway API", "inference_pool_ready_pods{name=\"p\"} 2\n",
			"the endpoint picker of an inference gateway", engine.Unknown,
		},
		{
			"a router of Dynamo",
			"dynamo_component_requests_total{dynamo_component=\"router\",dynamo_endpoint=\"generate\"} 5\n",
			"a router of Dynamo", engine.Unknown,
		},
		{
			"a frontend with its router and a prefix of the operator's own, before its first request",
			"# TYPE acme_disconnected_clients gauge\nacme_disconnected_clients 0\n" +
				"dynamo_component_router_requests_total{dynamo_component=\"backend\"} 0\n",
			"", engine.Dynamo,
		},
		{
			"the same of 0.5.1",
			"# TYPE acme_client_disconnects gauge\nacme_client_disconnects 0\ndynamo_component_uptime_seconds 1\n",
			"", engine.Dynamo,
		},
		{
			"the same after its first request, in front of a router of its own",
			"# TYPE acme_requests_total counter\nacme_requests_total{model=\"m\"} 5\n" +
				"# TYPE acme_inflight_requests gauge\nacme_inflight_requests{model=\"m\"} 2\n" +
				"# TYPE acme_request_duration_seconds histogram\nacme_request_duration_seconds_count{model=\"m\"} 5\n" +
				"dynamo_component_router_requests_total{dynamo_component=\"router\"} 0\n",
			"", engine.Dynamo,
		},
		{
			"a router and its requests",
			"# TYPE dynamo_component_requests_total counter\n" +
				"dynamo_component_requests_total{dynamo_component=\"router\"} 5\n" +
				"# TYPE dynamo_component_inflight_requests gauge\n" +
				"dynamo_component_inflight_requests{dynamo_component=\"router\"} 1\n" +
				"# TYPE dynamo_component_request_duration_seconds histogram\n" +
				"dynamo_component_request_duration_seconds_count{dynamo_component=\"router\"} 5\n" +
				"dynamo_component_router_requests_total{dynamo_component=\"backend\"} 5\n",
			"a router of Dynamo", engine.Unknown,
		},
		{
			"an exporter that passes on a frontend",
			"trtllm_exporter_targets{pool_id=\"p\"} 1\ndynamo_frontend_inflight_requests{model=\"m\"} 1\n",
			"another trtllm_exporter", engine.Unknown,
		},
		{"a planner", "dynamo_planner_num_p_workers 1\n", "Dynamo's planner", engine.Unknown},
		{"a planner of old", "planner:num_p_workers 1\n", "Dynamo's planner", engine.Unknown},
		{"a manager of blocks", "kvbm_matched_tokens 1\n", "Dynamo's manager of KV blocks, kvbm", engine.Unknown},
		{
			"a worker with its block manager",
			"kvbm_matched_tokens 1\ndynamo_component_uptime_seconds 1\n",
			"", engine.Dynamo,
		},
		{
			"another exporter",
			"trtllm_exporter_targets{pool_id=\"p\"} 1\nnv_inference_request_success{model=\"m\"} 1\n",
			"another trtllm_exporter", engine.Unknown,
		},
		{
			"a Prometheus with two servers",
			"vllm:num_requests_running{engine=\"0\",instance=\"a:8000\",job=\"j\"} 1\n" +
				"vllm:num_requests_running{engine=\"0\",instance=\"b:8000\",job=\"j\"} 1\n",
			"a program that passes on the pages of several servers", engine.Unknown,
		},
		{
			"a collector with two Tritons",
			"nv_inference_request_success{instance=\"a\",model=\"m\"} 1\n" +
				"nv_inference_request_success{instance=\"b\",model=\"m\"} 1\n",
			"a program that passes on the pages of several servers", engine.Unknown,
		},
		{
			"a collector with one server", "vllm:num_requests_running{instance=\"a:8000\",job=\"j\"} 1\n" +
				"vllm:num_requests_waiting{instance=\"a:8000\",job=\"j\"} 1\n",
			"", engine.VLLM,
		},
		{
			"custom metrics of the instances of a model",
			"vllm:num_requests_running{engine=\"0\"} 1\nlast_batch{instance=\"0\"} 1\nlast_batch{instance=\"1\"} 1\n",
			"", engine.VLLM,
		},
		{"transfers alone", "agent_xfer_time{agent_name=\"a\"} 1\n", "the exporter of NIXL", engine.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := engine.FromPage([]byte(c.page))
			require.Equal(t, c.companion, found.Companion)
			require.Equal(t, c.kind, found.Kind)
			server := answers{"/metrics": c.page}
			for path, body := range vllm {
				if c.kind != engine.Dynamo {
					server[path] = body
				}
			}
			found = engine.Detect(t.Context(), server, "http://server", true)
			require.Equal(t, c.kind, found.Kind, "what its API answers makes it no server")
			require.Equal(t, c.companion, found.Companion)
			require.Equal(t, "/metrics", found.Path)
		})
	}
}
