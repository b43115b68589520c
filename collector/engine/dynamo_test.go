package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// signalsOf are the signals of a page by the names that they are read from.
func signalsOf(page *engine.Page) map[string][]engine.Signal {
	all := make(map[string][]engine.Signal)
	for _, s := range page.Sources() {
		all[s.Meaning.Name] = append(all[s.Meaning.Name], s.Meaning.Signal)
	}
	return all
}

func TestAWorkerIsReadAsTheEngineInside(t *testing.T) {
	const shell = "dynamo_component_inflight_requests{dynamo_endpoint=\"generate\",model=\"m\"} 9\n"
	for _, c := range []struct {
		inside engine.Kind
		page   string
	}{
		{engine.Triton, "nv_inference_request_success{model=\"m\",version=\"1\"} 5\nnv_inference_pending_request_count{model=\"m\",version=\"1\"} 2\nvllm:num_requests_running{model=\"m\",version=\"1\"} 3\nvllm:generation_tokens_total{model=\"m\",version=\"1\"} 9\n"},
		{engine.SGLang, "sglang:num_running_reqs{model_name=\"m\"} 6\nsglang:num_queue_reqs{model_name=\"m\"} 3\nsglang:token_usage{model_name=\"m\"} 0.4\nsglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\"} 7\n"},
		{engine.VLLM, "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 6\nvllm:engine_sleep_state{engine=\"0\",model_name=\"m\",sleep_state=\"awake\"} 0\nvllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 5\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.4\n"},
		{engine.TRTLLMServe, "trtllm_num_requests_running{model_name=\"m\"} 6\ntrtllm_iteration_latency_seconds{model_name=\"m\"} 0.1\ntrtllm_request_success_total{finished_reason=\"stop\",model_name=\"m\"} 6\n"},
	} {
		t.Run(string(c.inside), func(t *testing.T) {
			own, worker := readPage(t, c.inside, []byte(c.page)), readPage(t, engine.Dynamo, []byte(c.page+shell))
			require.Equal(t, c.inside, worker.Inside().Kind())
			got := signalsOf(worker)
			if c.inside != engine.Triton {
				require.NotContains(t, got, "dynamo_component_inflight_requests", "the engine says it")
			}
			delete(got, "dynamo_component_inflight_requests")
			require.Equal(t, signalsOf(own), got)
			inside, dynamo := of(t, c.inside), of(t, engine.Dynamo)
			require.Equal(t, inside.Quirks(own), dynamo.Quirks(worker))
			require.Equal(t, inside.Unserved(own, nil, nil), dynamo.Unserved(worker, nil, nil))
			require.Equal(t, engine.TierWorker, dynamo.Tier(worker))
			require.False(t, dynamo.CountsFailures(worker), "no server of an engine answers HTTP there")
			for _, name := range []string{engine.CanQueue, engine.CanRunning, engine.CanKVCache, engine.CanTokens} {
				want := capability(t, c.inside, name, &engine.Known{Page: own})
				if strings.HasPrefix(want, "true") {
					require.Equal(t, want, capability(t, engine.Dynamo, name, &engine.Known{Page: worker}), name)
				}
			}
		})
	}
}

func TestWhatAnEngineShowsStandsBeforeWhatDynamoSaysOfIt(t *testing.T) {
	const ours = "dynamo_component_total_blocks{dp_rank=\"0\",model=\"m\"} 100\ndynamo_component_gpu_cache_usage_percent{dp_rank=\"0\",model=\"m\"} 0.4\ndynamo_component_kv_cache_hit_rate{dp_rank=\"0\",model=\"m\"} 0.5\n"
	got := signalsOf(readPage(t, engine.Dynamo, []byte(ours)))
	require.Equal(t, map[string][]engine.Signal{
		"dynamo_component_total_blocks": {engine.KVBlocksLimit}, "dynamo_component_gpu_cache_usage_percent": {engine.KVUtilization},
		"dynamo_component_kv_cache_hit_rate": {engine.KVHitRatio},
	}, got)
	got = signalsOf(readPage(t, engine.Dynamo, []byte(ours+"sglang:token_usage{model_name=\"served\"} 0.4\nsglang:num_pages{model_name=\"served\"} 9\n")))
	require.NotContains(t, got, "dynamo_component_gpu_cache_usage_percent", "the engine calls its model otherwise")
	require.NotContains(t, got, "dynamo_component_total_blocks")
}

func TestErrorsWithoutATypeAreOfNoClass(t *testing.T) {
	page := func(labels string) *engine.Page {
		return readPage(t, engine.Dynamo, []byte("dynamo_frontend_requests_total{model=\"m\",status=\"error\""+labels+"} 5\n"))
	}
	require.False(t, of(t, engine.Dynamo).CountsFailures(page("")))
	require.True(t, of(t, engine.Dynamo).CountsFailures(page(`,error_type="internal"`)))
	for _, m := range meaningsOf(t, engine.Dynamo, engine.RequestsFailed)[:1] {
		require.Equal(t, engine.ClassUnknown, m.Outcome.Class(""))
		require.Equal(t, engine.ClassUnknown, m.Outcome.Class("of_a_later_release"))
		require.Equal(t, engine.ClassServer, m.Outcome.Class("unavailable"))
	}
}

func TestTheOldNamesOfAFrontendAreThoseOfToday(t *testing.T) {
	const today = "dynamo_frontend_requests_total{model=\"m\",status=\"success\"} 5\ndynamo_frontend_inflight_requests{model=\"m\"} 2\ndynamo_frontend_output_sequence_tokens_bucket{le=\"+Inf\",model=\"m\"} 2\n"
	old := []byte(strings.ReplaceAll(today, "dynamo_frontend_", "nv_llm_http_service_"))
	require.Equal(t, engine.Dynamo, engine.FromPage(old), "nv_ alone is Triton's")
	page := readPage(t, engine.Dynamo, old)
	require.Nil(t, page.Inside())
	require.Equal(t, engine.TierFrontend, of(t, engine.Dynamo).Tier(page))
	now := readPage(t, engine.Dynamo, []byte(today)).Sources()
	for i, s := range page.Sources() {
		require.Equal(t, now[i].Meaning.Signal, s.Meaning.Signal)
	}
}
