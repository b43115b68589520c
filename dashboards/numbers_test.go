package dashboards_test

import (
	"fmt"
	"strings"
	"testing"
)

// number is the expected result of a panel's query, by default the first, after four
// minutes.
type number struct {
	name, panel string
	query       int
	// series have constant values.
	series map[string]float64
	// grows holds counters by their increase in 15 seconds.
	grows map[string]float64
	// shows are the expected values by labels.
	shows map[string]float64
}

// asTest returns the test in promtool's format.
func (n *number) asTest(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: '%s'\n    interval: 15s\n    input_series:\n", n.name)
	for series, v := range n.series {
		fmt.Fprintf(&b, "      - { series: '%s', values: '%gx20' }\n", series, v)
	}
	for series, v := range n.grows {
		fmt.Fprintf(&b, "      - { series: '%s', values: '0+%gx20' }\n", series, v)
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: '%s'\n        eval_time: 4m\n        "+
		"exp_samples: [", sent(panelOf(t, n.panel).Targets[n.query].Expr))
	for labels, v := range n.shows {
		fmt.Fprintf(&b, "{ labels: '%s', value: %g }, ", labels, v)
	}
	b.WriteString("]\n")
	return b.String()
}

func TestPanelValues(t *testing.T) {
	t.Parallel()
	testNumbers(t, numbers())
}

func testNumbers(t *testing.T, numbers []number) {
	t.Helper()
	var all strings.Builder
	for _, n := range numbers {
		all.WriteString(n.asTest(t))
	}
	testRules(t, all.String())
}

// dynamo returns the requests and their durations of a frontend and of two workers.
func dynamo() map[string]float64 {
	series := make(map[string]float64)
	for i, tier := range []string{"frontend", "worker", "worker"} {
		labels := fmt.Sprintf(
			"{pool_id=%q,replica_id=%q,tier=%q,engine=%q,model_id=%q}",
			"dyn",
			fmt.Sprint("r", i),
			tier,
			"dynamo",
			"m",
		)
		series["llm_server_requests_per_second"+labels] = []float64{10, 5, 5}[i]
		series["llm_server_request_duration_average_seconds"+labels] = []float64{2, 1.5, 1.5}[i]
	}
	return series
}

// numbers returns expected results of error-prone panels.
func numbers() []number {
	return []number{
		{
			name: "free tokens are counted at the workers, since their frontend repeats them", panel: "Free KV cache tokens",
			series: map[string]float64{
				of("kv_cache_free_tokens", "dynamo", "dyn", "front", `,tier="frontend"`): 9000,
				of("kv_cache_free_tokens", "dynamo", "dyn", "w0", `,tier="worker"`):      4000,
				of("kv_cache_free_tokens", "dynamo", "dyn", "w1", `,tier="worker"`):      4000,
			},
			shows: map[string]float64{`{pool_id="dyn",model_id="m"}`: 8000},
		},
		{
			name: "failed requests are relative to the allowed share, or to one percent", panel: "Pools", query: 13,
			series: map[string]float64{
				`pool_model_class:llm_server_requests_not_ok:rate{pool_id="strict",model_id="m",class="server"}`: 5,
				`pool_model:llm_server_requests:rate{pool_id="strict",model_id="m"}`:                             10,
				`llm_server_slo_objective{pool_id="strict",slo="availability"}`:                                  0.75,
				`pool_model_class:llm_server_requests_not_ok:rate{pool_id="plain",model_id="m",class="server"}`:  0.2,
				`pool_model:llm_server_requests:rate{pool_id="plain",model_id="m"}`:                              10,
				`llm_server_serving{pool_id="plain",replica_id="r0",engine="triton"}`:                            1,
			},
			shows: map[string]float64{`{pool_id="strict"}`: 2, `{pool_id="plain"}`: 2},
		},
		{
			name: "a replica that the exporter never saw is not ready", panel: "Replicas not ready",
			series: map[string]float64{
				`llm_server_state{pool_id="a",replica_id="r0",engine="triton",state="ready"}`:    1,
				`llm_server_state{pool_id="a",replica_id="r0",engine="triton",state="unknown"}`:  0,
				`llm_server_state{pool_id="a",replica_id="r1",engine="unknown",state="ready"}`:   0,
				`llm_server_state{pool_id="a",replica_id="r1",engine="unknown",state="unknown"}`: 1,
			},
			shows: map[string]float64{`{pool_id="a",replica_id="r1"}`: 0},
		},
		{
			name: "a replica that one of two exporters sees ready is ready", panel: "Replicas not ready",
			series: map[string]float64{
				`llm_server_state{instance="a",pool_id="a",replica_id="r0",engine="triton",state="ready"}`: 0,
				`llm_server_state{instance="a",pool_id="a",replica_id="r0",engine="triton",state="down"}`:  1,
				`llm_server_state{instance="b",pool_id="a",replica_id="r0",engine="triton",state="ready"}`: 1,
				`llm_server_state{instance="b",pool_id="a",replica_id="r0",engine="triton",state="down"}`:  0,
				`llm_server_state{instance="a",pool_id="a",replica_id="r1",engine="triton",state="ready"}`: 0,
				`llm_server_state{instance="a",pool_id="a",replica_id="r1",engine="triton",state="down"}`:  1,
				`llm_server_state{instance="b",pool_id="a",replica_id="r1",engine="triton",state="ready"}`: 0,
				`llm_server_state{instance="b",pool_id="a",replica_id="r1",engine="triton",state="down"}`:  1,
			},
			shows: map[string]float64{`{pool_id="a",replica_id="r1"}`: 10},
		},
		{
			name: "a pool that is mixed on purpose is no skew", panel: "Skew",
			series: map[string]float64{
				`llm_server_pool_skew{pool_id="a-mixed",fact="config_hash"}`: 2,
				`llm_server_pool_skew{pool_id="a",fact="config_hash"}`:       0,
			},
			shows: map[string]float64{`{}`: 0},
		},
		{
			name: "a pool without token counts does not raise the energy per " +
				"token of others", panel: "Energy per token",
			grows: map[string]float64{
				`llm_server_gpu_energy_joules_total{pool_id="a",replica_id="r0",gpu_uuid="g"}`:   3000,
				`llm_server_generation_tokens_total{pool_id="a",replica_id="r0",model_id="m"}`:   1500,
				`llm_server_gpu_energy_joules_total{pool_id="old",replica_id="r0",gpu_uuid="g"}`: 6000,
				`llm_server_generation_tokens_total{pool_id="cpu",replica_id="r0",model_id="m"}`: 1500,
			},
			shows: map[string]float64{`{}`: 2},
		},
		{
			name: "a replica without successful requests does not lower the mean " +
				"of its version", panel: "Mean duration by version",
			series: map[string]float64{
				`llm_server_request_duration_average_seconds{pool_id="a",replica_id="r0",engine="triton",model_id="m",model="llm",version="1"}`: 4,
				`llm_server_requests_per_second{pool_id="a",replica_id="r0",engine="triton",model_id="m",model="llm",version="1"}`:              10,
				`llm_server_requests_per_second{pool_id="a",replica_id="r1",engine="triton",model_id="m",model="llm",version="1"}`:              10,
			},
			shows: map[string]float64{`{pool_id="a",model_id="m",model="llm",version="1"}`: 4},
		},
		{
			name: "a replica is full that serves and whose models are, some or all", panel: "Saturated replicas",
			series: map[string]float64{
				`llm_server_saturated{pool_id="a",replica_id="r0",engine="triton",model_id="m"}`: 1,
				`llm_server_saturated{pool_id="a",replica_id="r0",engine="triton",model_id="n"}`: 0,
				`llm_server_saturated{pool_id="a",replica_id="r1",engine="triton",model_id="m"}`: 0,
				`llm_server_saturated{pool_id="a",replica_id="r2",engine="triton",model_id="m"}`: 1,
				`llm_server_saturated{pool_id="b",replica_id="r0",engine="vllm",model_id="m"}`:   1,
				`llm_server_serving{pool_id="a",replica_id="r0",engine="triton"}`:                1,
				`llm_server_serving{pool_id="a",replica_id="r1",engine="triton"}`:                1,
				`llm_server_serving{pool_id="a",replica_id="r2",engine="triton"}`:                0,
				`llm_server_serving{pool_id="b",replica_id="r0",engine="vllm"}`:                  1,
			},
			shows: map[string]float64{`{}`: 2},
		},
		{
			name: "no replica is full", panel: "Saturated replicas",
			series: map[string]float64{
				`llm_server_saturated{pool_id="a",replica_id="r0",engine="triton",model_id="m"}`: 0,
				`llm_server_serving{pool_id="a",replica_id="r0",engine="triton"}`:                1,
			},
			shows: map[string]float64{`{}`: 0},
		},
		{
			name: "a frontend and its workers count a request once", panel: "Requests by version",
			series: dynamo(), shows: map[string]float64{`{pool_id="dyn",model_id="m"}`: 10},
		},
		{
			name: "the duration of a request is what its client sees", panel: "Mean duration of entry models",
			series: dynamo(), shows: map[string]float64{`{pool_id="dyn",model_id="m"}`: 2},
		},
		{
			name: "the duration of a request by version is what its client sees", panel: "Mean duration by version",
			series: dynamo(), shows: map[string]float64{`{pool_id="dyn",model_id="m"}`: 2},
		},
		{
			name: "shards sum their targets, a pair counts them once", panel: "Targets",
			series: map[string]float64{
				`trtllm_exporter_targets{instance="e0",pool_id="a"}`:                   2,
				`trtllm_exporter_targets{instance="e1",pool_id="a"}`:                   1,
				`trtllm_exporter_targets{instance="e2",pool_id="a"}`:                   1,
				`trtllm_exporter_target_up{instance="e0",pool_id="a",replica_id="r0"}`: 1,
				`trtllm_exporter_target_up{instance="e0",pool_id="a",replica_id="r1"}`: 0,
				`trtllm_exporter_target_up{instance="e1",pool_id="a",replica_id="r2"}`: 1,
				`trtllm_exporter_target_up{instance="e2",pool_id="a",replica_id="r2"}`: 1,
			},
			shows: map[string]float64{`{}`: 3},
		},
		{
			name: "silent ranks count as targets", panel: "Targets",
			series: map[string]float64{
				`trtllm_exporter_targets{instance="e0",pool_id="a"}`:                   3,
				`trtllm_exporter_targets{instance="e0",pool_id="b"}`:                   1,
				`trtllm_exporter_target_up{instance="e0",pool_id="a",replica_id="r0"}`: 1,
				`trtllm_exporter_target_up{instance="e0",pool_id="b",replica_id="r0"}`: 1,
			},
			shows: map[string]float64{`{}`: 4},
		},
		{
			name: "a pool without targets shows 0", panel: "Targets",
			series: map[string]float64{`trtllm_exporter_targets{instance="e0",pool_id="a"}`: 0},
			shows:  map[string]float64{`{}`: 0},
		},
	}
}
