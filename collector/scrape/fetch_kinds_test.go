package scrape

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// api merges the responses of a server.
func api(paths ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, p := range paths {
		maps.Copy(all, p)
	}
	return all
}

// lists returns a list of models with an owner.
func lists(owner string) map[string]string {
	return map[string]string{
		"/v1/models": `{"object":"list","data":[{"id":"m","object":"model","owned_by":"` + owner + `"}]}`,
	}
}

// serving returns one answer.
func serving(path, body string) map[string]string { return map[string]string{path: body} }

// TestDetectServers detects all kinds of servers, their generations, given by
// different forms of their address, and servers that resemble them: a wrong identity is
// worse than none.
func TestDetectServers(t *testing.T) {
	const (
		serve11 = "# TYPE e2e_request_latency_seconds histogram\n" +
			"request_success_total{engine_type=\"undefined\",finished_reason=\"stop\",model_name=\"undefined\"} 1.0\n"
		serveNow  = "trtllm_model_config_info{engine_type=\"pytorch\"} 1.0\n"
		vllmOld   = "vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.0\n"
		vllmNow   = "python_info 1.0\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0.0\n"
		vllmTypes = "# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n" +
			"vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 0\n"
		silent = "python_info 1.0\nprocess_start_time_seconds 1.0\n" +
			"http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"2xx\"} 1.0\n"
		sglangNow = "sglang:num_running_reqs{engine_type=\"unified\",model_name=\"m\"} 0.0\n"
		worker    = "dynamo_component_uptime_seconds 1\n"
		json      = `[{"iter":1}]`
	)
	version := serving("/version", `{"version":"1.1.0"}`)
	serveAPI := api(lists("tensorrt_llm"), version, serving("/metrics", json), serving("/health", ""))
	vllmAPI := api(lists("vllm"), version, serving("/health", ""), serving("/ping", ""))
	sglangAPI := api(lists("sglang"), serving("/model_info", `{"model_path":"/m","served_model_name":"m"}`))
	nimAPI := api(
		lists("vllm"), serving("/v1/version", `{"release":"2.0.0","api":"2.0.0"}`), serving("/v1/health/ready", `{}`),
	)
	for _, c := range []struct {
		name    string
		answers map[string]string
		// page is the path of its page, kind the detected kind for every form of the address.
		page string
		kind engine.Name
	}{
		{"Triton, metrics port", api(serving("/metrics", tritonPage), serving("*", "")), "/metrics", engine.Triton},
		{
			"Triton with vLLM inside", serving("/metrics", "vllm:num_requests_running 1\n"+tritonPage), "/metrics",
			engine.Triton,
		},
		{"Triton, API port", serving("/v2", tritonAPI), "/metrics", engine.Unknown},
		{"Triton, gRPC port", nil, "/metrics", engine.Unknown},
		{
			"Triton's OpenAI frontend", api(serving("/metrics", tritonPage), lists("Triton Inference Server")),
			"/metrics", engine.TritonOpenAI,
		},
		{
			"trtllm-serve 1.1, idle", api(serveAPI, serving("/prometheus/metrics", "")), "/prometheus/metrics",
			engine.TRTLLMServe,
		},
		{
			"trtllm-serve 1.1, busy", api(serveAPI, serving("/prometheus/metrics", serve11)), "/prometheus/metrics",
			engine.TRTLLMServe,
		},
		{
			"trtllm-serve 1.3", api(serveAPI, serving("/prometheus/metrics", serveNow)), "/prometheus/metrics",
			engine.TRTLLMServe,
		},
		{"trtllm-serve without its page", serveAPI, "/prometheus/metrics", engine.TRTLLMServe},
		{
			"trtllm-serve disaggregated",
			api(
				version, serving("/health", ""), serving("/cluster_info", "{}"),
				serving(
					"/prometheus/metrics", "# TYPE ctx_total_requests_total counter\nctx_total_requests_total 0.0\n",
				),
			),
			"/prometheus/metrics", engine.TRTLLMDisaggregated,
		},
		{
			"trtllm-serve disaggregated at its mount path",
			api(serveAPI, serving("/prometheus/metrics/", "gen_total_requests_total 0.0\n")), "/prometheus/metrics/",
			engine.TRTLLMDisaggregated,
		},
		{
			"trtllm-serve disaggregated with a list of models",
			api(serveAPI, serving("/prometheus/metrics", "gen_total_requests_total 0.0\n")), "/prometheus/metrics",
			engine.TRTLLMDisaggregated,
		},
		{
			"NIM 1.x",
			api(
				serving("/v1/metrics", nimPage), lists("system"),
				serving("/v1/version", `{"release":"1.0.0","api":"1.0.0"}`),
			),
			"/v1/metrics", engine.NIM,
		},
		{"NIM 1.x, page only", serving("/v1/metrics", nimPage), "/v1/metrics", engine.NIM},
		{"NIM 2 with vLLM", api(nimAPI, serving("/v1/metrics", vllmNow)), "/v1/metrics", engine.NIM},
		{"NIM 2 with SGLang", api(nimAPI, serving("/v1/metrics", sglangNow)), "/v1/metrics", engine.NIM},
		{"NIM 2 with TensorRT-LLM", api(nimAPI, serving("/v1/metrics", serveNow)), "/v1/metrics", engine.NIM},
		{
			"NIM 2 whose TensorRT-LLM answers as itself",
			api(serveAPI, nimAPI, lists("tensorrt_llm"), serving("/v1/metrics", serveNow)), "/v1/metrics", engine.NIM,
		},
		{"NIM 2 without statistics", api(nimAPI, serving("/v1/metrics", silent)), "/v1/metrics", engine.NIM},
		{"NIM 2 without a page", nimAPI, "/v1/metrics", engine.NIM},
		{
			"NIM 2 by its metadata",
			api(
				lists("vllm"), serving("/v1/metadata", `{"modelInfo":[{"shortName":"m"}]}`),
				serving("/v1/metrics", vllmNow),
			),
			"/v1/metrics", engine.NIM,
		},
		{"NIM 2, health port", serving("/v1/health/live", `{}`), "/v1/metrics", engine.Unknown},
		{
			"Dynamo, frontend",
			api(
				serving("/metrics", "dynamo_frontend_model_ready 1\n"), lists("nvidia"),
				serving("/health", `{"instances":[]}`),
			),
			"/metrics", engine.Dynamo,
		},
		{
			"Dynamo, worker with TensorRT-LLM",
			serving("/metrics", worker+"trtllm_request_success_total{engine_type=\"trtllm\"} 1.0\n"), "/metrics",
			engine.Dynamo,
		},
		{"Dynamo, worker with vLLM", serving("/metrics", vllmNow+worker), "/metrics", engine.Dynamo},
		{"Dynamo, worker with SGLang", serving("/metrics", sglangNow+worker), "/metrics", engine.Dynamo},
		{"vLLM 0.8", api(vllmAPI, serving("/metrics", vllmOld)), "/metrics", engine.VLLM},
		{"vLLM 0.32", api(vllmAPI, serving("/metrics", vllmNow)), "/metrics", engine.VLLM},
		{"vLLM, page only", serving("/metrics", vllmNow), "/metrics", engine.VLLM},
		{
			"vLLM, several API processes before the first request", api(vllmAPI, serving("/metrics", vllmTypes)),
			"/metrics", engine.VLLM,
		},
		{"vLLM without statistics", api(vllmAPI, serving("/metrics", silent)), "/metrics", engine.VLLM},
		{"SGLang", api(sglangAPI, serving("/metrics", sglangNow)), "/metrics", engine.SGLang},
		{"SGLang without a page", sglangAPI, "/metrics", engine.SGLang},
		{
			"SGLang of old", api(lists("sglang"), serving("/get_model_info", `{"model_path":"/m"}`)), "/metrics",
			engine.SGLang,
		},

		{
			"llama.cpp",
			api(
				lists("llamacpp"), serving("/metrics", "llamacpp:prompt_tokens_total 1\n"),
				serving("/health", `{"status":"ok"}`),
			),
			"/metrics", engine.Unknown,
		},
		{
			"TGI",
			api(
				serving("/metrics", "tgi_request_success 1\ntgi_queue_size 0\n"),
				serving("/info", `{"version":"3.0.0"}`), serving("/health", ""),
			),
			"/metrics", engine.Unknown,
		},
		{
			"LMDeploy", api(lists("lmdeploy"), serving("/metrics", "lmdeploy:num_requests_running 1\n"), version),
			"/metrics", engine.Unknown,
		},
		{
			"Ray Serve with vLLM",
			api(
				lists("my-organization"),
				serving("/metrics", "ray_vllm:num_requests_running 1\nray_serve_num_http_requests 1\n"),
			),
			"/metrics", engine.Unknown,
		},
		{
			"a gateway before vLLM", api(lists("vllm"), serving("/metrics", "gateway_requests_total 1\n")), "/metrics",
			engine.Unknown,
		},
		{
			"a gateway before SGLang", api(lists("sglang"), serving("/metrics", "gateway_requests_total 1\n"), version),
			"/metrics", engine.Unknown,
		},
		{
			"a gateway with the names of OpenTelemetry",
			api(lists("openai"), serving("/metrics", "gen_ai_client_token_usage_token_count{gen_ai_request_model=\"m\"} 4\n")),
			"/metrics", engine.Unknown,
		},
		{
			"a server that extends vLLM's owner",
			api(lists("vllm-mlx"), serving("/metrics", "vllm_mlx_scheduler_running_requests 1\n"), version),
			"/metrics", engine.Unknown,
		},
		{
			"a server made of vLLM",
			api(lists("vllm"), serving("/metrics", "vllm_omni:num_requests_running 1\n"), version),
			"/metrics", engine.Unknown,
		},
		{"an unknown server with a version", api(version, serving("/metrics", "x 1\n")), "/metrics", engine.Unknown},
		{"an unknown server with a version and no page", version, "/metrics", engine.Unknown},
		{
			"an unknown server with its page at trtllm-serve's path", serving("/prometheus/metrics", "x 1\n"),
			"/prometheus/metrics", engine.Unknown,
		},
		{
			"an unknown server with its page at NIM's path", serving("/v1/metrics", "x 1\n"), "/v1/metrics",
			engine.Unknown,
		},
		{
			"an unknown server with common names",
			serving("/metrics", "request_success_total{code=\"200\"} 1\nhttp_requests_total 1\n"), "/metrics",
			engine.Unknown,
		},
		{
			"MindIE",
			serving(
				"/metrics",
				"# TYPE e2e_request_latency_seconds histogram\ne2e_request_latency_seconds_sum{model_name=\"m\"} 1\n"+
					"request_queue_time_seconds_sum{model_name=\"m\"} 1\n",
			),
			"/metrics", engine.Unknown,
		},
		{"nginx", serving("*", "<html><body>Welcome to nginx!</body></html>"), "/metrics", engine.Unknown},
		{"an API with JSON for all paths", serving("*", `{"message":"ok","version":"1"}`), "/metrics", engine.Unknown},
		{"a port with empty answers", serving("*", ""), "/prometheus/metrics", engine.Unknown},
	} {
		for _, form := range []string{"http://a:1", "http://a:1/", "http://a:1" + c.page} {
			t.Run(c.name+" at "+form, func(t *testing.T) {
				p := fetcher(&server{answers: c.answers}, target.Auto, form).Fetch(t.Context(), nil)
				defer p.Release()
				require.Equal(t, c.kind, p.Server.Engine.Name, p.Server.Evidence)
				require.Equal(t, c.kind != engine.Unknown, p.Server.Evidence != "")
				if c.kind != engine.Unknown {
					require.Equal(t, "http://a:1"+c.page, p.Server.URL)
				}
			})
		}
	}
}

// Behind an ingress each server has a path of its own, and another may be at the
// root of the host.
func TestPageUnderPathPrefix(t *testing.T) {
	const silent = "python_info 1\n"
	under := func(path string, answers map[string]string) map[string]string {
		all := make(map[string]string)
		for p, body := range answers {
			all[path+p] = body
		}
		return all
	}
	version := serving("/version", `{"version":"0.12.0"}`)
	nim := serving("/v1/version", `{"release":"1.0.0","api":"1.0.0"}`)
	for _, c := range []struct {
		name, page string
		answers    map[string]string
		kind       engine.Name
	}{
		{"a vLLM, a NIM at the root", "/b/metrics", api(nim, serving("/b/metrics", vllmPage)), engine.VLLM},
		{
			"a NIM, a vLLM at the root", "/b/v1/metrics",
			api(
				lists("vllm"), version, serving("/metrics", vllmPage),
				under("/b", api(nim, serving("/v1/metrics", vllmPage))),
			),
			engine.NIM,
		},
		{
			"a vLLM without statistics", "/a/b/metrics",
			under("/a/b", api(lists("vllm"), version, serving("/metrics", silent))), engine.VLLM,
		},
		{
			"a stranger, a vLLM at the root", "/b/metrics", api(lists("vllm"), version, serving("/b/metrics", silent)),
			engine.Unknown,
		},
		{
			"a Triton, its OpenAI frontend at the root", "/b/metrics",
			api(lists("Triton Inference Server"), serving("/b/metrics", "nv_inference_count 1\n")), engine.Triton,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fetcher(&server{answers: c.answers}, target.Auto, "http://a:1"+c.page).Fetch(t.Context(), nil)
			defer p.Release()
			require.Equal(t, c.kind, p.Server.Engine.Name, p.Server.Evidence)
		})
	}
}

func TestRouterIsNeverServer(t *testing.T) {
	const (
		router   = "vllm:num_requests_running{server=\"http://a:1\"} 5\nrouter_cpu_usage_percent 3\n"
		engineOf = "vllm:num_requests_running{engine=\"0\"} 5\n"
	)
	for _, kind := range []string{target.Auto, "vllm"} {
		t.Run(kind, func(t *testing.T) {
			s := &server{answers: api(lists("vllm"), serving("/metrics", router))}
			f := fetcher(s, kind, "http://a:1")
			f.Fetch(t.Context(), nil).Release()
			require.False(t, f.Server.Known(), "nothing is derived of it")
			require.Equal(t, "the router of vLLM's production stack", f.Server.Companion)
			require.Empty(t, f.Server.Mismatch())

			s.answers["/metrics"] = engineOf
			now := f.Server
			f = next(f, &now, true)
			f.Fetch(t.Context(), nil).Release()
			require.Equal(t, engine.VLLM, f.Server.Engine.Name, "an engine took its address")
			require.Empty(t, f.Server.Companion)
		})
	}
}

// TestOperatorDecidesWhatMayBePartOfServer has pages with what Dynamo's router and its frontend show alike, and
// such that only a companion has.
func TestOperatorDecidesWhatMayBePartOfServer(t *testing.T) {
	const (
		inside  = "dynamo_component_router_requests_total{dynamo_component=\"backend\"} 5\n"
		alone   = "dynamo_component_requests_total{dynamo_component=\"router\"} 5\n" + inside
		planner = "dynamo_planner_gpu_hours 5\n"
		router  = "a router of Dynamo"
	)
	for _, c := range []struct {
		name, configured, page string
		kind                   engine.Name
		companion              string
	}{
		{"nobody says what it is", target.Auto, inside, engine.Unknown, router},
		{"the operator says that it is a Dynamo", "dynamo", inside, engine.Dynamo, ""},
		{"the operator says that it is a NIM, which may be made of Dynamo", "nim", inside, engine.NIM, ""},
		{"the operator says that it is another kind", "vllm", inside, engine.Unknown, router},
		{"the operator lists a router itself", "dynamo", alone, engine.Unknown, router},
		{"the operator lists a planner", "dynamo", planner, engine.Unknown, "Dynamo's planner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: api(serving("/metrics", c.page))}
			f := fetcher(s, c.configured, "http://a:1/metrics")
			for _, before := range []string{"the first page", "after a router"} {
				f.Fetch(t.Context(), nil).Release()
				require.Equal(t, c.kind, f.Server.Engine.Name, before)
				require.Equal(t, c.companion, f.Server.Companion, before)
				require.Empty(t, f.Server.Mismatch(), before)
				require.Equal(t, c.companion != "", f.Server.Unrecognized(), before)

				s.answers["/metrics"] = alone
				now := f.Server
				f = next(f, &now, false)
				f.Fetch(t.Context(), nil).Release()
				require.Equal(t, router, f.Server.Companion)
				s.answers["/metrics"] = c.page
				now = f.Server
				f = next(f, &now, false)
			}
		})
	}
}
