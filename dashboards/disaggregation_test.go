package dashboards_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDisaggregatedRequestsAreFollowed shows each kind of disaggregated serving on the dashboard.
func TestDisaggregatedRequestsAreFollowed(t *testing.T) {
	t.Parallel()
	all := disaggregated()
	for i := range all {
		all[i].serve()
	}
	testNumbers(t, all)
}

// serve adds that all replicas of the series are ready.
func (n *number) serve() {
	states := make(map[string]float64)
	for _, series := range slices.Concat(slices.Collect(maps.Keys(n.series)), slices.Collect(maps.Keys(n.grows))) {
		labels := regexp.MustCompile(`(pool_id|replica_id|tier|instance)="[^"]*"`).FindAllString(series, -1)
		states["llm_server_state{state=\"ready\","+strings.Join(labels, ",")+"}"] = 1
	}
	if n.series == nil {
		n.series = make(map[string]float64)
	}
	maps.Copy(n.series, states)
}

// of returns a series of a replica.
func of(family, engine, pool, replica, more string) string {
	return fmt.Sprintf("llm_server_%s{engine=%q,pool_id=%q,replica_id=%q,model_id=%q%s}",
		family, engine, pool, replica, "m", more)
}

func disaggregated() []number {
	const router, worker = `,tier="frontend"`, `,tier="worker"`
	return []number{
		{
			name:  "vLLM in one pool: a prefill server prefills for two seconds, a decode server decodes for ten",
			panel: "Mean prefill by tier",
			grows: map[string]float64{
				of("request_prefill_seconds_sum", "vllm", "a", "m-prefill-0", ""):   30,
				of("request_prefill_seconds_count", "vllm", "a", "m-prefill-0", ""): 15,
				of("request_prefill_seconds_sum", "vllm", "a", "m-decode-0", ""):    0,
				of("request_prefill_seconds_count", "vllm", "a", "m-decode-0", ""):  15,
			},
			shows: map[string]float64{`{pool_id="a",tier="prefill"}`: 2, `{pool_id="a",tier="decode"}`: 0},
		},
		{
			name: "SGLang in two pools: each has its own transfers", panel: "Transfer speed by tier",
			grows: map[string]float64{
				of("kv_cache_transfer_bytes_total", "sglang", "a-prefill", "r0", ""):   6e9,
				of("kv_cache_transfer_seconds_total", "sglang", "a-prefill", "r0", ""): 3,
				of("kv_cache_transfer_bytes_total", "sglang", "b", "r0", ""):           2e9,
				of("kv_cache_transfer_seconds_total", "sglang", "b", "r0", ""):         2,
			},
			shows: map[string]float64{`{pool_id="a-prefill"}`: 2e9, `{pool_id="b"}`: 1e9},
		},
		{
			name: "a vLLM without transfers has no speed", panel: "Transfer speed by tier",
			series: map[string]float64{
				of("kv_cache_transfer_bytes_total", "vllm", "a", "r0", ""):   1,
				of("kv_cache_transfer_seconds_total", "vllm", "a", "r0", ""): 1,
			},
		},
		{
			name: "failed transfers have their reason", panel: "Failed transfers by reason",
			grows: map[string]float64{
				of("kv_cache_transfer_failures_total", "vllm", "a", "prefill-0", `,reason="expired"`): 15,
				of("kv_cache_transfer_failures_total", "vllm", "a", "prefill-1", `,reason="expired"`): 30,
				of("kv_cache_transfer_failures_total", "vllm", "a", "decode-0", `,reason="receive"`):  15,
			},
			shows: map[string]float64{
				`{pool_id="a",tier="prefill",reason="expired"}`: 3,
				`{pool_id="a",tier="decode",reason="receive"}`:  1,
			},
		},
		{
			name: "Dynamo: what its router holds back waits in no engine", panel: "Waiting in routers",
			series: map[string]float64{
				of("requests_routing", "dynamo", "a", "frontend-0", router): 4,
				of("queue_depth", "dynamo", "a", "frontend-0", router):      4,
				of("queue_depth", "dynamo", "a", "worker-0", worker):        1,
			},
			shows: map[string]float64{`{pool_id="a",model_id="m"}`: 4},
		},
		{
			name: "Dynamo: workers that prefill and decode are told apart by their names", panel: "Running by tier",
			series: map[string]float64{
				of("requests_running", "dynamo", "a", "frontend-0", router):     9,
				of("requests_running", "dynamo", "a", "prefill-worker", worker): 2,
				of("requests_running", "dynamo", "a", "decode-worker", worker):  7,
			},
			shows: map[string]float64{
				`{pool_id="a",tier="frontend"}`: 9,
				`{pool_id="a",tier="prefill"}`:  2,
				`{pool_id="a",tier="decode"}`:   7,
			},
		},
		{
			name: "a pair of exporters counts what runs once", panel: "Running by tier",
			series: map[string]float64{
				of("requests_running", "vllm", "a", "decode-0", `,instance="a"`):  7,
				of("requests_running", "vllm", "a", "decode-0", `,instance="b"`):  7,
				of("requests_running", "vllm", "a", "prefill-0", `,instance="a"`): 2,
				of("requests_running", "vllm", "a", "prefill-0", `,instance="b"`): 2,
			},
			shows: map[string]float64{`{pool_id="a",tier="decode"}`: 7, `{pool_id="a",tier="prefill"}`: 2},
		},
		{
			name: "trtllm-serve: fewer requests reach decode than prefill", panel: "Requests sent to a stage",
			grows: map[string]float64{
				of("stage_requests_total", "trtllm-serve-disaggregated", "a", "r0", router+`,stage="prefill"`): 30,
				of("stage_requests_total", "trtllm-serve-disaggregated", "a", "r0", router+`,stage="decode"`):  15,
			},
			shows: map[string]float64{
				`pool_stage:llm_server_stage_requests:rate{pool_id="a",stage="prefill"}`: 2,
				`pool_stage:llm_server_stage_requests:rate{pool_id="a",stage="decode"}`:  1,
			},
		},
		{
			name: "hits are shares of all prompt tokens of the pool, by tier of the cache", panel: "Hit ratio by cache tier",
			grows: map[string]float64{
				of("prompt_tokens_total", "sglang", "a", "r0", ""):                                        1500,
				of("prompt_tokens_cached_by_tier_total", "sglang", "a", "r0", `,cache_tier="device"`):     600,
				of("prompt_tokens_cached_by_tier_total", "sglang", "a", "r0", `,cache_tier="host"`):       300,
				of("prompt_tokens_cached_by_tier_total", "trtllm-serve", "b", "r0", `,cache_tier="host"`): 300,
			},
			shows: map[string]float64{`{pool_id="a",cache_tier="device"}`: 0.4, `{pool_id="a",cache_tier="host"}`: 0.2},
		},
	}
}
