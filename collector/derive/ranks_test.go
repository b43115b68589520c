package derive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestStalledRankIsStall uses real pages of servers with two engines: one hangs, and the sums
// continue.
func TestStalledRankIsStall(t *testing.T) {
	vllm := func(steps [2]int) (lines []string) {
		for rank, n := range steps {
			l := fmt.Sprintf(`engine="%d",model_name="m"`, rank)
			lines = append(
				lines,
				fmt.Sprintf(`vllm:num_requests_running{%s} 4`, l),
				fmt.Sprintf(`vllm:num_requests_waiting{%s} 0`, l),
				fmt.Sprintf(
					`vllm:prompt_tokens_total{%s} %d`,
					l,
					10*n,
				),
				fmt.Sprintf(`vllm:generation_tokens_total{%s} %d`, l, 4*n),
				fmt.Sprintf(
					`vllm:request_success_total{%s,finished_reason="stop"} %d`,
					l,
					n,
				),
				fmt.Sprintf(`vllm:iteration_tokens_total_count{%s} %d`, l, n),
				fmt.Sprintf(`vllm:engine_sleep_state{%s,sleep_state="awake"} 1`, l),
			)
		}
		return append(
			lines,
			fmt.Sprintf(
				`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`,
				steps[0]+steps[1],
			),
			// One sleeps, one is idle.
			`vllm:num_requests_running{engine="2",model_name="m"} 4`,
			`vllm:generation_tokens_total{engine="2",model_name="m"} 5`,
			`vllm:engine_sleep_state{engine="2",model_name="m",sleep_state="awake"} 0`,
			`vllm:num_requests_running{engine="3",model_name="m"} 0`,
			`vllm:generation_tokens_total{engine="3",model_name="m"} 5`,
		)
	}
	vllmWithoutSteps := func(steps [2]int) []string { return without(vllm(steps), "iteration_tokens") }
	sglang := func(steps [2]int) (lines []string) {
		for rank, n := range steps {
			l := fmt.Sprintf(
				`dp_rank="%d",engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"`,
				rank,
			)
			lines = append(
				lines,
				fmt.Sprintf(`sglang:num_running_reqs{%s} 4`, l),
				fmt.Sprintf(`sglang:num_queue_reqs{%s} 1`, l),
				fmt.Sprintf(
					`sglang:realtime_tokens_total{mode="decode",%s} %d`,
					l,
					4*n,
				),
				fmt.Sprintf(`sglang:cuda_graph_passes_total{mode="decode_none",%s} %d`, l, n),
			)
		}
		// Series of requests have no rank.
		const l = `engine_type="unified",is_streaming="true",model_name="m"`
		all := steps[0] + steps[1]
		return append(
			lines,
			fmt.Sprintf(`sglang:generation_tokens_total{%s} %d`, l, all),
			fmt.Sprintf(`sglang:prompt_tokens_total{%s} %d`, l, all),
			fmt.Sprintf(`sglang:num_requests_total{%s} %d`, l, all),
		)
	}
	for _, server := range []struct {
		name string
		kind engine.Name
		page func(steps [2]int) []string
	}{
		{"vLLM", engine.VLLM, vllm},
		{"vLLM without iterations", engine.VLLM, vllmWithoutSteps},
		{"NIM 2.x with vLLM", engine.NIM, vllm},
		{"SGLang", engine.SGLang, sglang},
		{"NIM 2.x with SGLang", engine.NIM, sglang},
	} {
		for _, c := range []struct {
			name string
			// moves is the number of pages on which each rank moves.
			moves   [2]int
			stalled time.Duration
		}{
			{"both go on", [2]int{8, 8}, 0},
			{"the second stands still", [2]int{8, 0}, 35 * time.Second},
			{"the first stands still", [2]int{0, 8}, 35 * time.Second},
			{"both stand still, the first for longer", [2]int{0, 1}, 35 * time.Second},
			{"both stand still, the second for longer", [2]int{1, 0}, 35 * time.Second},
		} {
			t.Run(server.name+", "+c.name, func(t *testing.T) {
				b := newBench(t, server.kind, "m")
				for n := range 8 {
					b.page(server.page([2]int{100 + min(n, c.moves[0]), 100 + min(n, c.moves[1])})...)
				}
				still := longest(b)
				require.Equal(t, c.stalled > 0, still.InFlight > 0)
				if c.stalled > 0 {
					require.Equal(t, c.stalled, time.Unix(0, 0).Add(b.now-scrapeEvery).Sub(still.Since))
					require.Equal(t, max(c.moves[0], c.moves[1]) > 1, still.Partly)
				}
			})
		}
	}
}

// serveRanks returns a page of a trtllm-serve whose ranks show these batches. The
// gauges of iterations are the last rank's, including a queue of 0.
func serveRanks(stages, ended int, batches ...int) []string {
	const l = `engine_type="pytorch",model_name="m"`
	last := batches[len(batches)-1]
	page := []string{
		fmt.Sprintf(
			`trtllm_parallel_config_info{%s,pid="9",pipeline_parallel_size="%d",tensor_parallel_size="%d"} 1`,
			l,
			stages,
			len(batches)/stages,
		),
		fmt.Sprintf(`trtllm_request_success_total{%s,finished_reason="length"} %d`, l, ended),
		fmt.Sprintf(`trtllm_spec_decode_num_draft_tokens_total{%s} %d`, l, 40*ended),
		fmt.Sprintf(`trtllm_spec_decode_num_accepted_tokens_total{%s} %d`, l, 10*ended),
	}
	for name, v := range map[string]float64{
		"num_requests_running":      float64(batches[0]),
		"num_scheduled_requests":    float64(last),
		"num_generation_requests":   float64(last),
		"num_requests_waiting":      0,
		"max_num_active_requests":   8,
		"kv_cache_max_blocks":       512,
		"kv_cache_used_blocks":      128,
		"kv_cache_free_blocks":      384,
		"kv_cache_tokens_per_block": 32,
		"kv_cache_utilization":      0.25,
		"iteration_latency_seconds": 0.04,
	} {
		page = append(page, fmt.Sprintf(`trtllm_%s{%s,pid="9"} %g`, name, l, v))
	}
	for rank, n := range batches {
		page = append(page, fmt.Sprintf(`trtllm_scheduled_batch_size{%s,pid="%d",rank="%d"} %d`, l, 10+rank, rank, n))
	}
	return page
}

func TestRanksOfTRTLLMServe(t *testing.T) {
	const id = `{model_id="m"}`
	shared := map[string]float64{
		"requests_running":           3,
		"queue_depth":                0,
		"requests_limit":             8,
		"kv_cache_capacity_tokens":   16384,
		"headroom_requests":          5,
		"kv_cache_utilization_ratio": 0.25,
	}
	apart := map[string]float64{
		"requests_running":             21,
		"requests_limit":               32,
		"headroom_requests":            11,
		"requests_fill_ratio":          21. / 32,
		"saturated":                    0,
		"kv_cache_blocks_limit":        2048,
		"kv_cache_capacity_tokens":     65536,
		"kv_cache_utilization_ratio":   0.25,
		"spec_decode_acceptance_ratio": 0.25,
	}
	for _, c := range []struct {
		name   string
		stages int
		pages  [][]int
		want   map[string]float64
		lacks  string
	}{
		{
			"each with its own requests: sums of requests and limits",
			1,
			[][]int{{5, 6, 6, 4}, {5, 6, 6, 4}, {5, 7, 6, 4}, {5, 7, 6, 3}},
			apart,
			"queue_depth requests_active requests_decode requests_waiting kv_cache_free_tokens " +
				"spec_decode_draft_tokens_total",
		},
		{
			"still known while all are full", 1,
			[][]int{{5, 7}, {5, 7}, {5, 6}, {8, 8}, {8, 8}, {8, 8}},
			map[string]float64{"requests_running": 16, "requests_limit": 16, "saturated": 1},
			"queue_depth",
		},
		{
			"equal changes by chance, each with its own requests",
			1,
			[][]int{{8, 8}, {8, 7}, {8, 7}, {7, 7}, {8, 8}, {7, 7}, {8, 8}, {8, 7}},
			map[string]float64{"requests_running": 15},
			"",
		},
		{
			"the mean batch is of all of them", 1,
			[][]int{{6, 4}, {6, 4}, {7, 3}, {6, 4}, {4, 6}, {7, 3}},
			map[string]float64{"requests_running": 10, "batch_size_average": 10},
			"",
		},
		{
			"equal batches may be either", 1,
			[][]int{{8, 8}, {7, 7}, {8, 8}, {6, 6}, {5, 5}, {8, 8}},
			map[string]float64{"kv_cache_utilization_ratio": 0.25},
			"requests_running queue_depth requests_limit headroom_requests saturated spec_decode_draft_tokens_total",
		},
		{
			"nothing runs on any", 1,
			[][]int{{0, 0}, {0, 0}},
			map[string]float64{"requests_running": 0},
			"queue_depth requests_limit",
		},
		{"stages of a pipeline show microbatches", 2, [][]int{{3, 2}, {1, 4}, {3, 2}, {1, 4}, {3, 3}}, shared, ""},
		{"there is one rank", 1, [][]int{{3}}, shared, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.TRTLLMServe, "m")
			var got values
			for i, batches := range c.pages {
				got = b.page(serveRanks(c.stages, 20+i, batches...)...)
			}
			for name, v := range c.want {
				require.InDelta(t, v, got.get(t, name+id), 1e-9, name)
			}
			for name := range strings.FieldsSeq(c.lacks) {
				got.lacks(t, name+id)
			}
		})
	}
}

func TestRanksOnOtherMachines(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m")
	var got values
	for i := range 6 {
		page := serveRanks(1, i, 5, 7-i%2)
		page[0] = `trtllm_parallel_config_info{engine_type="pytorch",model_name="m",pid="9",pipeline_parallel_size="1",tensor_parallel_size="4"} 1`
		got = b.page(page...)
	}
	got.lacks(t, `requests_running{model_id="m"}`, "two of four ranks are on this machine")
}

func TestIdleTRTLLMServeRunsNothing(t *testing.T) {
	const l, batch = `engine_type="pytorch",model_name="m"`, 8
	stale := func(ended, running int) []string {
		return []string{
			fmt.Sprintf(`trtllm_request_success_total{%s,finished_reason="length"} %d`, l, ended),
			fmt.Sprintf(`trtllm_num_requests_running{%s,pid="9"} %d`, l, running),
			fmt.Sprintf(`trtllm_num_scheduled_requests{%s,pid="9"} %d`, l, running),
			fmt.Sprintf(`trtllm_num_requests_waiting{%s,pid="9"} 0`, l),
			fmt.Sprintf(`trtllm_max_num_active_requests{%s,pid="9"} 8`, l),
			fmt.Sprintf(`trtllm_num_generation_requests{%s,pid="9"} %d`, l, running),
		}
	}
	live := func(n int) string { return fmt.Sprintf(`trtllm_scheduled_batch_size{%s,pid="9",rank="0"} %d`, l, n) }
	for _, c := range []struct {
		name    string
		more    []string
		running int
		pages   int
		want    [3]float64 // Running, active, headroom.
	}{
		{"the last completed request is still on its gauges", nil, 1, 13, [3]float64{0, 0, 8}},
		{"one that ended recently may not be the last", nil, 1, 12, [3]float64{1, 1, 7}},
		{"the batch shows at once that nothing runs", []string{live(0)}, 1, 2, [3]float64{0, 0, 8}},
		{
			"several that ended together count until none has ended for a while",
			[]string{live(0)},
			batch, 2,
			[3]float64{0, batch, 0},
		},
		{"and then no more", []string{live(0)}, batch, 15, [3]float64{0, 0, 8}},
		{"one long request runs as long as the batch shows it", []string{live(1)}, 1, 15, [3]float64{1, 1, 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.TRTLLMServe, "m")
			b.page(append(stale(4, c.running), c.more...)...)
			got := b.repeat(c.pages, append(stale(5, c.running), c.more...))
			for i, name := range []string{"requests_running", "requests_active", "headroom_requests"} {
				require.InDelta(t, c.want[i], got.get(t, name+`{model_id="m"}`), 1e-9, name)
			}
			require.InDelta(t, c.want[1]/8, got.get(t, `saturation_ratio{model_id="m"}`), 1e-9)
		})
	}
}

// TestHitsOfTheWarmUpAreNoRatio has the first releases of trtllm-serve with a hit rate, which counts the long prompts of
// its warm-up, and a later one.
func TestHitsOfTheWarmUpAreNoRatio(t *testing.T) {
	const l = `{engine_type="pytorch",model_name="m",pid="9"} `
	b := newBench(t, engine.TRTLLMServe, "m")
	first := []string{"trtllm_kv_cache_hit_rate" + l + "0.0002", "trtllm_kv_cache_utilization" + l + "0.3"}
	_, shown := b.page(first...)[`kv_cache_hit_ratio{model_id="m"}`]
	require.False(t, shown, "a release with warm-up")
	got := b.page(append(first, `trtllm_kv_cache_missed_blocks_total{engine_type="pytorch",model_name="m"} 7`)...)
	require.InDelta(t, 0.0002, got.get(t, `kv_cache_hit_ratio{model_id="m"}`), 0, "a later release")
}
