package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestRouterQueue has requests without a token, some of which may be in their prefill.
func TestRouterQueue(t *testing.T) {
	for _, c := range []struct {
		name                        string
		inFlight, unanswered, slots int
		workers, held               int
		want                        float64
	}{
		{"all places are taken", 40, 8, 16, 2, 0, 8},
		{"prompts are worked on and places are free", 4, 4, 256, 1, 0, 0},
		{"some prompts of those in places are worked on", 40, 20, 16, 2, 0, 8},
		{"requests beyond the limit with a first token do not wait", 40, 5, 16, 2, 0, 5},
		{"the router holds some back though places are free", 20, 20, 16, 2, 9, 9},
		{"nothing is in flight", 0, 0, 16, 2, 0, 0},
		{"an unknown number of workers", 40, 8, 16, 0, 0, -1},
		{"a limit of 0 is none", 40, 8, 0, 2, 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := []string{
				fmt.Sprintf(`dynamo_frontend_inflight_requests{model="m"} %d`, c.inFlight),
				fmt.Sprintf(`dynamo_frontend_queued_requests{model="m"} %d`, c.unanswered),
				fmt.Sprintf(`dynamo_frontend_model_max_num_seqs{model="m"} %d`, c.slots),
				fmt.Sprintf(`dynamo_frontend_router_queue_pending_requests{model="m"} %d`, c.held),
				// A prefill server has no requests of its own.
				`dynamo_frontend_worker_active_decode_blocks{worker_id="9",worker_type="prefill"} 1`,
			}
			for i := range c.workers {
				lines = append(
					lines,
					fmt.Sprintf(
						`dynamo_frontend_worker_active_decode_blocks{worker_id="%d",worker_type="decode"} 1`,
						i,
					),
				)
			}
			got := newBench(t, engine.Dynamo, "m").page(lines...)
			if c.want < 0 {
				got.lacks(t, `queue_depth{model_id="m"}`, c.name)
				return
			}
			require.InDelta(t, c.want, got.get(t, `queue_depth{model_id="m"}`), 1e-9)
		})
	}
}

// TestWorkersThatAreGone has a router whose page shows the workers 1, 2 and 3.
func TestWorkersThatAreGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		listed []string
		limit  string
	}{
		{"no list", nil, "96"},
		{"all are listed", []string{"1", "2", "3", "prefill"}, "96"},
		{"one is gone", []string{"1", "2"}, "64"},
		{"one is gone, and one without series came", []string{"1", "2", "4"}, ""},
		{"the list has other names", []string{"a"}, "96"},
		{"none is left", []string{}, "96"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Dynamo, "m")
			b.with(func(o *derive.Options) { o.Naming.Topology = o.Naming.Topology.WithWorkers(c.listed) })
			got := b.page(
				`dynamo_frontend_inflight_requests{model="m"} 10`,
				`dynamo_frontend_model_max_num_seqs{model="m"} 32`,
				`dynamo_frontend_worker_active_decode_blocks{worker_id="1",worker_type="decode"} 1`,
				`dynamo_frontend_worker_active_decode_blocks{worker_id="2",worker_type="decode"} 1`,
				`dynamo_frontend_worker_active_decode_blocks{worker_id="3",worker_type="decode"} 900`,
			)
			if c.limit == "" {
				got.lacks(t, `requests_limit{model_id="m"}`)
				return
			}
			require.Equal(t, c.limit, fmt.Sprint(got.get(t, `requests_limit{model_id="m"}`)))
		})
	}
}

// TestPromptBlocksAreNoCacheUse uses what a KV router counts for its workers.
func TestPromptBlocksAreNoCacheUse(t *testing.T) {
	got := newBench(t, engine.Dynamo, "m").page(
		`dynamo_frontend_model_total_kv_blocks{model="m"} 512`,
		`dynamo_frontend_model_kv_cache_block_size{model="m"} 64`,
		`dynamo_frontend_worker_active_decode_blocks{worker_id="1",worker_type="decode"} 6`,
	)
	got.lacks(t, `kv_cache_utilization_ratio{model_id="m"}`, "the router knows full blocks of prompts only")
	require.InDelta(t, 512*64, got.get(t, `kv_cache_capacity_tokens{model_id="m"}`), 1e-9)
}

// failures returns a frontend's page: errors of requests with a model, and all failures.
func failures(unavailable, validation, failed, invalid int) []string {
	const f = "dynamo_frontend_"
	return []string{
		f + `requests_total{error_type="",model="m",status="success"} 10`,
		fmt.Sprintf(f+`requests_total{error_type="unavailable",model="m",status="error"} %d`, unavailable),
		fmt.Sprintf(f+`requests_total{error_type="validation",model="m",status="error"} %d`, validation),
		fmt.Sprintf(f+`requests_total{error_type="not_found",model="unknown_model",status="error"} %d`, 2),
		fmt.Sprintf(f+`failures_total{class="Unavailable",reason="backend.unavailable"} %d`, failed-unavailable),
		fmt.Sprintf(f+`failures_total{class="Unavailable",reason="transport.cannot_connect"} %d`, unavailable),
		fmt.Sprintf(f+`failures_total{class="InvalidRequest",reason="request.invalid"} %d`, invalid),
		f + `failures_total{class="NotFound",reason="request.not_found"} 7`,
	}
}

// TestUnroutedRequestCountsOnce uses failures of which two counters have some and one has others.
func TestUnroutedRequestCountsOnce(t *testing.T) {
	for _, models := range [][]string{{"m"}, {"m", "other"}} {
		b := newBench(t, engine.Dynamo, models...)
		b.page(failures(0, 0, 0, 0)...)
		got := b.settled(failures(6, 3, 17, 5)...)
		sum := func(class string) float64 {
			v := got.get(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class))
			if len(models) > 1 {
				v += got.get(t, fmt.Sprintf(`requests_total{class=%q, model_id="unknown"}`, class))
			}
			return v
		}
		require.InDelta(t, 17, sum("server"), 1e-9, "with %d models", len(models))
		require.InDelta(t, 5+2, sum("client"), 1e-9, "and models that are not there, but no paths that are not")
		if len(models) == 1 {
			require.InDelta(
				t,
				11,
				got.get(t, `requests_failed_total{class="server", model_id="m", reason="not_routed"}`),
				1e-9,
			)
			require.InDelta(t, 17.0/22, got.get(t, `request_error_ratio{class="server", model_id="m"}`), 1e-9)
		}
	}
}

func TestUnclassifiedErrorsFailNoReplica(t *testing.T) {
	b := newBench(t, engine.Dynamo, "m")
	for n := range 5 {
		got := b.page(
			`dynamo_frontend_requests_total{model="m",namespace="a",status="success"} 40`,
			`dynamo_frontend_requests_total{model="m",namespace="b",status="success"} 2`,
			fmt.Sprintf(`dynamo_frontend_requests_total{model="m",namespace="a",status="error"} %d`, 5*n),
		)
		for _, f := range b.conditions().Failing {
			require.True(t, f.Unclear, "%+v", f)
		}
		require.InDelta(t, 42, got.get(t, `requests_total{class="ok", model_id="m"}`), 1e-9, "both namespaces")
		require.InDelta(t, 5*n, got.get(t, `requests_total{class="unknown", model_id="m"}`), 1e-9)
		for _, class := range []string{"server", "client"} {
			got.lacks(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class), "nothing says so")
			got.lacks(t, fmt.Sprintf(`request_error_ratio{class=%q, model_id="m"}`, class), "nothing says so")
		}
		if n > 0 {
			require.InDelta(t, 1, got.get(t, `requests_per_second{model_id="m"}`), 1e-9)
		}
	}
}
