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

// rankPage returns a page with the batches of ranks and the number of requests that ended well.
func rankPage(ended int, more string, batches ...int) string {
	var b strings.Builder
	b.WriteString("trtllm_num_requests_running 1\ntrtllm_num_requests_waiting 0\ntrtllm_num_scheduled_requests 1\n" +
		"trtllm_kv_cache_utilization 0.5\ntrtllm_iteration_latency_seconds 1\n" +
		"trtllm_e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1\n")
	fmt.Fprintf(&b, "trtllm_request_success_total %d\n%s", ended, more)
	for rank, n := range batches {
		fmt.Fprintf(&b, "trtllm_scheduled_batch_size{pid=\"%d\",rank=\"%d\"} %d\n", 10+rank, rank, n)
	}
	return b.String()
}

// ownRequests are pages of two ranks that have requests of their own.
func ownRequests() []string {
	return []string{rankPage(1, "", 3, 5), rankPage(2, "", 3, 5), rankPage(3, "", 4, 5)}
}

func TestBatchesTellWhetherRanksShareRequests(t *testing.T) {
	for _, c := range []struct {
		says  string
		pages []string
		want  engine.Ranks
	}{
		{"equal batches that change, always busy", []string{
			rankPage(1, "", 8, 8), rankPage(2, "", 7, 7), rankPage(3, "", 6, 6), rankPage(6, "", 7, 7),
		}, engine.RanksUnsure},
		{"balanced waves", []string{
			rankPage(0, "", 0, 0), rankPage(0, "", 4, 4), rankPage(8, "", 0, 0), rankPage(8, "", 4, 4),
		}, engine.RanksUnsure},
		{"one request in two batches, or one in each whose client left", []string{
			rankPage(4, "", 0, 0), rankPage(4, "", 1, 1), rankPage(5, "", 0, 0), rankPage(5, "", 0, 0),
		}, engine.RanksUnsure},
		{"different batches that stay while requests end", ownRequests(), engine.RanksApart},
		{"requests of one rank alone", []string{
			rankPage(0, "", 2, 0), rankPage(1, "", 2, 0),
		}, engine.RanksApart},
		{"a page of the middle of an iteration", []string{
			rankPage(1, "", 3, 4), rankPage(2, "", 4, 4), rankPage(3, "", 5, 4), rankPage(4, "", 6, 5),
		}, engine.RanksUnsure},
		{"an iteration that hangs, and goes on", []string{
			rankPage(1, "", 3, 4), rankPage(1, "", 3, 4), rankPage(1, "", 3, 4), rankPage(2, "", 4, 4),
		}, engine.RanksUnsure},
		{"a server that restarts", []string{
			rankPage(50, "", 3, 4), rankPage(0, "", 3, 4),
		}, engine.RanksUnsure},
		{"own requests, then in step", append(ownRequests(), rankPage(9, "", 4, 4)), engine.RanksApart},
		{"one rank", []string{rankPage(1, "", 3)}, engine.RanksOne},
		{"no batches", []string{rankPage(1, "")}, engine.RanksUnseen},
	} {
		t.Run(c.says, func(t *testing.T) {
			require.Equal(t, c.want, readPages(t, engine.TRTLLMServe, c.pages...).Ranks())
		})
	}
}

func TestRankReasons(t *testing.T) {
	with := func(more string) (all []string) {
		return []string{rankPage(1, more, 3, 5), rankPage(2, more, 3, 5), rankPage(3, more, 4, 5)}
	}
	running := map[engine.Ranks]map[string]engine.Combine{
		engine.RanksUnseen: {"": engine.Newest}, engine.RanksOne: {"0": engine.Newest},
		engine.RanksUnsure: {
			"0": engine.ZeroOnly,
			"1": engine.ZeroOnly,
		}, engine.RanksApart: {"0": engine.Sum, "1": engine.Sum},
	}
	for _, c := range []struct {
		says       string
		pages      []string
		ranks      engine.Ranks
		name       string
		iterations bool
		want       string
	}{
		{
			says:  "of a release without batches the gauges count",
			pages: []string{rankPage(1, "")},
			ranks: engine.RanksUnseen, name: engine.CanRunning,
			want: "true, trtllm_num_scheduled_requests, of the last iteration, updated when a request ends",
		},
		{
			says:  "one batch",
			pages: []string{rankPage(1, "", 3)},
			ranks: engine.RanksOne, name: engine.CanRunning,
			want: "true, scheduled_batch_size, the batch of the latest iteration, 0 when idle",
		},
		{
			says:  "its queue",
			pages: []string{rankPage(1, "", 3)},
			ranks: engine.RanksOne, name: engine.CanQueue,
			want: "true, trtllm_num_requests_waiting, of the last iteration, updated when a request ends",
		},
		{
			says:  "two equal ones",
			pages: []string{rankPage(1, "", 3, 3), rankPage(2, "", 3, 3)},
			ranks: engine.RanksUnsure, name: engine.CanQueue,
			want: "false, its 2 ranks show batches, and nothing tells whether they share requests, as " +
				"tensor-parallel ranks do, or have their own [iteration_stats: true in the pool, if nobody else reads it]",
		},
		{
			says:  "two with their own",
			pages: ownRequests(),
			ranks: engine.RanksApart, name: engine.CanRunning,
			want: "true, the batches of 2 ranks together, each of which has requests of its own",
		},
		{
			says:  "the queue of those",
			pages: ownRequests(),
			ranks: engine.RanksApart, name: engine.CanQueue,
			want: "false, attention is data parallel over 2 ranks: num_requests_waiting is the last one's, and requests " +
				"wait at the first [iteration_stats: true in the pool, then " +
				"llm_server_iteration_stats_queued_requests]",
		},
		{
			says:  "the queue of those, whose iterations are read",
			pages: ownRequests(),
			ranks: engine.RanksApart, name: engine.CanQueue, iterations: true,
			want: "false, attention is data parallel over 2 ranks: num_requests_waiting is the last one's, and requests " +
				"wait at the first, as llm_server_iteration_stats_queued_requests shows",
		},
		{
			says:  "their KV cache",
			pages: ownRequests(),
			ranks: engine.RanksApart, name: engine.CanKVCache,
			want: "true, kv_cache_utilization, which is that of one of 2 ranks",
		},
		{
			says:  "known from before other series appeared",
			pages: append(ownRequests(), rankPage(4, "trtllm_request_error_total 1\n", 3, 3)),
			ranks: engine.RanksApart, name: engine.CanRunning,
			want: "true, the batches of 2 ranks together, each of which has requests of its own",
		},
		{
			says:  "some ranks are elsewhere",
			pages: with("trtllm_parallel_config_info{tensor_parallel_size=\"4\"} 1\n"),
			ranks: engine.RanksUnsure, name: engine.CanQueue,
			want: "false, attention is data parallel, and 2 ranks are on the page: the others are on other machines",
		},
		{
			says:  "the batch of a removed process",
			pages: with("trtllm_scheduled_batch_size{pid=\"7\",rank=\"1\"} 9\n"),
			ranks: engine.RanksUnsure, name: engine.CanRunning,
			want: "false, some of its ranks show the batches of several processes, and the page does not show which of " +
				"them are alive",
		},
		{
			says:  "stages of a pipeline",
			pages: with("trtllm_parallel_config_info{pipeline_parallel_size=\"2\"} 1\n"),
			ranks: engine.RanksUnseen, name: engine.CanRunning,
			want: "true, trtllm_num_scheduled_requests, of the last iteration, updated when a request ends",
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
			known := &engine.Knowledge{Page: read, Iterations: c.iterations}
			require.Equal(t, c.want, capability(t, engine.TRTLLMServe, c.name, known))
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
