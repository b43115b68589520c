package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestVLLMPages(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       map[string]float64
	}{
		{
			"failures are those of requests to the engine",
			`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 100
http_requests_total{handler="/v1/completions",method="POST",status="4xx"} 3
http_requests_total{handler="/v1/chat/completions",method="POST",status="4xx"} 2
http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 7
http_requests_total{handler="/invocations",method="POST",status="5xx"} 1
http_requests_total{handler="none",method="GET",status="4xx"} 50
http_requests_total{handler="/v1/models",method="GET",status="4xx"} 50
http_requests_total{handler="/health",method="GET",status="5xx"} 50
http_requests_total{handler="/v1/load_lora_adapter",method="POST",status="5xx"} 50
vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 8
`,
			map[string]float64{
				"requests_failed_total reason=4xx": 5, "requests_failed_total reason=5xx": 8,
				"requests_failed_total reason=max_num_queued_reqs": 8,
			},
		},
		{
			"a sleeping engine",
			`vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="awake"} 0
vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="weights_offloaded"} 1
`,
			map[string]float64{"engine_awake": 0},
		},
	} {
		shows(t, valuesOf(t, engine.VLLM, []byte(c.page)), c.want, c.name)
		shows(t, valuesOf(t, engine.NIM, []byte(c.page)), c.want, c.name+", in a NIM")
	}
}

func TestRealVLLMPages(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"real-vllm-0.32.0-dp2-under-load.prom": {
			"requests_running": 8, "requests_waiting": 21, "prompt_tokens_total": 288, "generation_tokens_total": 241,
			"requests_finished_total finish_reason=length": 1, "engine_iterations_total": -1,
			"inter_token_latency_seconds_count": 234, "time_to_first_token_seconds_count": 9,
			"request_duration_seconds_count": 1, "kv_cache_utilization_ratio": 0.0117647058823529, "engine_awake": 1,
			"requests_waiting_by_reason reason=capacity": 21,
		},
		"real-vllm-0.32.0-api2-before-any-request.prom": {"requests_running": -1, "generation_tokens_total": 0},
		"real-vllm-0.32.0-sleeping.prom":                {"engine_awake": 0},
		"real-vllm-0.32.0-admission-rejections.prom": {
			"requests_failed_total reason=max_num_queued_reqs": 8,
			"requests_rejected_total":                          8,
		},
		"real-vllm-0.32.0-after-load.prom": {
			"requests_running": 0, "requests_waiting": 0,
			"kv_cache_config_info page_size=128 cache_dtype=auto enable_block_reuse=True num_gpu_blocks=341": 1,
		},
		"real-vllm-0.32.0-disable-log-stats.prom": {"requests_running": -1, "generation_tokens_total": -1},
		"real-vllm-0.32.0-idle.prom": {
			"requests_running":        0,
			"requests_waiting":        0,
			"generation_tokens_total": 0,
			"engine_iterations_total": 0,
			"engine_awake":            1,
		},
		"real-vllm-0.32.0-under-load.prom": {
			"requests_running":                  4,
			"requests_waiting":                  20,
			"prompt_tokens_total":               128,
			"generation_tokens_total":           85,
			"engine_iterations_total":           22,
			"time_to_first_token_seconds_count": 4,
			"request_duration_seconds_count":    0,
			"kv_cache_utilization_ratio":        0.0117647058823529,
		},
		// Six clients left: only their tokens and first tokens count.
		"real-vllm-0.32.0-after-disconnect.prom": {
			"requests_running":                             0,
			"prompt_tokens_total":                          864,
			"generation_tokens_total":                      4860,
			"requests_finished_total finish_reason=length": 24,
			"requests_finished_total finish_reason=abort":  0,
			"time_to_first_token_seconds_count":            30,
			"request_duration_seconds_count":               24,
		},
		"real-vllm-0.32.0-after-errors.prom": {
			"requests_failed_total reason=4xx":            9,
			"requests_failed_total reason=5xx":            -1,
			"requests_finished_total finish_reason=error": 0,
		},
		"real-vllm-0.32.0-api2-after-load.prom": {
			"requests_running":                             0,
			"requests_waiting":                             0,
			"prompt_tokens_total":                          768,
			"generation_tokens_total":                      2400,
			"requests_finished_total finish_reason=length": 24,
			"engine_iterations_total":                      -1, // The engine made 600 for four at a time, the page shows 1001.
		},
		"real-vllm-0.32.0-dp2-before-any-request.prom": {
			"requests_running":        -1,
			"requests_waiting":        -1,
			"generation_tokens_total": 0,
			"engine_iterations_total": -1,
		},
		// New requests are rejected while those in flight end.
		"real-vllm-0.32.0-draining.prom": {
			"requests_failed_total reason=5xx":             34,
			"requests_finished_total finish_reason=length": 20,
			"requests_running":                             0,
		},
		"real-vllm-0.32.0-engine-stopped.prom": {"requests_running": 4, "requests_waiting": 4, "engine_awake": 1},
		"real-vllm-0.32.0-lora-after.prom": {
			"generation_tokens_total": 1650, "adapters_written_timestamp_seconds max_lora=1 " +
				"running= waiting=": 1.795324619052088e+09,
			"adapters_written_timestamp_seconds max_lora=1 running=ad1 waiting=ad1": 1.7953246190135565e+09,
		},
		"real-vllm-0.32.0-preempting.prom": {
			"requests_running":           2,
			"requests_waiting":           8,
			"preemptions_total":          4,
			"kv_cache_utilization_ratio": 0.8333333333333334,
		},
	} {
		shows(t, sampleValues(t, engine.VLLM, name), want, name)
	}
	// The page has both names of the time between tokens, with equal values.
	name := "real-vllm-0.12.0-after.prom"
	values := sampleValues(t, engine.VLLM, name)
	require.InDelta(
		t,
		values["generation_tokens_total"]-values["time_to_first_token_seconds_count"],
		values["inter_token_latency_seconds_count"],
		0,
		name,
	)
}

func TestSleepingVLLMServesNothing(t *testing.T) {
	const awake = "vllm:engine_sleep_state{engine=%q,sleep_state=\"awake\"} %d\n"
	asleep := fmt.Sprintf(awake, "0", 0)
	for page, want := range map[string]string{
		"vllm:num_requests_running 1\n":     "",
		asleep:                              "its engines sleep until they are woken",
		asleep + fmt.Sprintf(awake, "1", 1): "",
	} {
		require.Equal(
			t,
			want,
			engineOf(t, engine.VLLM).Unserved(readPage(t, engine.VLLM, []byte(page)), nil, nil),
			page,
		)
	}
	require.Empty(t, engineOf(t, engine.VLLM).Unserved(nil, nil, nil))
}

func TestVLLMIdentity(t *testing.T) {
	server := answers{
		"/version": `{"version":"0.32.0"}`, "/health": "",
		"/v1/models": `{"data":[{"id":"base","owned_by":"vllm"},{"id":"ad1","owned_by":"vllm","parent":"base"}]}`,
	}
	f := ask(t, engine.VLLM, server)
	require.Equal(t, "0.32.0", f.EngineVersion)
	require.Empty(t, f.TRTLLMVersion, "its version is not TensorRT-LLM's")
	require.Empty(t, f.Problems)
	e := engineOf(t, engine.VLLM)
	version, _ := e.StockVersion(&f, nil)
	require.Empty(t, version)
	top := engine.NewTopology(e, engine.NamedModels{Names: []string{"base"}}, f.Models, nil)
	require.Equal(t, "base", top.ModelID(""), "series without a model are of the base model, not of an adapter")
	name, why := top.EntryModel()
	require.Equal(t, "base", name, why)

	require.Equal(t, engine.APIReady, e.Health(t.Context(), server, "http://server").API)
	dead := e.Health(t.Context(), answers{"/health": refuses}, "http://server")
	require.Equal(t, engine.APIRefused, dead.API)
	require.False(t, dead.Live, "it is not live: %+v", dead)
}

func TestRustVLLMWithoutStatistics(t *testing.T) {
	page := readPage(t, engine.VLLM, []byte(`vllm:generation_tokens_total{engine="0",model_name="m"} 7
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 1
`))
	require.Equal(t, "false, the server was started with --disable-log-stats: the page has no gauges of its "+
		"scheduler [start vLLM without --disable-log-stats]",
		capability(t, engine.VLLM, engine.CanQueue, &engine.Knowledge{Page: page}))
}

// A simulator in Go writes some names of vLLM, and nothing about its own process (llm-d/llm-d-inference-sim#304).
func TestPageWithSomeNamesOfVLLMIsNotOfItsFrontends(t *testing.T) {
	page := readPage(t, engine.VLLM, []byte(`vllm:num_requests_running{model_name="m"} 3
vllm:num_requests_waiting{model_name="m"} 1
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:lora_requests_info{max_lora="2",running_lora_adapters="",waiting_lora_adapters=""} 1
`))
	for _, name := range []string{engine.CanStall, engine.CanConfig} {
		require.Equal(t, "false, vLLM's own page shows more: this is a simulator's, or something passes on a part of it",
			capability(t, engine.VLLM, name, &engine.Knowledge{Page: page}), name)
	}
	require.Contains(t, capability(t, engine.VLLM, engine.CanQueue, &engine.Knowledge{Page: page}), "true")
}

func TestCacheUseOfSeveralVLLMAPIProcesses(t *testing.T) {
	page := []byte(`vllm:cache_config_info{engine="0"} 1
vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="272"} 0.65
vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="273"} 0
`)
	shows(t, valuesOf(t, engine.VLLM, page), map[string]float64{"kv_cache_utilization_ratio": -1}, "two processes")
	old := slices.Concat(page, []byte("vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.6\n"))
	shows(t, valuesOf(t, engine.VLLM, old), map[string]float64{"kv_cache_utilization_ratio": 0.6}, "the old name")
	require.Equal(t, "false, each of its API processes shows the value that it saw last, and nothing tells which "+
		"is current [vLLM 0.11.1 or later]",
		capability(t, engine.VLLM, engine.CanKVCache, &engine.Knowledge{Page: readPage(t, engine.VLLM, page)}))
}

func TestModelWithoutTokensHasNoTokenTimes(t *testing.T) {
	const page = `vllm:cache_config_info{engine="0"} 1
vllm:generation_tokens_total{engine="0",model_name="m"} %d
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 30
`
	for name, c := range map[string]struct {
		tokens, requests int
		want             string
	}{
		"no request has ended": {0, 0, "true, vllm:time_to_first_token_seconds"},
		"an embedding model": {
			0, 30,
			"false, requests end but no token was ever generated: the model returns none, as embedding and " +
				"ranking models do",
		},
		"a generating model":                 {9, 30, "true, vllm:time_to_first_token_seconds"},
		"a generating model, none completed": {9, 0, "true, vllm:time_to_first_token_seconds"},
	} {
		known := &engine.Knowledge{Page: readPage(t, engine.VLLM, fmt.Appendf(nil, page, c.tokens, c.requests))}
		require.Equal(t, c.want, capability(t, engine.VLLM, engine.CanTTFT, known), name)
	}
}

// A request to vLLM-Omni passes its stages one after the other. Each counts it, with its own tokens.
func TestStagesOfOmniAreNotAddedUp(t *testing.T) {
	page := []byte(`vllm:num_requests_running{model_name="m",replica="0",stage="thinker"} 1
vllm:num_requests_running{model_name="m",replica="0",stage="talker"} 1
vllm:generation_tokens_total{model_name="m",replica="0",stage="thinker"} 67
vllm:generation_tokens_total{model_name="m",replica="0",stage="talker"} 275
vllm:request_success_total{finished_reason="stop",model_name="m",replica="0",stage="thinker"} 5
vllm:request_success_total{finished_reason="stop",model_name="m",replica="0",stage="talker"} 5
`)
	shows(t, valuesOf(t, engine.VLLM, page), map[string]float64{
		"requests_running": -1, "generation_tokens_total": -1, "requests_finished_total finish_reason=stop": -1,
	}, "stages")
	for _, name := range []string{engine.CanRunning, engine.CanTokens, engine.CanOutcomes} {
		require.Equal(t, "false, this vLLM-Omni counts each request in every stage of its pipeline, and what "+
			"clients ask for is not read",
			capability(t, engine.VLLM, name, &engine.Knowledge{Page: readPage(t, engine.VLLM, page)}), name)
	}
}

func TestRustVLLMIsDetectedByAPI(t *testing.T) {
	server := answers{
		"/version":   `{"version":"0.32.0"}`,
		"/v1/models": `{"data":[{"id":"m","owned_by":"vllm-frontend-rs"}]}`,
	}
	found := engine.Detect(t.Context(), server, "http://server", true)
	require.Equal(t, engine.VLLM, found.Kind)
}

// TestRefusalsOfVLLMWithoutStatistics has a page that counts a rejection and a failure as one.
func TestRefusalsOfVLLMWithoutStatistics(t *testing.T) {
	for page, same := range map[string]bool{
		"http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"5xx\"} 3\n": true,
		"http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"5xx\"} 3\n" +
			"vllm:num_requests_running 1\n": false,
		"process_start_time_seconds 1\n": false,
	} {
		require.Equal(
			t,
			same,
			engineOf(t, engine.VLLM).Quirks(readPage(t, engine.VLLM, []byte(page))).RefusedFailed,
			page,
		)
	}
	require.False(t, engineOf(t, engine.VLLM).Quirks(nil).RefusedFailed, "rejected requests count apart by default")
}

// TestDraftsOfEngineV0AreUnknown uses a page on which all drafts since the start are added again and again.
func TestDraftsOfEngineV0AreUnknown(t *testing.T) {
	const drafts = "vllm:spec_decode_num_draft_tokens_total{model_name=\"m\"} 9000\n" +
		"vllm:spec_decode_num_accepted_tokens_total{model_name=\"m\"} 7000\n"
	for page, want := range map[string]float64{
		drafts: 9000,
		drafts + "vllm:spec_decode_num_emitted_tokens_total{model_name=\"m\"} 8000\n": -1,
	} {
		got := valuesOf(t, engine.VLLM, []byte(page))
		shows(t, got, map[string]float64{"spec_decode_draft_tokens_total": want}, page)
		require.Equal(t, want > 0, got["spec_decode_accepted_tokens_total"] > 0)
	}
}

// TestHitsOfEngineV0 uses pages of engine V0, which shows the share of lookups that hit, or -1.
func TestHitsOfEngineV0(t *testing.T) {
	const page = "vllm:cache_config_info{block_size=\"16\"} 1\nvllm:request_success_total{model_name=\"m\"} 4\n"
	const rate = "vllm:gpu_prefix_cache_hit_rate{model_name=\"m\"} "
	const shown = "true, vllm:gpu_prefix_cache_hit_rate, of blocks, since the start"
	const hidden = "false, engine V0 of this release does not show what it found in its cache " +
		"[vLLM 0.8 or later with engine V1, its default]"
	for _, c := range []struct{ says, version, page, want string }{
		{"a share", "0.6.3", page + rate + "0.32\n", shown},
		{"before the first lookup", "0.6.3", page + rate + "0\n", shown},
		{
			"no cache", "0.6.3", page + rate + "-1\n",
			"false, vllm:gpu_prefix_cache_hit_rate is -1: prefix caching is off [--enable-prefix-caching]",
		},
		{"no number", "0.6.3", page + rate + "NaN\n", shown},
		{"an earlier release", "0.5.0", page, hidden},
		{"a release that hides it", "0.8.5", page, hidden},
		{"the last one", "0.11.0", page, hidden},
		{"a release without engine V0", "0.11.1", page, "false, requests have ended, and it is still not on the page: " +
			"this release may not expose it"},
		{
			"engine V1 at first", "0.7.1", page[strings.Index(page, "\n")+1:] + "python_info 1\n",
			"false, engine V1 of this release does not count what it found in its cache [vLLM 0.7.3 or later]",
		},
	} {
		known := &engine.Knowledge{Page: readPage(t, engine.VLLM, []byte(c.page)), Version: c.version}
		require.Equal(t, c.want, capability(t, engine.VLLM, engine.CanKVReuse, known), c.says)
	}
}
