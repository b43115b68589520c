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
				require.NotContains(t, got, "dynamo_component_inflight_requests", "the engine says it")
			}
			delete(got, "dynamo_component_inflight_requests")
			require.Equal(t, signalsOf(own), got)
			inside, dynamo := engineOf(t, c.inside), engineOf(t, engine.Dynamo)
			require.Equal(t, inside.Quirks(own), dynamo.Quirks(worker))
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
	require.False(t, engineOf(t, engine.Dynamo).CountsFailures(page("")))
	require.True(t, engineOf(t, engine.Dynamo).CountsFailures(page(`,error_type="internal"`)))
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
			"the API answers Bad Gateway to http://server/health",
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
