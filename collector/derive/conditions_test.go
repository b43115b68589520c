package derive_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// busy returns a page of an executor with active requests and iterations, and no queue before it.
func busy(active, iterations int) []string {
	return replaceLines(without(trtllm(active, active, 0, 8, 1, 100, 500), "pending"),
		fmt.Sprintf(`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} %d`, iterations))
}

func TestExecutorStall(t *testing.T) {
	const pages = int(derive.DefaultStallAfter / (5 * time.Second))
	for _, tc := range []struct {
		name string
		// then is the behavior after a first page with work.
		then func(b *bench)
		want bool
	}{
		{"frozen for as long as is allowed", func(b *bench) { b.frozen(pages) }, true},
		{"frozen for less", func(b *bench) { b.frozen(pages - 1) }, false},
		{"frozen without work", func(b *bench) { b.repeat(pages, busy(0, 100)) }, false},
		{"an iteration in between", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 101)...)
		}, false},
		{"frozen over a gap between scrapes", func(b *bench) {
			b.frozen(pages - 2)
			b.now += time.Minute
			b.frozen(1)
		}, true},
		{"new work for an idle executor", func(b *bench) {
			b.repeat(2*pages, busy(0, 100))
			b.frozen(1)
		}, false},
		{"a new process", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 1)...)
		}, false},
		{"completed work", func(b *bench) {
			b.frozen(pages)
			b.page(busy(0, 101)...)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			require.Zero(t, b.deriver.Conditions().Stall, "before any page")
			b.page(busy(3, 100)...)
			tc.then(b)
			still := b.deriver.Conditions().Stall
			require.Equal(t, tc.want, still.Duration > 0)
			require.False(t, still.Witnessed, "its gauge is the only sign")
		})
	}
}

// repeat shows a page several times and returns the values of the last.
func (b *bench) repeat(pages int, page []string) (got values) {
	for range pages {
		got = b.page(page...)
	}
	return got
}

// frozen returns pages of an executor with work that does nothing.
func (b *bench) frozen(pages int) { b.repeat(pages, busy(3, 100)) }

// TestArrivalsWitnessStall covers requests that pass the model before the executor, and may fail.
func TestArrivalsWitnessStall(t *testing.T) {
	for failed, want := range map[int]bool{0: true, 1: false} {
		b := newBench(t, engine.Triton, models()...)
		for n := range 12 {
			b.page(replaceLines(busy(3, 100), fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, n),
				fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} %d`, failed*n))...)
		}
		require.Equal(t, want, b.deriver.Conditions().Stall.Witnessed)
	}
}

func TestFailing(t *testing.T) {
	ended := func(b *bench, succeeded, failed, cancelled int) {
		b.page(
			fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, succeeded),
			fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} %d`, failed),
			fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="CANCELED",version="1"} %d`, cancelled),
		)
	}
	for _, tc := range []struct {
		name  string
		pages [][3]int
		want  bool
	}{
		{"five failures on two pages", [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 5, 0}}, true},
		{"four", [][3]int{{7, 0, 0}, {7, 1, 0}, {7, 4, 0}}, false},
		{"one bad page", [][3]int{{7, 0, 0}, {7, 5, 0}, {7, 5, 0}}, false},
		{"one success among failures", [][3]int{{7, 0, 0}, {7, 3, 0}, {8, 6, 0}}, false},
		{"disconnected clients", [][3]int{{7, 0, 0}, {7, 0, 3}, {7, 0, 6}}, false},
		{"a success afterwards", [][3]int{{7, 0, 0}, {7, 3, 0}, {7, 6, 0}, {8, 6, 0}}, false},
		{"failures of before the first page", [][3]int{{7, 9, 0}, {7, 9, 0}, {7, 9, 0}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			for _, p := range tc.pages {
				ended(b, p[0], p[1], p[2])
			}
			require.Equal(t, tc.want, b.deriver.Conditions().Failing)
		})
	}
}

// TestGrowingQueueWitnessesStall has a queue that grows for a while, for half of the time that work
// may stand still or less, next to running requests or alone.
func TestGrowingQueueWitnessesStall(t *testing.T) {
	for grows, want := range map[int]bool{0: false, 3: false, 4: true, 12: true} {
		for _, running := range []int{0, 200} {
			b := newBench(t, engine.VLLM, "m")
			for n := range 12 {
				b.page(fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, running), fmt.Sprintf(`vllm:num_requests_waiting{engine="0",model_name="m"} %d`, 5+min(n, grows)),
					`vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="deferred"} 0`,
					fmt.Sprintf(`vllm:iteration_tokens_total_count{engine="0",model_name="m"} %d`, min(n, 1)))
			}
			still := b.deriver.Conditions().Stall
			require.Positive(t, still.Duration)
			require.Equal(t, want, still.Witnessed, "it grew on %d pages, next to %d requests", grows, running)
			require.InDelta(t, max(running, 5+min(11, grows)), still.InFlight, 0)
		}
	}
}

func TestRequestsQueueWhileOthersProgress(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	queued := func(waiting, iterations int) bool {
		b.page(`vllm:num_requests_running{engine="0",model_name="m"} 1`, fmt.Sprintf(`vllm:num_requests_waiting{engine="0",model_name="m"} %d`, waiting),
			fmt.Sprintf(`vllm:iteration_tokens_total_count{engine="0",model_name="m"} %d`, iterations))
		return b.deriver.Conditions().Queued
	}
	require.False(t, queued(0, 100))
	for range windowPages {
		require.True(t, queued(5, 101))
	}
	require.True(t, queued(5, 101))
	require.False(t, queued(5, 101), "nothing was done for a window")
}

// TestDeferredRequestsAreSuspected covers servers of a pair whose other side hangs,
// and one that hangs itself.
func TestDeferredRequestsAreSuspected(t *testing.T) {
	for _, c := range []struct {
		kind          engine.Kind
		says          string
		frozen, grows []string
		witnessed     bool
	}{
		{engine.SGLang, "caches", []string{"num_running_reqs 0"}, []string{"num_decode_transfer_queue_reqs"}, false},
		{engine.SGLang, "room, or the other server", []string{"num_running_reqs 0"}, []string{"num_decode_prealloc_queue_reqs", "http_requests_total{endpoint=\"/v1/completions\",method=\"POST\"}"}, false},
		{engine.SGLang, "room on the other server", []string{"num_running_reqs 0"}, []string{"num_prefill_bootstrap_queue_reqs"}, false},
		{engine.SGLang, "memory that computed prompts hold", []string{"num_running_reqs 0", "num_prefill_inflight_queue_reqs 64"}, []string{"num_queue_reqs"}, false},
		{engine.SGLang, "its own batch", []string{"num_running_reqs 32", "num_decode_transfer_queue_reqs 6"}, []string{"num_decode_prealloc_queue_reqs"}, true},
		{engine.VLLM, "caches", []string{"num_requests_running 0"}, []string{"num_requests_waiting", `num_requests_waiting_by_reason{reason="deferred"}`}, false},
		{engine.VLLM, "caches, or capacity", []string{"num_requests_running 0"}, []string{"num_requests_waiting"}, false},
		{engine.VLLM, "the batch of one that does not tell", []string{"num_requests_running 8"}, []string{"num_requests_waiting"}, true},
		{engine.VLLM, "capacity", []string{"num_requests_running 0", `num_requests_waiting_by_reason{reason="deferred"} 0`}, []string{"num_requests_waiting", `num_requests_waiting_by_reason{reason="capacity"}`}, true},
	} {
		b := newBench(t, c.kind, "m")
		prefix := string(c.kind) + ":"
		for n := range 12 {
			page := []string{prefix + "generation_tokens_total 100"}
			for _, s := range c.frozen {
				page = append(page, prefix+s)
			}
			for _, s := range c.grows {
				page = append(page, fmt.Sprint(prefix, s, " ", 5+n))
			}
			b.page(page...)
		}
		still := b.deriver.Conditions().Stall
		require.Positive(t, still.Duration, c.says)
		require.Equal(t, c.witnessed, still.Witnessed, c.says)
		require.Equal(t, !c.witnessed, still.Deferred, c.says)
		require.Equal(t, c.witnessed, still.Answerable, c.says)
	}
}

// TestStaleGaugeIsIgnored covers a gauge that rises again, and one that was updated again.
func TestStaleGaugeIsIgnored(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	pages := func(running int) time.Duration {
		for range 12 {
			b.page(fmt.Sprintf(`vllm:num_requests_running{model_name="m"} %d`, running), `vllm:generation_tokens_total{model_name="m"} 100`)
		}
		return b.deriver.Conditions().Stall.Duration
	}
	require.Positive(t, pages(3))
	require.True(t, b.deriver.Conditions().Stall.Answerable)
	b.deriver.NoteAnswer()
	require.Zero(t, pages(3), "three are not there")
	require.Positive(t, pages(4), "a fourth came")
	require.Zero(t, pages(0))
	require.Positive(t, pages(3), "these are others")
}

// TestStallFromEndsOfRequests has gauges that are read when a request ends: one of them has ended.
func TestStallFromEndsOfRequests(t *testing.T) {
	for _, c := range []struct {
		name                              string
		running, within10, within40, ever int
		want                              time.Duration
	}{
		{"short requests", 2, 8, 8, 8, derive.DefaultStallAfter},
		{"a longer request", 2, 7, 8, 8, 80 * time.Second},
		{"a longer one among a hundred", 2, 990, 1000, 1000, derive.DefaultStallAfter},
		{"one above the largest bucket", 2, 7, 7, 8, 0},
		{"no completed request", 2, 0, 0, 0, 0},
		{"one in flight, which then completed", 1, 8, 8, 8, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.TRTLLMServe, "m")
			require.Equal(t, c.want, b.stallsAfter(append(
				histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, 5*c.ever, "10.0 40.0 +Inf", c.within10, c.within40, c.ever),
				fmt.Sprintf(`trtllm_num_requests_running{model_name="m"} %d`, c.running),
				fmt.Sprintf(`trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, c.ever),
			)...))
		})
	}
}

// TestUnansweredArrivalsAreSuspected covers a router without gauges, of
// requests that take 10 s or less. It counts those that are invalid apart from the others, and
// streams as answered when they begin. A process of it that died left some which never end.
func TestUnansweredArrivalsAreSuspected(t *testing.T) {
	page := func(arrived, sent int) []string {
		return append(histogram("gen_complete_latency_seconds", `x="y"`, 50, "10.0 +Inf", 10, 10), fmt.Sprintf("total_requests_total %d", arrived),
			fmt.Sprintf("gen_total_requests_total %d", sent), "gen_completed_requests_total 10", "total_responses_total 10", "http_exceptions_total 3", "internal_errors_total 2", "validation_exceptions_total 7")
	}
	for more, want := range map[[2]int]time.Duration{{}: 0, {1, 0}: derive.DefaultStallAfter, {0, 1}: derive.DefaultStallAfter} {
		b := newBench(t, engine.TRTLLMDisaggregated, "m")
		b.page(page(18, 12)...)
		require.Equal(t, want, b.stallsAfter(page(18+more[0], 12+more[1])...), "%d more arrived, %d more were sent to decode", more[0], more[1])
		require.False(t, b.deriver.Conditions().Stall.Witnessed, "long requests explain it")
	}
}

// TestStallOfOldSGLang covers releases that count tokens when requests end, and later ones.
func TestStallOfOldSGLang(t *testing.T) {
	for live, want := range map[string]time.Duration{"": 80 * time.Second, `sglang:realtime_tokens_total{mode="decode"} 500`: derive.DefaultStallAfter} {
		for waiting := range 2 {
			b := newBench(t, engine.SGLang, "m")
			require.Equal(t, want, b.stallsAfter(slices.Concat(
				histogram("sglang:e2e_request_latency_seconds", `model_name="m"`, 40, "10.0 40.0 +Inf", 7, 8, 8),
				[]string{live, `sglang:num_running_reqs{model_name="m"} 2`, `sglang:num_requests_total{model_name="m"} 8`, `sglang:generation_tokens_total{model_name="m"} 80`},
				[]string{fmt.Sprintf(`sglang:num_queue_reqs{model_name="m"} %d`, waiting)},
			)...), live)
			require.Equal(t, live != "" || waiting == 0, b.deriver.Conditions().Stall.Answerable, "others wait")
		}
	}
}

// TestStallOfQueue has a model that a server queues for itself, with requests of 20 s or of 1 s.
func TestStallOfQueue(t *testing.T) {
	for seconds, want := range map[int]time.Duration{20: time.Minute, 1: derive.DefaultStallAfter} {
		b := newBench(t, engine.Triton, "m").facts(configured("m", "onnxruntime", false))
		require.Equal(t, want, b.stallsAfter(
			`nv_inference_pending_request_count{model="m",version="1"} 1`,
			`nv_inference_request_success{model="m",version="1"} 10`,
			fmt.Sprintf(`nv_inference_request_duration_us{model="m",version="1"} %d`, 10*seconds*1_000_000),
		), "requests of %d s", seconds)
	}
}

// stallsAfter returns how long a target shows one page until it is stalled, 0 above five minutes.
func (b *bench) stallsAfter(page ...string) time.Duration {
	for begin := b.now; b.now-begin < 5*time.Minute; {
		shown := b.now - begin
		b.page(page...)
		if b.deriver.Conditions().Stall.Duration > 0 {
			return shown
		}
	}
	return 0
}

// TestAcceptedRequestsAreNoSuccesses uses a model that hands its requests over,
// whatever its config states, and a module that counts how they end.
func TestAcceptedRequestsAreNoSuccesses(t *testing.T) {
	for _, decoupled := range []bool{true, false} {
		b := newBench(t, engine.Triton, "m").facts(configured("m", "python", decoupled))
		for n := range 4 {
			b.page(tritonCounts(map[string][4]int{"1": {10 * n, 0, 0, 2 * n}})...)
		}
		require.True(t, b.deriver.Conditions().Failing, "decoupled: %v", decoupled)
	}
}

func TestRequestsInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		kind engine.Kind
		page []string
		want derive.Conditions
	}{
		"an executor":                          {engine.Triton, busy(3, 100), derive.Conditions{InFlight: 3, InFlightKnown: true}},
		"a server that runs and queues":        {engine.VLLM, []string{`vllm:num_requests_running{model_name="m"} 2`, `vllm:num_requests_waiting{model_name="m"} 5`}, derive.Conditions{InFlight: 7, InFlightKnown: true}},
		"a server that counts them at the end": {engine.TRTLLMServe, []string{`trtllm_num_requests_running{model_name="m"} 2`}, derive.Conditions{}},
		"a server without a count":             {engine.Triton, []string{`nv_inference_request_success{model="m",version="1"} 2`}, derive.Conditions{}},
	} {
		b := newBench(t, c.kind, models()...)
		b.page(c.page...)
		require.Equal(t, c.want, b.deriver.Conditions(), name)
	}
}

// TestRequestsInFlightEndWithProcess uses a trtllm-serve in multiprocess mode in
// which a process died with three requests: its gauge stays as it was.
func TestRequestsInFlightEndWithProcess(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m")
	page := func(ended, running int) values {
		return b.page(append(
			histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, ended, "10.0 +Inf", ended, ended),
			`trtllm_num_requests_running{model_name="m",pid="10"} 3`,
			fmt.Sprintf(`trtllm_num_requests_running{model_name="m",pid="20"} %d`, running),
			fmt.Sprintf(`trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, ended),
			fmt.Sprintf(`trtllm_generation_tokens_total{model_name="m"} %d`, 10*ended),
		)...)
	}
	for n := range 5 {
		page(10+n, 2-n%2)
	}
	for range 40 {
		got := page(16, 0)
		require.Zero(t, got.get(t, `requests_active{model_id="m"}`))
		require.Zero(t, b.deriver.Conditions().Stall)
	}
	page(17, 2)
	for range 40 {
		page(17, 2)
	}
	require.Positive(t, b.deriver.Conditions().Stall.Duration, "the process that is there has two")
}

func TestRequestsInFlightNeedExecutorGauges(t *testing.T) {
	b := newBench(t, engine.Triton, "m")
	b.page(replaceLines(soundPage(10, 0), zeroRows()...)...)
	got := b.page(replaceLines(soundPage(20, 0), zeroRows()...)...)
	got.lacks(t, `requests_active{model_id="m"}`)
	require.Equal(t, derive.Conditions{}, b.deriver.Conditions())
}
