package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// signalsOf returns the signals of a page by the names that they are read from.
func signalsOf(page *engine.Page) map[string][]engine.Signal {
	all := make(map[string][]engine.Signal)
	for _, s := range page.Sources() {
		all[s.Meaning.Name] = append(all[s.Meaning.Name], s.Meaning.Signal)
	}
	return all
}

func TestDynamoWorkerHasMeaningsOfItsEngine(t *testing.T) {
	const shell = "dynamo_component_inflight_requests{dynamo_endpoint=\"generate\",model=\"m\"} 9\n"
	for _, c := range []struct {
		inside engine.Name
		page   string
	}{
		{
			engine.Triton,
			"nv_inference_request_success{model=\"m\",version=\"1\"} 5\n" +
				"nv_inference_pending_request_count{model=\"m\",version=\"1\"} 2\n" +
				"vllm:num_requests_running{model=\"m\",version=\"1\"} 3\n" +
				"vllm:generation_tokens_total{model=\"m\",version=\"1\"} 9\n",
		},
		{
			engine.SGLang,
			"sglang:num_running_reqs{model_name=\"m\"} 6\nsglang:num_queue_reqs{model_name=\"m\"} 3\n" +
				"sglang:token_usage{model_name=\"m\"} 0.4\n" +
				"sglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\"} 7\n",
		},
		{
			engine.VLLM,
			"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 6\n" +
				"vllm:engine_sleep_state{engine=\"0\",model_name=\"m\",sleep_state=\"awake\"} 0\n" +
				"vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 5\n" +
				"vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.4\n",
		},
		{
			engine.TRTLLMServe,
			"trtllm_num_requests_running{model_name=\"m\"} 6\ntrtllm_iteration_latency_seconds{model_name=\"m\"} " +
				"0.1\ntrtllm_request_success_total{finished_reason=\"stop\",model_name=\"m\"} 6\n",
		},
	} {
		t.Run(string(c.inside), func(t *testing.T) {
			own, worker := readPage(t, c.inside, []byte(c.page)), readPage(t, engine.Dynamo, []byte(c.page+shell))
			require.Equal(t, c.inside, worker.Inside().Name)
			got := signalsOf(worker)
			if c.inside != engine.Triton {
				require.Equal(t, []engine.Signal{engine.RequestsOpen}, got["dynamo_component_inflight_requests"],
					"the engine says what runs")
			}
			delete(got, "dynamo_component_inflight_requests")
			require.Equal(t, signalsOf(own), got)
			inside, dynamo := engineOf(t, c.inside), engineOf(t, engine.Dynamo)
			quirks := inside.Quirks(own)
			quirks.AbortsRepeated = false // A worker has no API, and so no tokenizer workers.
			require.Equal(t, quirks, dynamo.Quirks(worker))
			require.Equal(t, inside.Unserved(own, nil, nil), dynamo.Unserved(worker, nil, nil))
			require.Equal(t, engine.TierWorker, dynamo.Tier(worker))
			require.False(t, dynamo.CountsFailures(worker), "no server of an engine answers HTTP there")
			for _, name := range []string{engine.CanQueue, engine.CanRunning, engine.CanKVCache, engine.CanTokens} {
				want := capability(t, c.inside, name, &engine.Knowledge{Page: own})
				if strings.HasPrefix(want, "true") {
					require.Equal(t, want, capability(t, engine.Dynamo, name, &engine.Knowledge{Page: worker}), name)
				}
			}
		})
	}
}

func TestEngineMetricsPrecedeDynamoMetrics(t *testing.T) {
	const ours = "dynamo_component_total_blocks{dp_rank=\"0\",model=\"m\"} 100\n" +
		"dynamo_component_gpu_cache_usage_percent{dp_rank=\"0\",model=\"m\"} 0.4\n" +
		"dynamo_component_kv_cache_hit_rate{dp_rank=\"0\",model=\"m\"} 0.5\n"
	got := signalsOf(readPage(t, engine.Dynamo, []byte(ours)))
	require.Equal(t, map[string][]engine.Signal{
		"dynamo_component_total_blocks": {
			engine.KVBlocksLimit,
		}, "dynamo_component_gpu_cache_usage_percent": {engine.KVUtilization},
		"dynamo_component_kv_cache_hit_rate": {engine.KVHitRatio},
	}, got)
	got = signalsOf(readPage(t, engine.Dynamo, []byte(ours+"sglang:token_usage{model_name=\"served\"} 0.4\n"+
		"sglang:num_pages{model_name=\"served\"} 9\n")))
	require.NotContains(t, got, "dynamo_component_gpu_cache_usage_percent", "the engine calls its model otherwise")
	require.NotContains(t, got, "dynamo_component_total_blocks")
}

func TestErrorsWithoutTypeHaveNoClass(t *testing.T) {
	page := func(labels string) *engine.Page {
		return readPage(
			t,
			engine.Dynamo,
			[]byte("dynamo_frontend_requests_total{model=\"m\",status=\"error\""+labels+"} 5\n"),
		)
	}
	require.False(t, engineOf(t, engine.Dynamo).CountsFailures(page("")), "errors without a type")
	require.True(t, engineOf(t, engine.Dynamo).CountsFailures(page(`,error_type="internal"`)), "errors with a type")
	for _, m := range meaningsOf(t, engine.Dynamo, engine.RequestsFailed)[:1] {
		require.Equal(t, engine.ClassUnknown, m.Outcome.Class(""))
		require.Equal(t, engine.ClassUnknown, m.Outcome.Class("of_a_later_release"))
		require.Equal(t, engine.ClassServer, m.Outcome.Class("unavailable"))
	}
}

func TestOldFrontendNames(t *testing.T) {
	const today = "dynamo_frontend_requests_total{model=\"m\",status=\"success\"} 5\n" +
		"dynamo_frontend_inflight_requests{model=\"m\"} 2\n" +
		"dynamo_frontend_output_sequence_tokens_bucket{le=\"+Inf\",model=\"m\"} 2\n"
	old := []byte(strings.ReplaceAll(today, "dynamo_frontend_", "nv_llm_http_service_"))
	require.Equal(t, engine.Dynamo, engine.FromPage(old).Kind, "nv_ alone is Triton's")
	page := readPage(t, engine.Dynamo, old)
	require.Nil(t, page.Inside())
	require.Equal(t, engine.TierFrontend, engineOf(t, engine.Dynamo).Tier(page))
	now := readPage(t, engine.Dynamo, []byte(today)).Sources()
	for i, s := range page.Sources() {
		require.Equal(t, now[i].Meaning.Signal, s.Meaning.Signal)
	}
}

// TestNamesOfEarlyDynamo reads releases from 0.4 to 0.8 by the names that they had.
func TestNamesOfEarlyDynamo(t *testing.T) {
	const (
		front  = "dynamo_frontend_"
		worker = "dynamo_component_"
		served = `{dynamo_component="backend",dynamo_endpoint="generate",dynamo_namespace="n"} `
		other  = `{dynamo_component="backend",dynamo_endpoint="clear",dynamo_namespace="n"} `
		cache  = `{dynamo_component="backend",dynamo_namespace="n"} `
		vllm   = "vllm:num_requests_running{model_name=\"m\"} 3\nvllm:kv_cache_usage_perc{model_name=\"m\"} 0.3\n"
	)
	for _, c := range []struct {
		says, page string
		want       map[string]float64
	}{
		{
			"a frontend of 0.5.1",
			front + "inflight_requests_total{model=\"m\"} 4\n" + front + "queued_requests_total{model=\"m\"} 1\n" +
				front + "client_disconnects 2\n",
			map[string]float64{"requests_active": 4, "requests_unanswered": 1, "clients_disconnected": 2},
		},
		{
			"a frontend before 0.7 counts tokens when a request ends",
			front + "output_sequence_tokens_sum{model=\"m\"} 300\n" + front + "output_sequence_tokens_count{model=\"m\"} 3\n",
			map[string]float64{"generation_tokens_total": 300},
		},
		{
			"and a later one as they come, whichever models have ended requests",
			front + "output_sequence_tokens_sum{model=\"m\"} 300\n" + front + "output_tokens_total{model=\"x\"} 7\n",
			map[string]float64{"generation_tokens_total": 7},
		},
		{
			"the prefix of NIM",
			"nv_llm_http_service_output_sequence_tokens_sum{model=\"m\"} 300\n",
			map[string]float64{"generation_tokens_total": 300},
		},
		{
			"a worker of 0.4",
			worker + `concurrent_requests{component="backend",endpoint="generate",namespace="n"} 12` + "\n",
			map[string]float64{"requests_active": 12},
		},
		{
			"a worker of 0.5 has a gauge named like a counter, of each endpoint",
			worker + "inflight_requests_total" + served + "12\n" + worker + "inflight_requests_total" + other + "5\n",
			map[string]float64{"requests_active": 12},
		},
		{
			"a worker of 0.5 to 0.8 with statistics of its cache",
			worker + "kvstats_active_blocks" + cache + "400\n" + worker + "kvstats_total_blocks" + cache + "1000\n" +
				worker + "kvstats_gpu_cache_usage_percent" + cache + "0.4\n" +
				worker + "kvstats_gpu_prefix_cache_hit_rate" + cache + "0.25\n",
			map[string]float64{
				"kv_cache_blocks_used":       400,
				"kv_cache_blocks_limit":      1000,
				"kv_cache_utilization_ratio": 0.4,
				"kv_cache_hit_ratio":         0.25,
			},
		},
		{
			"which are of tokens, and of the last step, with SGLang inside",
			"sglang:num_running_reqs{model_name=\"m\"} 1\nsglang:token_usage{model_name=\"m\"} 0.3\n" +
				worker + "kvstats_total_blocks" + cache + "16000\n" + worker + "total_blocks" + cache + "16000\n" +
				worker + "kvstats_gpu_prefix_cache_hit_rate" + cache + "0.25\n",
			map[string]float64{"kv_cache_utilization_ratio": 0.3, "kv_cache_blocks_limit": -1, "kv_cache_hit_ratio": -1},
		},
		{
			"of the last step with vLLM inside",
			vllm + worker + "kvstats_gpu_prefix_cache_hit_rate" + cache + "0.25\n",
			map[string]float64{"kv_cache_hit_ratio": -1},
		},
		{
			"which step back behind those of the engine inside",
			vllm + worker + "kvstats_active_blocks" + cache + "400\n" + worker + "kvstats_gpu_cache_usage_percent" + cache +
				"0.4\n" + worker + "inflight_requests_total" + served + "12\n",
			map[string]float64{"kv_cache_utilization_ratio": 0.3, "kv_cache_blocks_used": -1, "requests_active": -1},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			shows(t, valuesOf(t, engine.Dynamo, []byte(c.page)), c.want, c.says)
		})
	}
}

func TestTokensAreLiveWhereTheyAreCountedAsTheyCome(t *testing.T) {
	const ended = "dynamo_frontend_output_sequence_tokens_sum{model=\"m\"} 3\n"
	for page, want := range map[string]string{
		ended: "false, not on the page yet; families appear with the first worker and request",
		ended + "dynamo_frontend_output_tokens_total{model=\"m\"} 3\n": "true, dynamo_frontend_output_tokens_total, as " +
			"tokens are generated",
	} {
		known := &engine.Knowledge{Page: readPage(t, engine.Dynamo, []byte(page))}
		require.Equal(t, want, capability(t, engine.Dynamo, engine.CanLiveTokens, known))
		require.Contains(t, capability(t, engine.Dynamo, engine.CanTokens, known), "true, ")
	}
}

// TestFrontendWithPrefixOfItsOwn says that names were changed, and how.
func TestFrontendWithPrefixOfItsOwn(t *testing.T) {
	const body = "acme_requests_total{model=\"m\",status=\"success\"} 5\nacme_inflight_requests{model=\"m\"} 2\n" +
		"acme_request_duration_seconds_bucket{le=\"+Inf\",model=\"m\"} 5\nacme_request_duration_seconds_sum{model=\"m\"} 5\n" +
		"acme_request_duration_seconds_count{model=\"m\"} 5\n"
	typed := "# TYPE acme_request_duration_seconds histogram\n" + body
	page := readPage(t, engine.Dynamo, []byte(typed))
	require.Equal(t, engine.TierFrontend, engineOf(t, engine.Dynamo).Tier(page))
	_, reason := engineOf(t, engine.Dynamo).Stream("", page)
	require.Empty(t, reason, "a frontend has an API for clients")
	idle := readPage(t, engine.Dynamo, []byte("# TYPE acme_disconnected_clients gauge\nacme_disconnected_clients 0\n"+
		"acme_model_ready{model=\"m\"} 1\ndynamo_component_router_requests_total{dynamo_component=\"backend\"} 0\n"))
	for says, page := range map[string]*engine.Page{"after requests": page, "before its first": idle} {
		require.Equal(t, engine.TierFrontend, engineOf(t, engine.Dynamo).Tier(page), says)
		require.False(t, engineOf(t, engine.Dynamo).CountsFailures(page), "nobody reads what it counts")
		for _, name := range []string{engine.CanTokens, engine.CanQueue, engine.CanOutcomes, engine.CanKVCache} {
			require.Equal(t, "false, the names of this frontend begin with acme_, as DYN_METRICS_PREFIX or "+
				"--metrics-prefix says, and are passed on as they are [start the frontend without that prefix]",
				capability(t, engine.Dynamo, name, &engine.Knowledge{Page: page}), says)
		}
	}
	api := answers{
		"/metrics":   typed,
		"/health":    `{"status":"healthy","endpoints":["dyn://n.backend.generate"],"instances":[{}]}`,
		"/v1/models": `{"data":[{"id":"m","owned_by":"nvidia"}]}`,
	}
	require.Equal(t, engine.Dynamo, engine.Detect(t.Context(), api, "http://server", true).Kind)
	api["/health"] = `{"status":"healthy"}`
	require.Equal(t, engine.Unknown, engine.Detect(t.Context(), api, "http://server", true).Kind, "another nvidia")
	api["/v1/models"] = `{"object":"list","data":[]}`
	require.Equal(t, engine.Unknown, engine.Detect(t.Context(), api, "http://server", true).Kind, "another without models")
	api["/health"] = `{"status":"healthy","endpoints":[],"instances":[]}`
	require.Equal(t, engine.Dynamo, engine.Detect(t.Context(), api, "http://server", true).Kind, "without a worker")
}

func TestNIMMadeOfDynamo(t *testing.T) {
	const front = "nv_llm_http_service_requests_total{model=\"m\",status=\"success\"} 5\n" +
		"nv_llm_http_service_inflight_requests{model=\"m\"} 2\nnum_request_max{model_name=\"m\"} 256\n"
	api := answers{"/v1/version": `{"release":"1.13.1","api":"1.0.0"}`, "/v1/health/ready": ""}
	require.Equal(t, engine.NIM, engine.Recognize(t.Context(), api, "http://server", []byte(front)).Kind)
	require.Equal(t, engine.Dynamo, engine.Recognize(t.Context(), answers{}, "http://server", []byte(front)).Kind)

	page := readPage(t, engine.NIM, []byte(front))
	require.Equal(t, engine.Dynamo, page.Inside().Name)
	nim := engineOf(t, engine.NIM)
	generation, _ := nim.Generation(page, nil)
	require.Equal(t, engine.Generation("with Dynamo"), generation)
	require.Equal(t, engineOf(t, engine.Dynamo).Quirks(page), nim.Quirks(page))
	require.False(t, nim.CountsFailures(page), "this prefix is that of releases without types of errors")
	known := &engine.Knowledge{Page: page}
	require.Contains(t, capability(t, engine.NIM, engine.CanTTFT, known), "requests have ended, and it is still not")
	require.Equal(t, "false, only the worker's page has it", capability(t, engine.NIM, engine.CanKVCache, known),
		"nobody can scrape a worker inside a container")
}

func TestDynamoHealthIsItsList(t *testing.T) {
	const some = `{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"],"instances":[{"endpoint":"generate"}]}`
	worker := func(endpoints string) string {
		return `{"status":"notready","uptime":{"secs":3,"nanos":879995933},"endpoints":` + endpoints + `}`
	}
	for _, c := range []struct {
		name   string
		server answers
		want   engine.APIState
		detail string
	}{
		{
			"a frontend with a worker and a model",
			answers{"/health": some, "/v1/models": `{"data":[{"id":"m"}]}`},
			engine.APIReady, "200",
		},
		{
			"a frontend behind an answering proxy",
			answers{"/health": some, "/v1/models": `{"error":"try again"}`},
			engine.APIReady, "200",
		},
		{
			"a frontend with a dead worker",
			answers{"/health": some, "/v1/models": `{"object":"list","data":[]}`},
			engine.APINotReady, "no model",
		},
		{"a frontend without models", answers{"/health": some}, engine.APIReady, "200"},
		{
			"an empty frontend",
			answers{"/health": `{"status":"healthy","endpoints":[],"instances":[]}`},
			engine.APINotReady, "no worker",
		},
		{
			"a serving worker",
			answers{"/health": worker(`{"generate":"ready","worker_kv_query_source_1":"ready"}`)},
			engine.APIReady, "generate is ready",
		},
		{
			"a worker with failed checks",
			answers{"/health": worker(`{"generate":"notready"}`)},
			engine.APINotReady, "generate is notready",
		},
		{
			"a worker with failed checks elsewhere",
			answers{"/health": worker(`{"a":"broken","b":"broken","c":"broken","d":"broken","e":"broken","f":"broken","generate":"notready"}`)},
			engine.APINotReady, "generate is notready",
		},
		{"a starting worker", answers{"/health": worker(`{}`)}, engine.APINotReady, "no endpoint"},
		{
			"a worker of another part",
			answers{"/health": worker(`{"prefill":"ready"}`)},
			engine.APIReady, "endpoints are ready",
		},
		{
			"a worker of another component, not ready",
			answers{"/health": worker(`{"prefill":"notready"}`)},
			engine.APINotReady, "prefill is notready",
		},
		{"a later release", answers{"/health": `{"ok":true}`}, engine.APIReady, "200"},
		{"text", answers{"/health": "fine"}, engine.APIReady, "200"},
		{"nothing listens", answers{"*": refuses}, engine.APIRefused, "refuses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := engine.ByName(string(engine.Dynamo))
			h := e.Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API, h.Detail)
			require.Contains(t, h.Detail, c.detail)
			require.Equal(t, c.want != engine.APIRefused, h.Live)
			require.Equal(t, c.want != engine.APIRefused, h.LiveKnown)
		})
	}
}

func TestForeignAnswerDoesNotMakeDynamoReady(t *testing.T) {
	const serves = `{"status":"notready","endpoints":{"generate":"ready"}}`
	for _, c := range []struct {
		name   string
		server response
		want   engine.APIState
		live   bool
		detail string
	}{
		{
			"a serving worker with status 503",
			response{status: 503, body: serves},
			engine.APIReady, true,
			"the worker's endpoint generate is ready, whatever its status says",
		},
		{
			"a proxy without a server",
			response{status: 502, body: "<html>Bad Gateway</html>"},
			engine.APIFailed, false,
			"the API answers Bad Gateway to http://server/health, as a proxy does",
		},
		{
			"a balancer without a worker",
			response{status: 503, body: "no healthy upstream"},
			engine.APIFailed, false,
			"the API answers Service Unavailable to http://server/health",
		},
		{
			"a status without a name",
			response{status: 520},
			engine.APIFailed, false, "the API answers 520 to http://server/health",
		},
		{
			"a stopping frontend",
			response{status: 503, body: `{"status":"not_ready","stage":"draining","message":"Service is not ready"}`},
			engine.APINotReady, true,
			"the frontend is draining: it finishes accepted requests and exits",
		},
		{
			"a stopping frontend of a later release",
			response{
				status: 503,
				body:   `{"status":"shutting_down","message":"Service is shutting down","endpoints":["dyn://n.backend.generate"],"instances":[{}]}`,
			},
			engine.APINotReady, true,
			"the frontend is draining: it finishes accepted requests and exits",
		},
		{
			"a starting frontend",
			response{
				status: 503,
				body:   `{"status":"not_ready","message":"Initial model discovery in progress","endpoints":[],"instances":[]}`,
			},
			engine.APINotReady, true,
			"the frontend answers not_ready: Initial model discovery in progress",
		},
		{
			"an early frontend without workers",
			response{status: 503, body: `{"message":"No endpoints available","status":"unhealthy"}`},
			engine.APINotReady, true,
			"the frontend answers unhealthy: No endpoints available",
		},
		{
			"a worker without a list",
			response{status: 503, body: `{"status":"notready","uptime":{"secs":3,"nanos":1}}`},
			engine.APIFailed, false,
			"the API answers Service Unavailable to http://server/health",
		},
		{
			"a server without the path",
			response{status: 404, body: `{"error":"not found"}`},
			engine.APIFailed, false,
			"the API answers Not Found to http://server/health",
		},
		{
			"a server that requires a header",
			response{status: 401, body: "no"},
			engine.APIFailed, false,
			"the API is restricted: set the header that the server expects in http_headers (no)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := engineOf(t, engine.Dynamo).Health(t.Context(), c.server, "http://server")
			require.Equal(t, c.want, h.API)
			require.Equal(t, c.detail, h.Detail)
			require.Equal(t, c.live, h.Live)
			require.Equal(t, c.live, h.LiveKnown)
		})
	}
}
