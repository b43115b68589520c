package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// readPages reads consecutive pages of one server.
func readPages(t *testing.T, kind engine.Name, pages ...string) (read *engine.Page) {
	t.Helper()
	e := engineOf(t, kind)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	for _, text := range pages {
		block, err := cache.Parse([]byte(text), "", nil)
		require.NoError(t, err)
		if read != nil && read.Shape() == block.Shape() {
			read.Refresh(block)
		} else {
			read = engine.ReadNext(e, block, read)
		}
	}
	return read
}

func TestRankReasons(t *testing.T) {
	const gauges = "trtllm_num_requests_running 1\ntrtllm_num_requests_waiting 0\ntrtllm_num_scheduled_requests 1\n" +
		"trtllm_kv_cache_utilization 0.5\ntrtllm_iteration_latency_seconds 1\n" +
		"trtllm_request_success_total 1\ntrtllm_e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1\n"
	page := func(more string, batches ...int) string {
		var b strings.Builder
		for rank, n := range batches {
			fmt.Fprintf(&b, "trtllm_scheduled_batch_size{pid=\"%d\",rank=\"%d\"} %d\n", 10+rank, rank, n)
		}
		return gauges + b.String() + more
	}
	times := func(n int, pages ...string) (all []string) {
		for range n {
			all = append(all, pages...)
		}
		return all
	}
	apart := times(3, page("", 3, 5))
	running := map[engine.Ranks]map[string]engine.Combine{
		engine.RanksUnseen: {"": engine.Newest}, engine.RanksOne: {"0": engine.Newest},
		engine.RanksUnsure: {
			"0": engine.ZeroOnly,
			"1": engine.ZeroOnly,
		}, engine.RanksApart: {"0": engine.Sum, "1": engine.Sum},
	}
	for _, c := range []struct {
		says  string
		pages []string
		ranks engine.Ranks
		name  string
		want  string
	}{
		{
			"of a release without batches the gauges count",
			[]string{page("")},
			engine.RanksUnseen, engine.CanRunning,
			"true, trtllm_num_scheduled_requests, of the last iteration, updated when a request ends",
		},
		{
			"one batch",
			[]string{page("", 3)},
			engine.RanksOne, engine.CanRunning,
			"true, scheduled_batch_size, the batch of the latest iteration, 0 when idle",
		},
		{
			"its queue",
			[]string{page("", 3)},
			engine.RanksOne, engine.CanQueue,
			"true, trtllm_num_requests_waiting, of the last iteration, updated when a request ends",
		},
		{
			"two equal ones", times(4, page("", 3, 3)), engine.RanksUnsure, engine.CanQueue,
			"false, its 2 ranks show batches, and it is not clear yet whether they share requests, as " +
				"tensor-parallel ranks do, or have their own: this takes some requests",
		},
		{
			"two with equal changes", times(3, page("", 1, 1), page("", 2, 2))[:5], engine.RanksOne,
			engine.CanQueue,
			"true, trtllm_num_requests_waiting, of the last iteration, updated when a request ends",
		},
		{
			"two that differed once",
			append([]string{page("", 3, 5)}, times(5, page("", 1, 1), page("", 2, 2))[:9]...),
			engine.RanksOne, engine.CanRunning,
			"true, scheduled_batch_size, the batch of the latest iteration, 0 when idle",
		},
		{
			"two different ones", apart, engine.RanksApart, engine.CanRunning,
			"true, the batches of 2 ranks together, each of which has requests of its own",
		},
		{
			"the queue of those", apart, engine.RanksApart, engine.CanQueue,
			"false, attention is data parallel over 2 ranks: num_requests_waiting is the last one's, and requests " +
				"wait at the first [iteration_stats: true in the pool, then " +
				"llm_server_iteration_stats_queued_requests]",
		},
		{
			"their KV cache", apart, engine.RanksApart, engine.CanKVCache,
			"true, kv_cache_utilization, which is that of one of 2 ranks",
		},
		{
			"known from before other series appeared",
			append(apart, page("trtllm_request_error_total 1\n", 3, 3)),
			engine.RanksApart, engine.CanRunning,
			"true, the batches of 2 ranks together, each of which has requests of its own",
		},
		{
			"some ranks are elsewhere",
			times(4, page("trtllm_parallel_config_info{tensor_parallel_size=\"4\"} 1\n", 3, 5)),
			engine.RanksUnsure, engine.CanStall,
			"false, attention is data parallel, and 2 ranks are on the page: the others are on other machines",
		},
		{
			"the batch of a removed process",
			times(4, page("trtllm_scheduled_batch_size{pid=\"7\",rank=\"1\"} 9\n", 3, 5)),
			engine.RanksUnsure, engine.CanRunning,
			"false, some of its ranks show the batches of several processes, and the page does not show which of " +
				"them are alive",
		},
		{
			"stages of a pipeline",
			times(4, page("trtllm_parallel_config_info{pipeline_parallel_size=\"2\"} 1\n", 3, 5)),
			engine.RanksUnseen, engine.CanRunning,
			"true, trtllm_num_scheduled_requests, of the last iteration, updated when a request ends",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			read := readPages(t, engine.TRTLLMServe, c.pages...)
			require.Equal(t, c.ranks, read.Ranks())
			shown := make(map[string]engine.Combine)
			for _, s := range read.Sources() {
				if s.Meaning.Signal == engine.RequestsRunning {
					shown[s.Labels.Get("rank")] = s.Meaning.Combine
				}
			}
			require.Equal(t, running[c.ranks], shown)
			require.Equal(t, c.ranks == engine.RanksApart, read.Has(engine.EngineRanks))
			require.Equal(t, c.want, capability(t, engine.TRTLLMServe, c.name, &engine.Knowledge{Page: read}))
		})
	}
}

func TestLiveTokensNeedIterations(t *testing.T) {
	const page = "trtllm_request_success_total 1\n"
	for _, c := range []struct {
		page string
		read bool
		want string
	}{
		{
			page, false,
			"false, iterations are on the JSON page /metrics only, and reading it takes them from other readers " +
				"[iteration_stats: true in the pool, if nobody else reads it]",
		},
		{
			page, true,
			"false, the iterations of GET /metrics are read, and none is on the page: their statistics are off, or " +
				"no request has ended yet [enable_iter_perf_stats: true]",
		},
		{
			page + "trtllm_iteration_latency_seconds 1\n", true,
			"true, an estimate from the iterations of GET /metrics: " +
				"llm_server_iteration_stats_generation_tokens_estimated_total",
		},
	} {
		known := &engine.Knowledge{Page: readPage(t, engine.TRTLLMServe, []byte(c.page)), Iterations: c.read}
		require.Equal(t, c.want, capability(t, engine.TRTLLMServe, engine.CanLiveTokens, known))
	}
}
