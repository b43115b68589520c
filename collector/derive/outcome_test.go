package derive_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestFirstFailureIsCounted uses servers whose counters appear with their first event.
func TestFirstFailureIsCounted(t *testing.T) {
	const good, bad = `trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, `trtllm_request_error_total{model_name="m",http_code="500"} %d`
	idle := `trtllm_prompt_cached_tokens_total{model_name="m"} 0`
	const ratio, rate = `request_error_ratio{class="server", model_id="m"}`, `requests_per_second{model_id="m"}`
	t.Run("after successes", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(good, 6))
		require.InDelta(t, 0.25, b.page(idle, fmt.Sprintf(good, 9), fmt.Sprintf(bad, 1)).get(t, ratio), 1e-9)
		got := b.page(
			idle,
			fmt.Sprintf(good, 9),
			`trtllm_request_success_total{model_name="m",finished_reason="abort"} 2`,
		)
		require.Equal(t, 2.0, got.get(t, `requests_total{class="canceled", model_id="m"}`))
	})
	t.Run("from the start", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle)
		require.InDelta(t, 1, b.page(idle, fmt.Sprintf(bad, 4)).get(t, ratio), 1e-9)
		require.Empty(t, b.conditions().Failing, "one page may be one bad client")
		b.page(idle, fmt.Sprintf(bad, 8))
		require.NotEmpty(t, b.conditions().Failing)
	})
	t.Run("not on the first page", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(bad, 400)).lacks(t, ratio)
		b.page(idle, fmt.Sprintf(bad, 400)).lacks(t, ratio, "when they failed nobody knows")
		require.Empty(t, b.conditions().Failing)
	})
	t.Run("not for a counter missing on a page", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(good, 6), fmt.Sprintf(bad, 400))
		b.page(idle, fmt.Sprintf(good, 7))
		b.page(idle, fmt.Sprintf(good, 8), fmt.Sprintf(bad, 400)).lacks(t, ratio, "it did not grow by 400")
		require.Empty(t, b.conditions().Failing)
		b.page(idle)
		b.page(idle, fmt.Sprintf(good, 1000)).lacks(t, rate, "what went on meanwhile is not known")
		require.InDelta(t, 2, b.page(idle, fmt.Sprintf(good, 1010)).get(t, rate), 1e-9)
	})
}

// sglangCounts returns a page of an SGLang with ended requests, and aborted ones, or -1 if
// they are not on it.
func sglangCounts(ended, aborted int) []string {
	return without([]string{
		`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 3`,
		fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`, ended),
		fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="m"} %d`, aborted),
	}, " -1")
}

// vllmCounts returns a page of a vLLM with requests that succeeded, were rejected for lack
// of capacity, or -1 if that is not on it, and were answered 5xx.
func vllmCounts(succeeded, rejected, failed int) []string {
	return without([]string{
		fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, succeeded),
		fmt.Sprintf(`vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} %d`, rejected),
		fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, failed),
	}, " -1")
}

// TestAbortsAreCountedOverSameSpan uses a counter of
// aborts that is missing from one page: what it counted meanwhile is unknown.
func TestAbortsAreCountedOverSameSpan(t *testing.T) {
	const ratio, rate = `request_error_ratio{class="canceled", model_id="m"}`, `requests_per_second{model_id="m"}`
	b := newBench(t, engine.SGLang, "m")
	b.page(sglangCounts(100, 10)...)
	b.page(sglangCounts(200, -1)...)
	got := b.page(sglangCounts(300, 60)...)
	got.lacks(t, ratio)
	got.lacks(t, rate)
	got = b.page(sglangCounts(310, 64)...)
	require.InDelta(t, 0.4, got.get(t, ratio), 1e-9)
	require.InDelta(t, 2, got.get(t, rate), 1e-9, "the ten since then")
}

// tritonCounts returns a page of a Triton with model m: by version what its core counts
// as succeeded and as failed by its backend, and what the metrics module counts as
// succeeded and failed, or -1 without the module.
func tritonCounts(versions map[string][4]int) (lines []string) {
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		n := versions[v]
		lines = append(lines,
			fmt.Sprintf(`nv_inference_request_success{model="m",version=%q} %d`, v, n[0]),
			fmt.Sprintf(`nv_inference_request_failure{model="m",reason="BACKEND",version=%q} %d`, v, n[1]))
		if n[2] >= 0 {
			lines = append(
				lines,
				`nv_llmapi_heartbeat_timestamp_seconds{model="m",version="`+v+`"} 1`,
				fmt.Sprintf(`nv_llmapi_iterations_total{model="m",version=%q} %d`, v, 100*n[2]),
				fmt.Sprintf(
					`nv_llmapi_requests_ended_total{model="m",class="ok",finish_reason="stop",version=%q} %d`,
					v,
					n[2],
				),
				fmt.Sprintf(
					`nv_llmapi_requests_ended_total{model="m",class="server",finish_reason="error",version=%q} %d`,
					v,
					n[3],
				),
			)
		}
	}
	return lines
}

// TestOutcomesFromMetricsModule uses a Triton whose core counts requests as
// succeeded once the model was given them, decoupled or not (seen on 2.51), and as
// failed if it could not give them.
func TestOutcomesFromMetricsModule(t *testing.T) {
	series := func(key string) string {
		kind, value, _ := strings.Cut(key, " ")
		switch kind {
		case "rate":
			return `requests_per_second{model="m", model_id="m", version="1"}`
		case "failed":
			return fmt.Sprintf(
				`requests_failed_total{class="server", model="m", model_id="m", reason=%q, version="1"}`,
				value,
			)
		}
		return fmt.Sprintf(`requests_total{class=%q, model="m", model_id="m", version=%q}`, kind, value)
	}
	for _, c := range []struct {
		name    string
		counts  map[string][4]int
		handles bool // The model is decoupled.
		want    map[string]float64
		lacks   string
	}{
		{
			"the module's counts, and not the core's successes",
			map[string][4]int{"1": {10, 0, 8, 2}},
			true,
			map[string]float64{"ok 1": 8, "server 1": 2, "rate": 2},
			"unknown 1",
		},
		{
			"also for a model that is not decoupled",
			map[string][4]int{"1": {10, 0, 8, 2}},
			false,
			map[string]float64{"ok 1": 8, "server 1": 2, "rate": 2},
			"unknown 1",
		},
		{
			"a dead process: requests that it was never given",
			map[string][4]int{"1": {10, 25, 8, 2}},
			true,
			map[string]float64{"ok 1": 8, "server 1": 27, "failed backend": 25, "failed error": 2, "rate": 7},
			"unknown 1",
		},
		{
			"two versions are apart",
			map[string][4]int{"1": {10, 0, 10, 0}, "2": {30, 0, 29, 1}},
			true,
			map[string]float64{"ok 1": 10, "ok 2": 29, "server 2": 1, "server 1": 0, "rate": 2},
			"unknown 1",
		},
		{
			"accepted requests without the module",
			map[string][4]int{"1": {10, 0, -1, 0}},
			true,
			map[string]float64{"unknown 1": 10, "rate": 2},
			"ok 1",
		},
		{
			"without the module, requests that were answered, perhaps with errors",
			map[string][4]int{"1": {10, 5, -1, 0}},
			false,
			map[string]float64{"unknown 1": 10, "server 1": 5, "rate": 3},
			"ok 1",
		},
		{
			"one version has the module, the other not",
			map[string][4]int{"1": {10, 0, 8, 2}, "2": {30, 4, -1, 0}},
			true,
			map[string]float64{"ok 1": 8, "unknown 2": 30, "server 2": 4},
			"client 2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(configured("m", "python", c.handles))
			none := make(map[string][4]int)
			for v, n := range c.counts {
				none[v] = [4]int{0, 0, min(n[2], 0), 0}
			}
			b.page(tritonCounts(none)...)
			got := b.page(tritonCounts(c.counts)...)
			for key, want := range c.want {
				require.InDelta(t, want, got.get(t, series(key)), 1e-9, key)
			}
			got.lacks(t, series(c.lacks))
			got.lacks(t, `requests_per_second{model_id="m"}`)
		})
	}
}

// TestMetricsModuleCountsAcrossLoads has failures that Triton keeps across an unload next
// to counters of a module that go on as well: nothing is held back.
func TestMetricsModuleCountsAcrossLoads(t *testing.T) {
	b := newBench(t, engine.Triton, "m").facts(configured("m", "python", true))
	b.page(tritonCounts(map[string][4]int{"1": {10, 5, 8, 2}})...)
	b.page(without(tritonCounts(map[string][4]int{"1": {10, 5, 8, 2}}), "success")...)
	got := b.page(tritonCounts(map[string][4]int{"1": {1, 5, 9, 2}})...)
	require.InDelta(t, 9, got.get(t, `requests_total{class="ok", model="m", model_id="m", version="1"}`), 0)
	require.InDelta(t, 7, got.get(t, `requests_total{class="server", model="m", model_id="m", version="1"}`), 0)
}

// TestAbortCountedBeforeEnd has more aborts over a window than ended requests.
func TestAbortCountedBeforeEnd(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	b.page(sglangCounts(100, 10)...)
	got := b.page(sglangCounts(103, 15)...)
	require.InDelta(t, 1, got.get(t, `request_error_ratio{class="canceled", model_id="m"}`), 1e-9)
	require.InDelta(t, 1, got.get(t, `requests_per_second{model_id="m"}`), 1e-9)
	got = b.page(sglangCounts(110, 15)...)
	require.InDelta(
		t,
		0.5,
		got.get(t, `request_error_ratio{class="canceled", model_id="m"}`),
		1e-9,
		"5 of the 10 that ended",
	)
}

// TestSGLangAborts compares outcomes with what clients did to a real
// server: requests that are aborted while they wait are in no other counter, and those
// that are not streamed are answered 400 too.
func TestSGLangAborts(t *testing.T) {
	for _, c := range []struct {
		name                                                     string
		streamed, unstreamed, aborted, wholeStreams, wholeOthers int
		well, badly                                              int
		ok, client, canceled                                     float64
	}{
		{"nobody left", 8, 4, 0, 8, 4, 12, 2, 12, 2, 0},
		{"4 completed, 4 streams and 4 others aborted, 3 of which waited", 8, 4, 11, 4, 0, 8, 7, 4, 0, 11},
		{"the same, and 2 invalid requests", 8, 4, 11, 4, 0, 8, 9, 4, 2, 11},
		{"aborted streams do not reduce client errors", 30, 0, 20, 10, 0, 30, 5, 10, 5, 20},
		{"an answer of one token is not an aborted stream", 11, 0, 0, 10, 0, 11, 3, 11, 3, 0},
	} {
		b := newBench(t, engine.SGLang, "tiny")
		page := []string{
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="tiny"} %d`, c.streamed),
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="false",model_name="tiny"} %d`, c.unstreamed),
			"# TYPE sglang:request_time_per_output_token_seconds histogram",
			fmt.Sprintf(
				`sglang:request_time_per_output_token_seconds_count{is_streaming="true",model_name="tiny"} %d`,
				c.wholeStreams,
			),
			fmt.Sprintf(
				`sglang:request_time_per_output_token_seconds_count{is_streaming="false",model_name="tiny"} %d`,
				c.wholeOthers,
			),
			fmt.Sprintf(
				`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="400"} %d`,
				c.badly,
			),
			fmt.Sprintf(
				`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`,
				c.well,
			),
		}
		if c.aborted > 0 {
			page = append(page, fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="tiny"} %d`, c.aborted))
		}
		got := b.settled(page...)
		require.Equal(t, c.ok, got.get(t, `requests_total{class="ok", model_id="tiny"}`), c.name)
		require.Equal(t, c.client, got.get(t, `requests_total{class="client", model_id="tiny"}`), c.name)
		require.Equal(t, c.canceled, got.get(t, `requests_total{class="canceled", model_id="tiny"}`), c.name)
		require.Equal(
			t,
			c.client,
			got.get(t, `requests_failed_total{class="client", model_id="tiny", reason="http_400"}`),
			c.name,
		)
	}
}

// TestErrorsOfTheEngineDidNotEndWell uses an SGLang whose engine ends requests of several tokens that the API
// answers 500, as it does those with a grammar that it cannot follow (seen in 0.5.23).
func TestErrorsOfTheEngineDidNotEndWell(t *testing.T) {
	for _, c := range []struct {
		name string
		// whole requests of several tokens, short ones of one, and failed ones end on each page.
		before, whole, short, failed int
		ok                           float64
		failing                      bool
	}{
		{"all of one token, some fail elsewhere", 0, 0, 9, 3, 9, false},
		{"others are completed", 7, 5, 0, 3, 5, false},
		{"all fail", 7, 0, 0, 3, 0, true},
	} {
		b := newBench(t, engine.SGLang, "m")
		inEngine := c.failed
		if c.short > 0 {
			inEngine = 0
		}
		at := func(n int) values {
			return b.page(
				fmt.Sprintf(`sglang:num_requests_total{is_streaming="false",model_name="m"} %d`,
					c.before+n*(c.whole+c.short+inEngine)),
				"# TYPE sglang:request_time_per_output_token_seconds histogram",
				fmt.Sprintf(`sglang:request_time_per_output_token_seconds_count{is_streaming="false",model_name="m"} %d`,
					c.before+n*c.whole),
				fmt.Sprintf(`sglang:realtime_tokens_total{mode="decode",model_name="m"} %d`, 50*n),
				fmt.Sprintf(`sglang:http_responses_total{endpoint="/generate",method="POST",status_code="200"} %d`,
					c.before+n*(c.whole+c.short)),
				fmt.Sprintf(`sglang:http_responses_total{endpoint="/generate",method="POST",status_code="500"} %d`, n*c.failed),
			)
		}
		at(0)
		var got values
		for range 4 {
			got = at(0)
		}
		const ended = `requests_total{class="ok", model_id="m"}`
		before := got.get(t, ended)
		for n := range 6 {
			got = at(n + 1)
		}
		require.Equal(t, c.failing, slices.ContainsFunc(b.conditions().Failing, func(f derive.Failures) bool {
			return !f.Acquitted
		}), c.name)
		for range 4 {
			got = at(6)
		}
		require.Equal(t, 6*c.ok, got.get(t, ended)-before, c.name)
	}
}

// sglangSteady is a life of an SGLang: how many of what each page adds.
type sglangSteady struct {
	// ended and aborted are counted by the engine, well, refused, answered 400, and failed, answered 500, by the API.
	// Whole requests have several tokens and completed, -1 if the release does not show them.
	ended, aborted, well, refused, failed, whole int
	// before of well requests ended before the first page.
	before int
	// Others are further lines. Class ok of releases without whole requests is a lower bound.
	others []string
}

// page returns the page after n steps. Counters without an event are not on it.
func (l sglangSteady) page(n int) []string {
	lines := []string{`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 3`}
	add := func(format string, count int) {
		if count > 0 {
			lines = append(lines, fmt.Sprintf(format, count))
		}
	}
	const answers = `sglang:http_responses_total{endpoint="/generate",method="POST",status_code=%q} %%d`
	add(`sglang:num_requests_total{is_streaming="false",model_name="m"} %d`, l.before+n*l.ended)
	add(`sglang:num_aborted_requests_total{model_name="m"} %d`, n*l.aborted)
	for code, count := range map[string]int{"200": l.before + n*l.well, "400": n * l.refused, "500": n * l.failed} {
		add(fmt.Sprintf(answers, code), count)
	}
	if l.whole >= 0 {
		lines = append(lines, "# TYPE sglang:request_time_per_output_token_seconds histogram")
		const whole = `sglang:request_time_per_output_token_seconds_count{is_streaming="false",model_name="m"} %d`
		add(whole, l.before+n*l.whole)
	}
	slices.Sort(lines)
	return append(lines, l.others...)
}

// TestSGLangEndsAreComparedWithAnswers has servers whose engine counts an end of each request, however it ended,
// and whose API counts how it answered.
func TestSGLangEndsAreComparedWithAnswers(t *testing.T) {
	prefills := `sglang:num_prefill_inflight_queue_reqs{engine_type="prefill",model_name="m"} 0`
	for _, c := range []struct {
		name         string
		life         sglangSteady
		ratio        float64
		failing      bool
		ok, canceled int
	}{
		{"the scheduler fails all", sglangSteady{ended: 4, failed: 4, whole: -1, before: 9}, 1, true, 0, 0},
		{"the same, from the start", sglangSteady{ended: 4, failed: 4, whole: -1}, 1, true, 0, 0},
		{"the same, of a release that shows which are whole", sglangSteady{ended: 4, failed: 4}, 1, true, 0, 0},
		{"the same, on a prefill server", sglangSteady{ended: 4, failed: 4, others: []string{prefills}}, 1, true, 0, 0},
		{"the scheduler fails half", sglangSteady{ended: 8, well: 4, failed: 4, whole: -1}, .5, false, 4, 0},
		{"requests of one token beside errors", sglangSteady{ended: 5, well: 5, failed: 6, before: 7}, 6. / 11, false, 5, 0},
		{"lists of texts beside errors", sglangSteady{ended: 160, well: 5, failed: 5}, .5, false, 5, 0},
		{"all lists of texts fail in the engine", sglangSteady{ended: 160, failed: 5, before: 7}, 1, true, 0, 0},
		{"n > 1, and those fail that never reach the engine", sglangSteady{ended: 15, well: 5, failed: 5, whole: 10}, .5, false, 5, 0},
		{
			"others leave while they wait",
			sglangSteady{ended: 5, well: 5, aborted: 6, refused: 6, failed: 1, whole: -1},
			1. / 12, false, 0, 6,
		},
		{
			"the same with one token, of a release that shows which are whole",
			sglangSteady{ended: 5, well: 5, aborted: 6, refused: 6, failed: 1},
			1. / 12, false, 0, 6,
		},
		{
			"all others leave, and one fails",
			sglangSteady{ended: 6, aborted: 6, refused: 6, failed: 2, whole: -1},
			2. / 8, true, 0, 6,
		},
		{
			"all streams are left, and others fail",
			sglangSteady{ended: 8, well: 6, aborted: 6, failed: 2, whole: -1},
			2. / 8, true, 0, 6,
		},
		{
			"streams are left beside mistakes of clients",
			sglangSteady{ended: 9, well: 9, aborted: 3, refused: 2, whole: -1},
			0, false, 6, 3,
		},
		{
			"others are left while they run",
			sglangSteady{ended: 9, well: 6, aborted: 3, refused: 3, whole: -1},
			0, false, 6, 3,
		},
		{
			"some streams are left",
			sglangSteady{ended: 9, well: 9, aborted: 3, failed: 3, whole: -1},
			3. / 12, false, 6, 3,
		},
		{
			"errors before the engine, which works for nobody",
			sglangSteady{failed: 5, whole: -1, before: 9},
			1, true, 0, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.SGLang, "m")
			got := b.settled(c.life.page(0)...)
			before := got[`requests_total{class="ok", model_id="m"}`]
			for n := range 12 {
				got = b.page(c.life.page(n + 1)...)
			}
			failing := slices.ContainsFunc(b.conditions().Failing, func(f derive.Failures) bool {
				return !f.Acquitted
			})
			require.Equal(t, c.failing, failing, "%+v", b.conditions().Failing)
			require.InDelta(t, c.ratio, got[`request_error_ratio{class="server", model_id="m"}`], .01)
			got = b.settled(c.life.page(12)...)
			require.InDelta(t, 12*c.ok, got[`requests_total{class="ok", model_id="m"}`]-before, 0)
			require.InDelta(t, 12*c.canceled, got[`requests_total{class="canceled", model_id="m"}`], 0)
		})
	}
}

// TestSGLangAnswersComeAtOtherTimes has requests whose answer counts pages before they end, as a stream's, or a
// page later, and aborts that are answered a page later, beside errors.
func TestSGLangAnswersComeAtOtherTimes(t *testing.T) {
	for _, c := range []struct {
		name string
		// earlier is on how many pages before its end a request is answered, later how many after an abort.
		earlier, later int
		aborted        int
		running        bool
	}{
		{"at once", 0, 0, 0, true},
		{"streams", 3, 0, 0, true},
		{"streams of which the gauge of running requests tells nothing", 3, 0, 0, false},
		{"answers that count a page later", -1, 0, 0, true},
		{"aborted ones answered a page later", 0, 1, 6, true},
		{"aborted ones, and streams", 3, 1, 6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.SGLang, "m")
			var got values
			for n := range 16 {
				life := sglangSteady{before: 40, whole: -1}
				life.ended, life.well, life.failed = 4*n, 4*max(n+c.earlier, 0), 2*n
				life.aborted, life.refused = c.aborted*n, c.aborted*max(n-c.later, 0)
				running := 0
				if c.running {
					running = 4 * max(c.earlier, 0)
				}
				life.others = []string{
					fmt.Sprintf(`sglang:num_running_reqs{model_name="m"} %d`, running),
					fmt.Sprintf(`sglang:realtime_tokens_total{mode="decode",model_name="m"} %d`, 50*n),
				}
				got = b.page(life.page(1)...)
				require.Empty(t, b.conditions().Failing)
			}
			want := 2. / float64(6+c.aborted)
			require.InDelta(t, want, got.get(t, `request_error_ratio{class="server", model_id="m"}`), want/10)
		})
	}
}

// TestSGLangAbortsWithSeveralTokenizerWorkers uses a page of a release that
// counts its answers unless there are several.
func TestSGLangAbortsWithSeveralTokenizerWorkers(t *testing.T) {
	for _, c := range []struct {
		workers      string
		ok, canceled float64
	}{{"one", 1, 99}, {"several", 100, -1}} {
		page := append(sglangCounts(100, 99), `sglang:realtime_tokens_total{mode="decode",model_name="m"} 9`)
		if c.workers == "several" {
			page = without(page, "http_responses")
		}
		got := newBench(t, engine.SGLang, "m").settled(page...)
		require.Equal(t, c.ok, got.get(t, `requests_total{class="ok", model_id="m"}`), c.workers)
		if canceled := `requests_total{class="canceled", model_id="m"}`; c.canceled < 0 {
			got.lacks(t, canceled)
		} else {
			require.Equal(t, c.canceled, got.get(t, canceled))
		}
	}
}

// TestRequestsThatEndedWellWereAnsweredWell compares what ends in the engine with the answers of the API.
func TestRequestsThatEndedWellWereAnsweredWell(t *testing.T) {
	for _, c := range []struct {
		name                    string
		ended, answered, failed int
		ok, ratio               float64
	}{
		{"one request is one of the engine", 5, 5, 5, 5, 0.5},
		{"each has ten completions", 50, 5, 5, 5, 0.5},
		{"what ended well is answered with an error", 5, 0, 5, 0, 1},
		{"clients leave", 5, 45, 5, 5, 0.5},
		{"the page lags behind the answers", 5, 6, 0, 5, 0},
	} {
		b := newBench(t, engine.VLLM, "m")
		at := func(n int) values {
			return b.page(
				fmt.Sprintf(
					`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, 100+n*c.ended,
				),
				fmt.Sprintf(
					`http_requests_total{handler="/v1/rerank",method="POST",status="2xx"} %d`, 100+n*c.answered,
				),
				fmt.Sprintf(
					`http_requests_total{handler="/v1/rerank",method="POST",status="5xx"} %d`, 100+n*c.failed,
				),
			)
		}
		at(0)
		got := at(1)
		const ratio = `request_error_ratio{class="server", model_id="m"}`
		require.InDelta(t, c.ratio, got.get(t, ratio), 1e-9, c.name)
		require.Equal(t, 100+c.ok, got.get(t, `requests_total{class="ok", model_id="m"}`), c.name)
	}
}

// TestAnswersOfSeveralRanks has vLLMs whose API sends requests to several ranks: all of them, those of its node, or
// the one of its own. What ends in all of them is compared with its answers, whichever rank it ended in.
func TestAnswersOfSeveralRanks(t *testing.T) {
	const ratio, ok = `request_error_ratio{class="server", model_id="m"}`, `requests_total{class="ok", model_id="m"}`
	for _, c := range []struct {
		name string
		// ended are the requests that end in each rank on each page, by its number.
		ended            map[string]int
		answered, failed int
		ok, ratio        float64
	}{
		{"requests of one input", map[string]int{"0": 3, "1": 2}, 5, 0, 5, 0},
		{"lists of 32 inputs", map[string]int{"0": 80, "1": 80}, 5, 0, 5, 0},
		{"lists of which one rank gets most", map[string]int{"0": 1, "1": 159}, 5, 5, 5, 0.5},
		{"completions of one request in all ranks", map[string]int{"0": 10, "1": 10, "2": 10, "3": 10}, 5, 5, 5, 0.5},
		{"what ends well is answered with an error", map[string]int{"0": 3, "1": 2}, 0, 5, 0, 1},
		{"a rank without requests", map[string]int{"0": 0, "1": 5}, 0, 5, 0, 1},
		{"ranks of one node", map[string]int{"4": 80, "5": 80}, 5, 5, 5, 0.5},
		{"the rank of this API", map[string]int{"3": 160}, 5, 5, 5, 0.5},
		{"clients leave", map[string]int{"0": 3, "1": 2}, 45, 5, 5, 0.5},
	} {
		b := newBench(t, engine.VLLM, "m")
		at := func(n int) values {
			page := []string{
				fmt.Sprintf(`http_requests_total{handler="/v1/embeddings",method="POST",status="2xx"} %d`, 100+n*c.answered),
				fmt.Sprintf(`http_requests_total{handler="/v1/embeddings",method="POST",status="5xx"} %d`, 100+n*c.failed),
			}
			for rank, ended := range c.ended {
				page = append(page, fmt.Sprintf(
					`vllm:request_success_total{engine=%q,finished_reason="stop",model_name="m"} %d`, rank, 100/len(c.ended)+n*ended,
				))
			}
			return b.page(page...)
		}
		at(0)
		var got values
		for n := range 4 {
			got = at(n + 1)
		}
		require.InDelta(t, c.ratio, got.get(t, ratio), 1e-9, c.name)
		require.Equal(t, 100+4*c.ok, got.get(t, ok), c.name)
		failing := slices.ContainsFunc(b.conditions().Failing, func(f derive.Failures) bool { return !f.Acquitted })
		require.Equal(t, c.ratio == 1, failing, c.name)
	}
}

// TestAnswersWhenRanksComeAndGo has a vLLM to which ranks are added, and from which they are removed, while it
// answers lists of inputs, and which restarts.
func TestAnswersWhenRanksComeAndGo(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	answered, ended := 100, map[string]int{"0": 1600, "1": 1600}
	next := func(ranks ...string) values {
		answered += 5
		page := []string{
			fmt.Sprintf(`http_requests_total{handler="/v1/embeddings",method="POST",status="2xx"} %d`, answered),
		}
		for _, rank := range ranks {
			ended[rank] += 160 / len(ranks)
			page = append(page, fmt.Sprintf(
				`vllm:request_success_total{engine=%q,finished_reason="stop",model_name="m"} %d`, rank, ended[rank],
			))
		}
		return b.page(page...)
	}
	const perSecond, ok = `requests_per_second{model_id="m"}`, `requests_total{class="ok", model_id="m"}`
	var want float64
	for n, ranks := range [][]string{
		{"0", "1"},
		{"0", "1"},
		{"0", "1"},
		{"0", "1"},
		{"0", "1", "2", "3"},
		{"0", "1", "2", "3"},
		{"0", "1", "2", "3"},
		{"0"},
		{"0"},
		{"0"},
		{"0"},
	} {
		got := next(ranks...)
		require.Equal(t, float64(answered), got.get(t, ok), "page %d", n)
		switch rate, shown := got[perSecond]; {
		case n == 3:
			want = rate
			require.Positive(t, want)
		case n > 3 && shown:
			require.InDelta(t, want, rate, want/100, "page %d", n)
		}
	}
	answered, ended = 0, map[string]int{}
	next("0", "1") // Another process may have answered.
	for range 3 {
		got := next("0", "1")
		require.Equal(t, float64(answered), got.get(t, ok), "after the restart")
		if rate, shown := got[perSecond]; shown {
			require.InDelta(t, want, rate, want/100, "after the restart")
		}
	}
}

// TestAnswersAfterCompletionsAreNoSuccess has a vLLM that hangs after requests each of which ended four times in
// the engine. Its API counts answers to clients that leave with a status of success, as 0.32.0 does.
func TestAnswersAfterCompletionsAreNoSuccess(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	at := func(requests, left int) values {
		return b.page(
			fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, 4*min(left, 1)),
			fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, 40*requests),
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, 4*requests),
			fmt.Sprintf(
				`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, requests+left,
			),
		)
	}
	at(0, 0)
	for n := range 4 {
		at(5*(n+1), 0)
	}
	var got values
	for n := range 20 {
		got = at(20, 3*n)
	}
	require.Zero(t, got.get(t, `requests_per_second{model_id="m"}`), "nothing ends")
	require.Positive(t, longest(b).InFlight, "it is suspected")
}

// TestAnswersBeforeTheEnd has a vLLM that answers requests at once, as those in the background, and computes them
// three pages later, while one client's requests fail.
func TestAnswersBeforeTheEnd(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	var got values
	for n := range 12 {
		answered, ended := n, max(n-3, 0)
		got = b.page(
			fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, answered-ended),
			fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, 10*n),
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, ended),
			fmt.Sprintf(`http_requests_total{handler="/v1/responses",method="POST",status="2xx"} %d`, answered),
			fmt.Sprintf(`http_requests_total{handler="/v1/responses",method="POST",status="5xx"} %d`, 2*n),
		)
		for _, f := range b.conditions().Failing {
			require.True(t, n < 6 || f.Acquitted, "page %d: %+v", n, f)
		}
	}
	require.Equal(t, 8.0, got.get(t, `requests_total{class="ok", model_id="m"}`))
}

// TestAnswersAfterTheEnd has an SGLang whose engine ends eight requests each four pages, and whose API sends the ends of
// two on each page and refuses one of another client.
func TestAnswersAfterTheEnd(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	var got values
	for n := range 13 {
		ended, answered := 8*((n+3)/4), 2*n
		got = b.page(
			`sglang:num_running_reqs{model_name="m"} 0`,
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`, ended),
			fmt.Sprintf(`sglang:http_requests_active{endpoint="/v1/completions",method="POST"} %d`, ended-answered),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, answered),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="400"} %d`, n),
		)
	}
	require.Equal(t, 24.0, got.get(t, `requests_total{class="ok", model_id="m"}`))
	require.InDelta(t, 1./3, got.get(t, `request_error_ratio{class="client", model_id="m"}`), 1e-9, "12 of 36 requests")
}

// TestAnswersOfWhatEndedBeforeTheExporterCame has an SGLang whose API has eight requests open when the exporter comes:
// five have left the engine, and three run.
func TestAnswersOfWhatEndedBeforeTheExporterCame(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	at := func(running, ended, answered int) values {
		return b.page(
			fmt.Sprintf(`sglang:num_running_reqs{model_name="m"} %d`, running),
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`, ended),
			fmt.Sprintf(`sglang:http_requests_active{endpoint="/v1/completions",method="POST"} %d`, 108-answered),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, answered),
		)
	}
	at(3, 105, 100)
	at(3, 105, 103)
	at(3, 105, 105)
	got := at(0, 108, 108)
	require.InDelta(t, 8./15, got.get(t, `requests_per_second{model_id="m"}`), 1e-9, "eight ended within three pages")
}

// TestFirstAnswersTakeNothingBack has servers whose first requests end in the engine pages before the API has sent
// their answers, which it does not count until then.
func TestFirstAnswersTakeNothingBack(t *testing.T) {
	for _, c := range []struct {
		name          string
		kind          engine.Name
		other         []string
		ended, answer string
		want          float64
	}{
		{
			"vLLM", engine.VLLM,
			[]string{`http_requests_total{handler="/v1/models",method="GET",status="2xx"} 1`},
			`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`,
			`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, 6,
		},
		{
			"SGLang", engine.SGLang,
			[]string{`sglang:http_responses_total{endpoint="/v1/models",method="GET",status_code="200"} 1`},
			`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`,
			`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, 6,
		},
		{
			"SGLang with an aborted request", engine.SGLang,
			[]string{
				`sglang:http_responses_total{endpoint="/v1/models",method="GET",status_code="200"} 1`,
				`sglang:num_aborted_requests_total{model_name="m"} 1`,
			},
			`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`,
			`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, 5,
		},
	} {
		b := newBench(t, c.kind, "m")
		before := 0.0
		for n := range 10 {
			ended, answered := min(n, 6), min(max(n-3, 0), 6)
			lines := append(slices.Clone(c.other), fmt.Sprintf(c.ended, ended))
			if answered > 0 {
				lines = append(lines, fmt.Sprintf(c.answer, answered))
			}
			if ok, shown := b.page(lines...)[`requests_total{class="ok", model_id="m"}`]; shown {
				require.GreaterOrEqual(t, ok, before, "%s, page %d", c.name, n)
				before = ok
			}
		}
		require.Equal(t, c.want, before, c.name)
	}
}

// TestWhatHasNoAnswersEndsWithTheFirst has a vLLM with requests that its API does not answer, hours before the first one
// that it does: they are no late ones.
func TestWhatHasNoAnswersEndsWithTheFirst(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	var got values
	for n := range 6 {
		lines := []string{
			`http_requests_total{handler="/v1/models",method="GET",status="2xx"} 1`,
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, 1000+n),
		}
		if n > 2 {
			lines = append(lines, fmt.Sprintf(`http_requests_total{handler="/v1/x",method="POST",status="2xx"} %d`, n-2))
		}
		got = b.page(lines...)
	}
	require.Equal(t, 3.0, got.get(t, `requests_total{class="ok", model_id="m"}`))
}

// TestAnswersAppearWithTheFirstRequest has an SGLang whose page shows requests and answers once there are any.
func TestAnswersAppearWithTheFirstRequest(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	const running = `sglang:num_running_reqs{model_name="m"} 0`
	b.page(running)
	b.page(running)
	got := b.page(
		running,
		`sglang:num_requests_total{is_streaming="true",model_name="m"} 3`,
		`sglang:http_requests_active{endpoint="/v1/completions",method="POST"} 0`,
		`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} 3`,
	)
	require.InDelta(t, 3./10, got.get(t, `requests_per_second{model_id="m"}`), 1e-9, "three ended within two pages")
}

// TestRequestsOverSocketsEndWell uses a vLLM whose clients keep connections open over which they ask, and one whose
// calls of the API all fail.
func TestRequestsOverSocketsEndWell(t *testing.T) {
	for sockets, failing := range map[int]bool{0: true, 3: false} {
		b := newBench(t, engine.VLLM, "m")
		var got values
		for n := range 4 {
			got = b.page(
				fmt.Sprintf("vllm:websocket_connections_total %d", sockets),
				fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, 50+10*n),
				`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 50`,
				fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, 10*n),
			)
		}
		require.Equal(t, failing, len(b.conditions().Failing) > 0, "%d sockets", sockets)
		const ratio = `request_error_ratio{class="server", model_id="m"}`
		require.InDelta(t, map[bool]float64{true: 1, false: 0.5}[failing], got.get(t, ratio), 1e-9)
	}
}

// TestUnknownReasonsAreUnknown uses releases that end requests for reasons that are not listed.
func TestUnknownReasonsAreUnknown(t *testing.T) {
	for reason, class := range map[string]string{
		"stop": "ok", "length": "ok", "repetition": "ok", "abort": "canceled", "error": "server",
		"rejected": "unknown", "internal_failure": "unknown",
	} {
		got := newBench(t, engine.VLLM, "m").settled(fmt.Sprintf(
			`vllm:request_success_total{engine="0",finished_reason=%q,model_name="m"} 7`, reason,
		))
		require.Equal(t, 7.0, got.get(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class)), reason)
	}
}

// TestRefusedRequestCountsOnce uses a vLLM that rejects 10 of 20 requests and gives one
// up, all of which are among its answers as well, and fails 2 otherwise.
func TestRefusedRequestCountsOnce(t *testing.T) {
	got := newBench(t, engine.VLLM, "m").settled(append(vllmCounts(10, 10, 13),
		`vllm:request_success_total{engine="0",finished_reason="error",model_name="m"} 1`,
		`http_requests_total{handler="/v1/completions",method="POST",status="4xx"} 1`,
	)...)
	for class, want := range map[string]float64{"ok": 10, "overload": 10, "server": 3, "client": 1} {
		require.Equal(t, want, got.get(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class)), class)
	}
	require.Equal(t, 2.0, got.get(t, `requests_failed_total{class="server", model_id="m", reason="http_5xx"}`))
	require.Equal(
		t,
		10.0,
		got.get(t, `requests_failed_total{class="overload", model_id="m", reason="max_num_queued_reqs"}`),
	)
}

// TestOneEntryOfTwoFails uses two deployments on one Triton: the ratio of the failing
// one is its own, and the replica still serves.
func TestOneEntryOfTwoFails(t *testing.T) {
	b := newBench(
		t,
		engine.Triton,
	).facts(configured("good", "onnxruntime", false), configured("bad", "onnxruntime", false)).
		release("2.51.0")
	for n := range 4 {
		got := b.page(
			fmt.Sprintf(`nv_inference_request_success{model="good",version="1"} %d`, 10*n),
			`nv_inference_request_success{model="bad",version="1"} 0`,
			`nv_inference_request_failure{model="good",reason="BACKEND",version="1"} 0`,
			fmt.Sprintf(`nv_inference_request_duration_us{model="good",version="1"} %d`, 1000*n),
			`nv_inference_request_duration_us{model="bad",version="1"} 0`,
			fmt.Sprintf(`nv_inference_request_failure{model="bad",reason="BACKEND",version="1"} %d`, 5*n),
		)
		if n > 0 {
			require.InDelta(
				t,
				1,
				got.get(t, `request_error_ratio{class="server", model="bad", model_id="bad", version="1"}`),
				1e-9,
			)
			require.InDelta(
				t,
				0,
				got.get(t, `request_error_ratio{class="server", model="good", model_id="good", version="1"}`),
				1e-9,
			)
			require.InDelta(t, 1, got.get(t, `requests_per_second{model="bad", model_id="bad", version="1"}`), 1e-9)
		}
	}
	c := b.conditions()
	require.Len(t, c.Failing, 1)
	require.Equal(t, "bad", c.Failing[0].Model)
	require.True(t, c.Failing[0].Acquitted, "the other one serves")
}

// TestFailingVersionIsNamed has a model of which one version fails: the server chooses the other one for
// whoever names none.
func TestFailingVersionIsNamed(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     string
	}{
		{"one of two versions fails", []string{"1", "2"}, "1"},
		{"the only version fails", []string{"1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(configured("m", "onnxruntime", false)).release("2.51.0")
			for n := range 4 {
				var lines []string
				for _, version := range c.versions {
					failures := 0
					if version == "1" {
						failures = 5 * n
					}
					lines = append(
						lines,
						fmt.Sprintf(`nv_inference_request_success{model="m",version=%q} 3`, version),
						fmt.Sprintf(
							`nv_inference_request_failure{model="m",reason="BACKEND",version=%q} %d`, version, failures,
						),
					)
				}
				b.page(lines...)
			}
			failing := b.conditions().Failing
			require.Len(t, failing, 1)
			require.Equal(t, [2]string{"m", c.want}, [2]string{failing[0].Model, failing[0].Version})
		})
	}
}

// TestRefusalThatLagsIsNoFailure uses random lives of a vLLM that rejects requests and fails others.
// The two counters of a rejection reach the page in any order, up to three pages apart.
func TestRefusalThatLagsIsNoFailure(t *testing.T) {
	const series = `requests_total{class="server", model_id="m"}`
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		lag, often := random.IntN(7)-3, random.IntN(3)
		b, answers, rejections, failures := newBench(t, engine.VLLM, "m"), make([]int, 60), make([]int, 60), 0
		for n := 3; n < 45; n++ {
			refused, failed := random.IntN(20)*min(random.IntN(2+often), 1), random.IntN(3)*random.IntN(2)
			answers[n] += refused + failed
			rejections[n+lag] += refused
		}
		shown, refused, answered := 0.0, 0, 0
		for n := range answers {
			refused, answered = refused+rejections[n], answered+answers[n]
			v, ok := b.page(vllmCounts(5, refused, answered)...)[series]
			require.True(t, !ok && shown == 0 || v >= shown, "seed %d, page %d: %v after %v", seed, n, v, shown)
			shown, failures = max(shown, v), answered-refused
		}
		require.InDelta(t, failures, shown, 1e-9, "seed %d: all failures and nothing else, with a "+
			"lag of %d pages", seed, lag)
	}
}

// TestRefusalsAreNotServerFailures uses a vLLM that rejects requests for lack of
// capacity with a status of its own, and counts them again.
func TestRefusalsAreNotServerFailures(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	for n := range 4 {
		got := b.page(vllmCounts(7, 8*n, 6*n)...)
		if n > 0 {
			require.InDelta(t, 1, got.get(t, `request_error_ratio{class="overload", model_id="m"}`), 1e-9)
			require.InDelta(t, 0, got.get(t, `request_error_ratio{class="server", model_id="m"}`), 1e-9)
		}
	}
	require.Empty(t, b.conditions().Failing, "all were refused, none failed")
	b.page(vllmCounts(7, 24, 25)...)
	b.page(vllmCounts(7, 24, 30)...)
	require.NotEmpty(t, b.conditions().Failing)

	b = newBench(t, engine.VLLM, "m")
	for n := range 3 {
		b.page(vllmCounts(7, 2*n, 4*n)...)
	}
	require.Empty(t, b.conditions().Failing, "of eight answers of 503 four were refusals")
}

// TestBurstOnOnePageAccusesNobody has failures between two pages, and no request after that: it may be one bad client,
// however late the server counts what else ended.
func TestBurstOnOnePageAccusesNobody(t *testing.T) {
	const served, failed = `trtllm_request_success_total{model_name="m",finished_reason="stop"} 7`, `trtllm_request_error_total{model_name="m",http_code="500"} %d`
	for kind, page := range map[engine.Name]func(failures, refused int) []string{
		engine.TRTLLMServe: func(failures, _ int) []string { return []string{served, fmt.Sprintf(failed, failures)} },
		engine.VLLM:        func(failures, refused int) []string { return vllmCounts(7, refused, failures+refused) },
	} {
		for _, refused := range []int{0, 1} {
			b := newBench(t, kind, "m")
			b.repeat(6, page(1, 1))
			b.page(page(20, 1)...)
			b.repeat(6, page(20, 1+refused))
			require.Empty(t, b.conditions().Failing, "%s, %d refused after it", kind, refused)
			b.page(page(40, 1+refused)...)
			b.repeat(6, page(40, 1+refused))
			require.NotEmpty(t, b.conditions().Failing, "%s, %d refused between two bursts", kind, refused)
		}
	}
}

// TestRefusalCountedBeforeItsResponse uses a vLLM that only rejects, with
// one rejection on every second page whose answer is not counted yet.
func TestRefusalCountedBeforeItsResponse(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	page := func(refused, failed int) bool {
		b.page(vllmCounts(7, refused, failed)...)
		return len(b.conditions().Failing) > 0
	}
	for n := range 20 {
		require.False(t, page(100*n, 100*n-n%2), "page %d", n)
	}
	require.False(t, page(2050, 2000), "fifty streams were refused within answers of 200")
	for n := range 13 {
		require.False(t, page(2050, 2000), "page %d", n)
	}
	require.False(t, page(2050, 2002), "one page may be one bad client")
	require.True(t, page(2050, 2005), "that they were refused is over")
}

// TestEveryRouteThatAsksModelCounts uses servers all of whose requests fail on one route.
func TestEveryRouteThatAsksModelCounts(t *testing.T) {
	const inside = `vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 0`
	for _, c := range []struct {
		kind   engine.Name
		route  string
		counts bool
	}{
		{engine.VLLM, "/v1/chat/completions", true},
		{engine.VLLM, "/score", true},
		{engine.VLLM, "/v2/rerank", true},
		{engine.VLLM, "/pooling", true},
		{engine.VLLM, "/inference/v1/generate", true},
		{engine.VLLM, "/cohere/v2/chat", true},
		{engine.VLLM, "/invocations", true},
		{engine.VLLM, "/a/route/of/next/year", true},
		{engine.VLLM, "none", true}, // No route is told apart, and a wrong path is never answered 500.
		{engine.VLLM, "/tokenize", false},
		{engine.VLLM, "/v1/load_lora_adapter", false},
		{engine.VLLM, "/v1/chat/completions/render", false},
		{engine.VLLM, "/v1/responses/{response_id}/cancel", false},
		{engine.VLLM, "/sleep", false},
		{engine.NIM, "/pooling", true},
		{engine.NIM, "/detokenize", false},
		{engine.SGLang, "/generate", true},
		{engine.SGLang, "/invocations", true},
		{engine.SGLang, "/vertex_generate", true},
		{engine.SGLang, "/api/chat", true},
		{engine.SGLang, "/encode", true},
		{engine.SGLang, "/classify", true},
		{engine.SGLang, "/v1/decisions", true},
		{engine.SGLang, "Unknown", true},
		{engine.SGLang, "/v1/tokenize", false},
		{engine.SGLang, "/flush_cache", false},
		{engine.SGLang, "/update_weights_from_disk", false},
		{engine.SGLang, "/dumper/{method}", false},
	} {
		answers := `http_requests_total{handler=%q,method="POST",status="5xx"} %d`
		if c.kind == engine.SGLang {
			answers = `sglang:http_responses_total{endpoint=%q,method="POST",status_code="500"} %d`
		}
		b := newBench(t, c.kind, "m")
		for n := range 4 {
			b.page(inside, fmt.Sprintf(answers, c.route, 5*n))
		}
		require.Equal(t, c.counts, len(b.conditions().Failing) > 0, "%s of %s", c.route, c.kind)
	}
}

// TestClassIsCountedWhereThePageShowsIt uses pages of vLLM and SGLang with one request that succeeded.
func TestClassIsCountedWhereThePageShowsIt(t *testing.T) {
	const succeeded, left = `vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`,
		`vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} %d`
	vllm := func(more ...string) []string { return append(more, succeeded, left) }
	for _, c := range []struct {
		name          string
		kind          engine.Name
		page          []string
		zero, unknown []string
	}{
		{
			"the list of models was answered",
			engine.VLLM, vllm(`http_requests_total{handler="/v1/models",method="GET",status="2xx"} 3`),
			[]string{"server", "client"},
			[]string{"canceled", "overload"},
		},
		{
			"the page shows rejections",
			engine.VLLM, vllm(`http_requests_total{handler="/v1/models",method="GET",status="2xx"} 3`,
				`vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 0`),
			[]string{"server", "client", "overload"},
			[]string{"canceled"},
		},
		{"nothing was answered yet", engine.VLLM, vllm(), nil, []string{"server", "client", "canceled", "overload"}},
		{
			"no route is told apart",
			engine.VLLM, vllm(`http_requests_total{handler="none",method="GET",status="2xx"} 3`),
			nil,
			[]string{"server", "client", "canceled", "overload"},
		},
		{
			"a counter of that name of another program",
			engine.VLLM, vllm(`http_requests_total{code="200",method="get"} 3`),
			nil,
			[]string{"server", "client", "canceled", "overload"},
		},
		{
			"SGLang answered its page", engine.SGLang,
			[]string{
				`sglang:num_requests_total{model_name="m"} %d`,
				`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 3`,
			},
			[]string{"server", "client"},
			nil,
		},
		{
			"an SGLang with several tokenizer workers", engine.SGLang,
			[]string{`sglang:num_requests_total{model_name="m"} %d`},
			nil,
			[]string{"server", "client", "canceled", "overload"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, got := newBench(t, c.kind, "m"), values{}
			for n := range 5 {
				page := slices.Clone(c.page)
				for i, line := range page {
					page[i] = strings.Replace(line, "%d", strconv.Itoa(n*flag(!strings.Contains(line, "abort"))), 1)
				}
				got = b.page(page...)
			}
			for _, class := range c.zero {
				require.Zero(t, got.get(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class)), class)
				require.Zero(t, got.get(t, fmt.Sprintf(`request_error_ratio{class=%q, model_id="m"}`, class)), class)
			}
			for _, class := range c.unknown {
				got.lacks(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class))
				got.lacks(t, fmt.Sprintf(`request_error_ratio{class=%q, model_id="m"}`, class))
			}
		})
	}
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// TestPartlyCountedClassNeedsOneCount uses a vLLM, which counts
// requests of disconnected clients only if its engine knew them.
func TestPartlyCountedClassNeedsOneCount(t *testing.T) {
	page := func(ended, aborted int) []string {
		return []string{
			fmt.Sprintf(`vllm:request_success_total{finished_reason="stop",model_name="m"} %d`, ended),
			fmt.Sprintf(`vllm:request_success_total{finished_reason="abort",model_name="m"} %d`, aborted),
			`http_requests_total{handler="/v1/completions",method="POST",status="4xx"} 0`,
			`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 0`,
		}
	}
	const canceled = `request_error_ratio{class="canceled", model_id="m"}`
	b := newBench(t, engine.VLLM, "m")
	b.page(page(10, 0)...)
	got := b.page(page(16, 0)...)
	require.Zero(t, got.get(t, `request_error_ratio{class="server", model_id="m"}`))
	got.lacks(t, canceled, "none was ever counted")
	require.InDelta(t, 1.0/13, b.page(page(22, 1)...).get(t, canceled), 1e-9, "one is enough")
	require.InDelta(t, 4.0/16, b.page(page(22, 4)...).get(t, canceled), 1e-9)
}

// TestEnsembleFailuresCountOnce uses numbers that real servers counted for requests
// whose outcome a client saw.
func TestEnsembleFailuresCountOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		// reason is the label that failures have since 24.07.
		reason string
		// ensemble, backend and other are failures that were counted, of the
		// ensemble, of a step that raised or that is C++, and of a step of old.
		ensemble, backend, other int
		failed                   float64
	}{
		{"a step that returned an error is a success, the ensemble counts it twice", `,reason="OTHER"`, 6, 0, 0, 3},
		{"a step that raised counts once, the ensemble twice", `,reason="OTHER"`, 6, 3, 0, 3},
		{"an overflow of a step's queue counts twice at the ensemble alone", `,reason="OTHER"`, 12, 0, 0, 6},
		{"one of each", `,reason="OTHER"`, 8, 1, 0, 4},
		{"failures of a step count, even if the ensemble counted them once", `,reason="OTHER"`, 3, 3, 0, 3},
		{"before there were reasons each counted once", ``, 3, 0, 3, 3},
		{"before there were reasons a failure without a step counted once", ``, 3, 0, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			page := func(n int) values {
				step := `nv_inference_request_failure{model="preprocessing"%s,version="1"} %d`
				return b.page(
					fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, 7*n),
					fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, 10*n),
					fmt.Sprintf(
						`nv_inference_request_failure{model="ensemble"%s,version="1"} %d`,
						c.reason,
						c.ensemble*n,
					),
					fmt.Sprintf(step, `,reason="BACKEND"`, c.backend*n),
					fmt.Sprintf(step, c.reason, c.other*n),
				)
			}
			page(0)
			got := page(1)
			const series = `request_error_ratio{class="server", model="ensemble", model_id="ensemble", version="1"}`
			require.InDelta(t, c.failed/(7+c.failed), got.get(t, series), 1e-9)
			require.InDelta(
				t,
				(7+c.failed)/5,
				got.get(t, `requests_per_second{model="ensemble", model_id="ensemble", version="1"}`),
				1e-9,
			)
		})
	}
}

// TestStepsOfAnotherEnsembleAreNotAdded uses an ensemble and a BLS
// model in front of the same parts: of ten requests to each, four fail in the first
// part, which the ensemble counts twice.
func TestStepsOfAnotherEnsembleAreNotAdded(t *testing.T) {
	b := newBench(t, engine.Triton, "ensemble", "tensorrt_llm_bls", "preprocessing", "tensorrt_llm").facts(
		engine.ModelFacts{
			Name:       "ensemble",
			State:      "READY",
			Configured: true,
			Platform:   "ensemble",
			Steps:      []string{"preprocessing", "tensorrt_llm"},
		},
		engine.ModelFacts{
			Name:       "tensorrt_llm_bls",
			State:      "READY",
			Configured: true,
			Backend:    "python",
			Calls:      []string{"preprocessing", "tensorrt_llm"},
		},
		configured(
			"preprocessing",
			"python",
			false,
		), configured("tensorrt_llm", "tensorrtllm", false)).
		release("2.44.0")
	page := func(n int) values {
		var lines []string
		for model, counts := range map[string][2]int{
			"ensemble":         {6, 8},
			"tensorrt_llm_bls": {6, 4},
			"preprocessing":    {12, 8},
			"tensorrt_llm":     {12, 0},
		} {
			lines = append(
				lines,
				fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, n*counts[0]),
				fmt.Sprintf(`nv_inference_request_failure{model=%q,reason="OTHER",version="1"} %d`, model, n*counts[1]),
			)
		}
		slices.Sort(lines)
		return b.page(lines...)
	}
	page(0)
	got := page(1)
	for _, front := range []string{"ensemble", "tensorrt_llm_bls"} {
		require.InDelta(
			t,
			10.0/5,
			got.get(t, `requests_per_second{model="`+front+`", model_id="ensemble", version="1"}`),
			1e-9,
			front,
		)
		require.InDelta(
			t,
			0.4,
			got.get(t, `request_error_ratio{class="server", model="`+front+`", model_id="ensemble", version="1"}`),
			1e-9,
			front,
		)
	}
}

// TestRefusalInStreamCancelsNoFailure uses a vLLM that rejects streams within
// answers of 200, which only the rejections count.
func TestRefusalInStreamCancelsNoFailure(t *testing.T) {
	const least, all = `slo_requests_bad_total{bound="lower", model_id="m", slo="availability"}`, `slo_requests_total{model_id="m", slo="availability"}`
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995})
	for _, c := range []struct {
		name             string
		refused, failed  int
		wantBad, wantAll float64
	}{
		{"none was refused", -1, 100, 100, 1100},
		{"three streams were", 3, 100, 100, 1103},
		{"two more failed", 3, 102, 100, 1103},
		{"seven more", 3, 109, 106, 1109},
		{"one was refused and answered 503", 4, 110, 106, 1110},
		{"a restarted process", 0, 2, 2, 1002},
		{"and refused a stream", 1, 2, 2, 1003},
	} {
		if c.name == "a restarted process" {
			b.connection = derive.Reopened
		}
		got := b.settled(vllmCounts(1000, c.refused, c.failed)...)
		require.Equal(t, c.wantBad, got.get(t, least), c.name)
		require.Equal(t, c.wantAll, got.get(t, all), c.name)
	}
	require.Equal(
		t,
		derive.Stats{Resets: 2, Restarts: 1},
		b.deriver.Stats(),
		"what is made of counters is not a counter that fell",
	)
}

// TestFailureAfterRestartCountsOnEveryPath uses a vLLM that failed at one path,
// restarted, and fails at another.
func TestFailureAfterRestartCountsOnEveryPath(t *testing.T) {
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995})
	for _, c := range []struct {
		path         string
		good, failed int
	}{
		{"completions", 1000, 100},
		{"completions", 1100, 110},
		{"chat/completions", 10, 2},
		{"chat/completions", 20, 5},
	} {
		if c.good == 10 {
			b.connection = derive.Reopened
		}
		got := b.settled(
			append(
				vllmCounts(c.good, 0, -1),
				fmt.Sprintf(`http_requests_total{handler="/v1/%s",method="POST",status="5xx"} %d`, c.path, c.failed),
			)...)
		require.Equal(
			t,
			float64(c.failed),
			got.get(t, `slo_requests_bad_total{bound="lower", model_id="m", slo="availability"}`),
			c,
		)
	}
}

// TestAbortCancelsNoAnswer uses an SGLang that counts an abort before the request
// ends, and its first one at once.
func TestAbortCancelsNoAnswer(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	for _, c := range []struct {
		name           string
		ended, aborted int
		want           float64
	}{
		{"none was aborted", 100, -1, 100},
		{"the first is, and has not ended", 100, 1, 100},
		{"it has", 101, 1, 100},
		{"two more are", 101, 3, 100},
		{"they have ended, and one well", 104, 3, 101},
		{"a restarted process", 5, 1, 4},
	} {
		if c.name == "a restarted process" {
			b.connection = derive.Reopened
		}
		require.Equal(
			t,
			c.want,
			b.settled(sglangCounts(c.ended, c.aborted)...).get(t, `requests_total{class="ok", model_id="m"}`),
			c.name,
		)
	}
}

// TestExistingCounterIsNotNew uses a trtllm-serve that
// finds blocks in its cache for the first time after it has missed many.
func TestExistingCounterIsNotNew(t *testing.T) {
	const ratio = `kv_cache_reuse_ratio{model_id="m"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	missed := func(n int, more ...string) values {
		return b.page(append(more, fmt.Sprintf(`trtllm_kv_cache_missed_blocks_total{model_name="m"} %d`, n))...)
	}
	missed(90_000)
	missed(90_010).lacks(t, ratio)
	missed(
		90_020,
		`trtllm_kv_cache_reused_blocks_total{model_name="m"} 30`,
	).lacks(t, ratio, "of the misses of the window only the last is known")
	got := missed(90_030, `trtllm_kv_cache_reused_blocks_total{model_name="m"} 60`)
	require.InDelta(t, 0.75, got.get(t, ratio), 1e-9)
}

// TestSuccessesAreTrustedWhereFailuresAreCounted asks one model of each backend and release. Where
// failures may count as successes, nothing is known of the successes; failures are counted as such.
func TestSuccessesAreTrustedWhereFailuresAreCounted(t *testing.T) {
	bls := engine.ModelFacts{
		Name:       "m",
		State:      "READY",
		Configured: true,
		Backend:    "python",
		Calls:      []string{"tensorrt_llm"},
	}
	ensemble := engine.ModelFacts{
		Name:       "m",
		State:      "READY",
		Configured: true,
		Platform:   "ensemble",
		Steps:      []string{"python_step"},
	}
	for _, c := range []struct {
		name, version string
		model         engine.ModelFacts
		trusted       bool
		more          []string
	}{
		{"the C++ backend of TensorRT-LLM", "2.51.0", configured("m", "tensorrtllm", true), true, nil},
		{"the C++ backend in an unknown release", "", configured("m", "tensorrtllm", false), true, nil},
		{
			"an executor that only the C++ backend has, without a config",
			"",
			engine.ModelFacts{Name: "m"},
			true,
			[]string{
				`nv_trt_llm_general_metrics{general_type="iteration_counter",model="m",version="1"} 5`,
				`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="reused",model="m",version="1"} 0`,
			},
		},
		{
			"an executor that a Python model may have, without a config",
			"",
			engine.ModelFacts{Name: "m"},
			false,
			[]string{
				`nv_trt_llm_general_metrics{general_type="iteration_counter",model="m",version="1"} 5`,
			},
		},
		{
			"a Python model of 24.03, where its errors count as failures",
			"2.44.0", configured("m", "python", false), true, nil,
		},
		{"a Python model of 24.05", "2.46.0", configured("m", "python", false), true, nil},
		{
			"a Python model of 24.06, where its errors count as successes",
			"2.47.0", configured("m", "python", false), false, nil,
		},
		{"a Python model of 24.10", "2.51.0", configured("m", "python", false), false, nil},
		{"a Python model of an unknown release", "unknown", configured("m", "python", false), false, nil},
		{"a decoupled Python model of any release", "2.44.0", configured("m", "python", true), false, nil},
		{"a BLS model", "2.51.0", bls, false, nil},
		{"an ensemble of Python steps", "2.51.0", ensemble, true, nil},
		{"an ensemble of an unknown release", "", ensemble, true, nil},
		{"the vLLM backend", "2.64.0", configured("m", "vllm", true), false, nil},
		{
			"ONNX Runtime of 21.12, which counts no failures", "2.17.0", configured("m", "onnxruntime", false),
			false, nil,
		},
		{"ONNX Runtime of 22.02", "2.19.0", configured("m", "onnxruntime", false), true, nil},
		{"PyTorch", "2.64.0", configured("m", "pytorch", false), true, nil},
		{"TensorRT of an unknown release", "", configured("m", "tensorrt", false), false, nil},
		{"a backend of the operator's own", "2.64.0", configured("m", "my_backend", false), false, nil},
		{"a model without a config", "2.64.0", engine.ModelFacts{Name: "m", State: "READY"}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(c.model).release(c.version)
			page := func(n int) values {
				return b.page(append(c.more,
					fmt.Sprintf(`nv_inference_request_success{model="m",version="1"} %d`, 8*n),
					fmt.Sprintf(`nv_inference_request_failure{model="m",reason="BACKEND",version="1"} %d`, 2*n))...)
			}
			if len(c.more) > 0 { // What the page itself shows of the model.
				b.with(func(o *derive.Options) {
					shown := engine.NamedModels{Names: []string{"m"}, Executors: []string{"m"}}
					if strings.Contains(strings.Join(c.more, ""), "reused") {
						shown.Native = shown.Names
					}
					o.Naming.Topology = engine.NewTopology(b.engine, shown, []engine.ModelFacts{c.model}, nil)
				})
			}
			page(0)
			got := page(1)
			class := map[bool]string{true: "ok", false: "unknown"}[c.trusted]
			require.Equal(
				t,
				8.0,
				got.get(t, fmt.Sprintf(`requests_total{class=%q, model="m", model_id="m", version="1"}`, class)),
			)
			require.Equal(
				t,
				2.0,
				got.get(t, `requests_total{class="server", model="m", model_id="m", version="1"}`),
				"failures are failures",
			)
			require.Equal(t, c.trusted, got.count("request_error_ratio{") > 0)
			require.InDelta(t, 2, got.get(t, `requests_per_second{model="m", model_id="m", version="1"}`), 1e-9)
		})
	}
}
