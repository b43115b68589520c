package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestSGLangPages(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       map[string]float64
	}{
		{
			"requests with and without a stream add up, first tokens are of streams",
			`sglang:num_requests_total{is_streaming="false"} 2
sglang:num_requests_total{is_streaming="true"} 5
sglang:num_aborted_requests_total 1
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_bucket{is_streaming="false",le="+Inf"} 2
sglang:time_to_first_token_seconds_count{is_streaming="false"} 2
sglang:time_to_first_token_seconds_bucket{is_streaming="true",le="+Inf"} 5
sglang:time_to_first_token_seconds_count{is_streaming="true"} 5
# TYPE sglang:e2e_request_latency_seconds histogram
sglang:e2e_request_latency_seconds_bucket{is_streaming="false",le="+Inf"} 2
sglang:e2e_request_latency_seconds_count{is_streaming="false"} 2
sglang:e2e_request_latency_seconds_bucket{is_streaming="true",le="+Inf"} 5
sglang:e2e_request_latency_seconds_count{is_streaming="true"} 5
`,
			map[string]float64{
				"requests_finished_total":           7,
				"requests_aborted_total":            1,
				"time_to_first_token_seconds_count": 5,
				"request_duration_seconds_count":    7,
			},
		},
		{
			"failures are those of requests to the engine",
			`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} 9
sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="400"} 2
sglang:http_responses_total{endpoint="/generate",method="POST",status_code="404"} 1
sglang:http_responses_total{endpoint="/v1/chat/completions",method="POST",status_code="503"} 4
sglang:http_responses_total{endpoint="/health",method="GET",status_code="503"} 50
sglang:http_responses_total{endpoint="/version",method="GET",status_code="404"} 50
sglang:http_requests_total{endpoint="/v1/completions",method="POST"} 11
sglang:http_requests_total{endpoint="/v1/tokenize",method="POST"} 50
sglang:http_requests_total{endpoint="/v1/completion",method="POST"} 50
`,
			map[string]float64{
				"requests_started_total":           11,
				"requests_failed_total reason=400": 2,
				"requests_failed_total reason=404": -1,
				"requests_failed_total reason=503": 4,
			},
		},
		{
			"requests waiting on a decode server wait for room, or for their KV cache",
			`sglang:num_queue_reqs{engine_type="decode"} 0
sglang:num_decode_prealloc_queue_reqs{engine_type="decode"} 40
sglang:num_decode_transfer_queue_reqs{engine_type="decode"} 6
sglang:num_decode_host_receive_queue_reqs{engine_type="decode"} 2
`,
			map[string]float64{"requests_waiting": 40, "requests_transfer": 6},
		},
		{
			"requests waiting on a prefill server wait for the other, under the name of either release",
			`sglang:num_queue_reqs{engine_type="prefill"} 2
sglang:num_prefill_prealloc_queue_reqs{engine_type="prefill"} 3
sglang:num_prefill_inflight_queue_reqs{engine_type="prefill"} 9
`,
			map[string]float64{"requests_waiting": 2, "requests_transfer": 3},
		},
		{
			"releases without streamed requests have first tokens of all",
			`# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_bucket{le="+Inf"} 5
sglang:time_to_first_token_seconds_sum 1
sglang:time_to_first_token_seconds_count 5
`,
			map[string]float64{"time_to_first_token_seconds_count": 5},
		},
	} {
		shows(t, valuesOf(t, engine.SGLang, []byte(c.page)), c.want, c.name)
		shows(t, valuesOf(t, engine.NIM, []byte(c.page)), c.want, c.name+", in a NIM")
	}
}

func TestDuplicateSeriesAreChosenInAnyOrder(t *testing.T) {
	const zero = `sglang:num_running_reqs{moe_ep_rank="0",pp_rank="0",tp_rank="0"} 4` + "\n"
	const one = `sglang:num_running_reqs{moe_ep_rank="0",pp_rank="0",tp_rank="1"} 5` + "\n"
	for _, page := range []string{zero + one, one + zero} {
		require.InDelta(t, 4, valuesOf(t, engine.SGLang, []byte(page))["requests_running"], 0)
	}
}

func TestRealSGLangPages(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"real-sglang-0.5.23-dp2-under-load.prom": {
			"requests_running":                  8,
			"requests_waiting":                  6,
			"kv_cache_utilization_ratio":        0.06,
			"kv_cache_tokens_used":              520,
			"kv_cache_tokens_limit":             8192,
			"kv_cache_tokens_free":              2 * (3823 + 13),
			"kv_cache_block_tokens":             1,
			"requests_finished_total":           2,
			"prompt_tokens_total":               12,
			"generation_tokens_total":           16,
			"time_to_first_token_seconds_count": 8,
			"request_duration_seconds_count":    2,
			"requests_aborted_total":            -1,
			"spec_decode_acceptance_length":     0,
		},
		"real-sglang-0.5.23-after-disconnect.prom": {
			"requests_aborted_total":                               6,
			"prompt_tokens_cached_total":                           90,
			"prompt_tokens_cached_by_tier_total cache_tier=device": 90,
		},
		"real-sglang-0.5.23-scheduler-stopped.prom": {"requests_running": 4, "requests_waiting": 4},
		"real-sglang-0.5.23-under-load.prom": {
			"requests_running":             4,
			"requests_waiting":             16,
			"kv_cache_tokens_used":         404,
			"kv_cache_utilization_ratio":   0.1,
			"generation_tokens_total":      13,
			"generation_tokens_live_total": 307,
			"prompt_tokens_live_total":     139,
		},
		// Two of the requests are from its warm-up.
		"real-sglang-0.5.23-after-load.prom": {
			"requests_running":             0,
			"requests_waiting":             0,
			"prompt_tokens_total":          648,
			"generation_tokens_total":      2013,
			"requests_finished_total":      22,
			"generation_tokens_live_total": 1991,
		},
		"real-sglang-0.5.23-idle.prom": {
			"requests_running":        0,
			"requests_finished_total": 2,
			"generation_tokens_total": 13,
			"kv_cache_tokens_used":    2,
		},
	} {
		shows(t, sampleValues(t, engine.SGLang, name), want, name)
	}
}

// TestSGLangReasons checks capabilities on pages of different releases.
func TestSGLangReasons(t *testing.T) {
	const (
		fresh      = "not on the page yet; families appear with the first request"
		begins     = `sglang:num_running_reqs{engine_type="unified"} 0` + "\n" + `sglang:token_usage{engine_type="unified"} 0` + "\n"
		newer      = begins + `sglang:max_total_num_tokens{engine_type="unified"} 4096` + "\n"
		answers    = `sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 1` + "\n"
		comes      = `sglang:http_requests_total{endpoint="/v1/completions",method="POST"} 1` + "\n"
		counted    = "true, num_requests_total as far as they were answered 2xx, aborted ones, and failures by HTTP status; "
		notCounted = "; a request with n > 1 or a list of prompts counts once; errors inside a stream are not counted"
	)
	for _, c := range []struct{ says, page, name, want string }{
		{
			"an old one", begins, engine.CanLiveTokens,
			"false, this release counts tokens when a request ends [SGLang 0.5.7 or later]",
		},
		{"a release that counts them, before the first", newer, engine.CanLiveTokens, "false, " + fresh},
		{"an old one", begins, engine.CanKVCache, "true, sglang:token_usage, rounded to 2 digits"},
		{
			"a new one", newer + "sglang:kv_used_tokens 4\n", engine.CanKVCache,
			"true, sglang:kv_used_tokens of sglang:max_total_num_tokens, or sglang:token_usage if that is another, " +
				"as with several pools",
		},
		{
			"an old one", begins, engine.CanRunning,
			"true, sglang:num_running_reqs, updated every few steps; an idle server may show its last batch",
		},
		{
			"one that notices that it is idle", begins + "sglang:spec_cap_length 0\n", engine.CanRunning,
			"true, sglang:num_running_reqs, updated every few steps",
		},
		{
			"one that waits for another server", begins + "sglang:num_queue_reqs 0\nsglang:num_decode_transfer_queue_reqs 1\n",
			engine.CanQueue, "true, sglang:num_queue_reqs and sglang:num_decode_transfer_queue_reqs",
		},
		{
			"an old release that counts arrivals", begins + comes, engine.CanStall,
			"true, sglang:http_requests_total {endpoint=\"/v1/completions\"}, which must move while there is work " +
				"according to sglang:num_running_reqs; llm_server_suspected shows it, since a healthy server may " +
				"look the same; canary: { confirm: true } in the pool, a request when the replica is " +
				"suspected, settles it",
		},
		{
			"a new one",
			begins + comes + "sglang:cuda_graph_passes_total{mode=\"decode_none\"} 4\n",
			engine.CanStall,
			"true, sglang:cuda_graph_passes_total, which must move while there is work according to " +
				"sglang:num_running_reqs; llm_server_suspected shows it, since a healthy server may look the same; " +
				"canary: { confirm: true } in the pool, a request when the replica is suspected, settles it",
		},
		{
			"a release without whole requests", begins + answers, engine.CanOutcomes,
			counted + "it is unknown which aborted ones were answered 2xx, so class ok is a lower bound, and so is " +
				"class client: all aborted requests are subtracted, although only those whose answer had not begun " +
				"were answered 400" + notCounted,
		},
		{
			"a release whose first tokens are of all requests",
			begins + "sglang:time_to_first_token_seconds_bucket{le=\"+Inf\"} 2\nsglang:time_to_first_token_seconds_count 2\n" +
				"sglang:time_to_first_token_seconds_sum 1\n",
			engine.CanTTFT,
			"true, sglang:time_to_first_token_seconds, with requests that are not streamed, which count when a part of " +
				"their answer is there",
		},
		{
			"a release that tells streamed requests apart",
			begins + "sglang:time_to_first_token_seconds_bucket{is_streaming=\"true\",le=\"+Inf\"} 2\n" +
				"sglang:time_to_first_token_seconds_count{is_streaming=\"true\"} 2\n" +
				"sglang:time_to_first_token_seconds_sum{is_streaming=\"true\"} 1\n",
			engine.CanTTFT,
			"true, sglang:time_to_first_token_seconds {is_streaming=\"true\"}, of streamed requests",
		},
		{
			"a release with whole requests",
			begins + answers + "sglang:request_time_per_output_token_seconds_count{is_streaming=\"true\"} 1\n",
			engine.CanOutcomes,
			counted + "aborted streams are taken off class ok, and are those that did not complete, among which are " +
				"streams of one token; a client that disconnects before its answer begins is answered 400, which is " +
				"subtracted from class client as far as known" + notCounted,
		},
	} {
		require.Equal(
			t,
			c.want,
			capability(t, engine.SGLang, c.name, &engine.Knowledge{Page: readPage(t, engine.SGLang, []byte(c.page))}),
			"%s: %s",
			c.says,
			c.name,
		)
	}
	steps := newer + "sglang:cuda_graph_passes_total{mode=\"decode_none\"} 4\n"
	for page, repeated := range map[string]bool{
		begins: false,
		newer:  false, // As of 0.5.6, which does not count its answers.
		steps:  true, steps + answers: false,
	} {
		require.Equal(
			t,
			repeated,
			engineOf(t, engine.SGLang).Quirks(readPage(t, engine.SGLang, []byte(page))).AbortsRepeated,
			page,
		)
	}
}

func TestSGLangIdentity(t *testing.T) {
	server := answers{
		"/server_info": `{"version":"0.5.23","model_path":"/m"}`,
		"/v1/models":   `{"data":[{"id":"m","owned_by":"sglang"}]}`,
		"/model_info":  `{"served_model_name":"m"}`,
	}
	f := ask(t, engine.SGLang, server)
	require.Equal(t, "0.5.23", f.EngineVersion)
	require.Empty(t, f.TRTLLMVersion)
	require.Empty(t, f.Problems)
	delete(server, "/server_info")
	server["/get_server_info"] = `{"version":"0.4.0"}`
	require.Equal(t, "0.4.0", ask(t, engine.SGLang, server).EngineVersion)
}

func TestSGLangHealthGeneratesNothing(t *testing.T) {
	rec := &recorder{Client: answers{"/v1/models": `{"data":[{"id":"m"}]}`, "/health": "", "/health_generate": ""}}
	e := engineOf(t, engine.SGLang)
	require.Equal(t, engine.Health{
		API:          engine.APIReady,
		Live:         true,
		LiveKnown:    true,
		Status:       200,
		PausedByPage: true,
		Detail:       "the API lists its models",
	}, e.Health(t.Context(), rec, "http://server"))
	engine.Detect(t.Context(), rec, "http://server", true)
	e.Ask(t.Context(), rec, "http://server", engine.Earlier{}).Complete()
	require.False(
		t,
		slices.ContainsFunc(
			rec.paths,
			func(path string) bool { return path == "/health" || path == "/health_generate" },
		),
		"asked %v", rec.paths,
	)
	require.Equal(t, engine.APIRefused, e.Health(t.Context(), answers{"*": refuses}, "http://server").API)
}

// TestPauseIsSaidByPages has successive pages of one server, whose API says nothing about it before 0.5.20.
func TestPauseIsSaidByPages(t *testing.T) {
	const (
		held    = "sglang:num_paused_reqs{tp_rank=\"0\",pid=\"7\"} 4\n"
		open    = "sglang:http_requests_active{endpoint=\"/generate\",method=\"POST\"} 4\n"
		refused = "sglang:http_responses_total{endpoint=\"/pause_generation\",method=\"POST\",status_code=\"422\"} 9\n"
	)
	counted := func(path string, n int) string {
		return fmt.Sprintf("sglang:http_responses_total{endpoint=%q,method=\"POST\",status_code=\"200\"} %d\n", path, n)
	}
	// routes counts the answers to who paused and who continued it, in a page of an idle server.
	routes := func(paused, continued int) string {
		page := "sglang:num_running_reqs 0\n" + counted("/generate", 5)
		if paused > 0 {
			page += counted("/pause_generation", paused)
		}
		if continued > 0 {
			page += counted("/continue_generation", continued)
		}
		return page
	}
	steps := func(n int) string {
		return fmt.Sprintf("sglang:cuda_graph_passes_total{mode=\"decode_none\"} %d\n", n)
	}
	for _, c := range []struct {
		says  string
		pages []string
		want  bool
	}{
		{"nobody paused it", []string{routes(0, 0), routes(0, 0)}, false},
		{"it was paused", []string{routes(0, 0), routes(1, 0)}, true},
		{"it is still paused", []string{routes(0, 0), routes(1, 0), routes(1, 0)}, true},
		{"it was paused again before anybody continued it", []string{routes(1, 0), routes(2, 0)}, true},
		{"it was continued", []string{routes(1, 0), routes(1, 1)}, false},
		{"it was paused for the next weights", []string{routes(1, 1), routes(2, 1)}, true},
		{"it was paused twice and continued once", []string{routes(2, 0), routes(2, 1)}, false},
		{"it was continued and nobody had paused it", []string{routes(0, 0), routes(0, 1), routes(0, 1)}, false},
		{"it was continued and paused again between two pages", []string{routes(1, 0), routes(2, 1)}, true},
		{"it was paused and continued between two pages", []string{routes(1, 1), routes(2, 2)}, false},
		{"it worked, and was paused again, between two pages", []string{steps(5) + routes(1, 0), steps(9) + routes(2, 1)}, true},
		{"it was paused, continued and paused between two pages", []string{routes(1, 1), routes(3, 2)}, true},
		{"it was continued, paused and continued between two pages", []string{routes(1, 0), routes(2, 2)}, false},
		{"it had been paused when it was seen first, and never continued", []string{routes(3, 0)}, true},
		{"it had been paused and continued when it was seen first", []string{routes(3, 3)}, false},
		{"it had been paused more often than continued when it was seen first", []string{routes(3, 2)}, false},
		{
			"requests wait, and it had been paused more often than continued when it was seen first",
			[]string{steps(5) + open + routes(2, 1), steps(5) + open + routes(2, 1)},
			true,
		},
		{
			"requests wait, and it had been continued as often as paused when it was seen first",
			[]string{steps(5) + open + routes(2, 2), steps(5) + open + routes(2, 2)},
			false,
		},
		{
			"it had been paused twice, which it shows when it works, and then hangs",
			[]string{steps(5) + open + routes(2, 1), steps(6) + open + routes(2, 1), steps(6) + open + routes(2, 1)},
			false,
		},
		{
			"nobody waits, so nothing says whether it had been paused twice",
			[]string{steps(5) + routes(2, 1), steps(5) + routes(2, 1)},
			false,
		},
		{
			"it was continued after it had been seen first",
			[]string{steps(5) + open + routes(3, 1), steps(5) + open + routes(3, 2), steps(5) + open + routes(3, 2)},
			false,
		},
		{"another process took its place", []string{routes(2, 0), routes(0, 0)}, false},
		{"another process took its place, and was paused and continued", []string{routes(2, 0), routes(1, 1)}, false},
		{"it works, whoever continued it", []string{steps(5) + routes(1, 0), steps(6) + routes(1, 0)}, false},
		{
			"it did what it had begun, and stands still",
			[]string{steps(5) + routes(0, 0), steps(6) + routes(1, 0), steps(6) + routes(1, 0)},
			true,
		},
		{
			"the page that shows the pause lacks its last step",
			[]string{
				steps(5) + open + routes(0, 0), steps(6) + open + routes(1, 0),
				steps(7) + open + routes(1, 0), steps(7) + open + routes(1, 0),
			},
			true,
		},
		{
			"it works on after a pause, whoever continued it, and then hangs",
			[]string{
				steps(5) + open + routes(1, 0), steps(6) + open + routes(1, 0),
				steps(7) + open + routes(1, 0), steps(7) + open + routes(1, 0),
			},
			false,
		},
		{"who wanted to pause it was refused", []string{routes(0, 0), routes(0, 0) + refused}, false},

		{"a server that counts what it holds back", []string{steps(5), steps(5) + held + open, steps(5) + held + open}, true},
		{"it does not stand still", []string{steps(5), steps(6) + held + open, steps(7) + held + open}, false},
		{"nobody waits for it any more", []string{steps(5), steps(5) + held, steps(5) + held}, false},
		{"nothing tells whether it stands still", []string{held + open, held + open}, false},
		{"the first page", []string{steps(5) + held + open}, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			page := readPages(t, engine.SGLang, c.pages...)
			require.Equal(t, c.want, page.Paused())
			require.Equal(t, c.want, readPages(t, engine.NIM, c.pages...).Paused(), "inside a NIM")

			word := func(more answers) engine.Said { return sglangSays(t, more, page) }
			want := engine.SaidReady
			if c.want {
				want = engine.SaidPaused
			}
			require.Equal(t, want, word(nil), "an API that does not say so")
			require.Equal(t, engine.SaidReady, word(answers{"/ready": ""}), "an API that says the opposite")
			require.Equal(t, engine.SaidPaused, word(answers{"/ready": notReady}), "an API that says it itself")
			require.Equal(t, engine.SaidNothing, word(answers{"/v1/models": refuses}), "an API that is closed")
		})
	}
}

// TestTakenMemoryIsAPause has successive pages of a server whose memory was given to a training, whatever its
// API says about itself. It must get no request then, not even ours.
func TestTakenMemoryIsAPause(t *testing.T) {
	counted := func(path string, n int) string {
		return fmt.Sprintf("sglang:http_responses_total{endpoint=%q,method=\"POST\",status_code=\"200\"} %d\n", path, n)
	}
	page := func(released, resumed int) string {
		text := "sglang:cuda_graph_passes_total{mode=\"decode_none\"} 5\n" + counted("/generate", 5)
		if released > 0 {
			text += counted("/release_memory_occupation", released)
		}
		if resumed > 0 {
			text += counted("/resume_memory_occupation", resumed)
		}
		return text
	}
	for _, c := range []struct {
		says  string
		pages []string
		want  bool
	}{
		{"nobody took it", []string{page(0, 0), page(0, 0)}, false},
		{"it was taken", []string{page(0, 0), page(1, 0)}, true},
		{"it was given back", []string{page(1, 0), page(1, 1)}, false},
		{"it was taken again", []string{page(1, 1), page(2, 1)}, true},
		{"it was taken in two parts and given back at once", []string{page(2, 0), page(2, 1)}, false},
		{"it had been taken when it was seen first", []string{page(1, 0)}, true},
		{"it was given back while it is paused", []string{
			page(1, 0) + counted("/pause_generation", 1), page(1, 1) + counted("/pause_generation", 1),
		}, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			page := readPages(t, engine.SGLang, c.pages...)
			require.Equal(t, c.want, page.MemoryTaken())
			word := sglangSays(t, answers{"/ready": ""}, page)
			require.Equal(t, c.want, word == engine.SaidPaused)
		})
	}
}

// TestMemoryTakenBeforeIsUnsure has servers whose memory was taken, and given back in parts, before the first page.
func TestMemoryTakenBeforeIsUnsure(t *testing.T) {
	page := func(steps, released, resumed int) string {
		const counted = "sglang:http_responses_total{endpoint=%q,method=\"POST\",status_code=\"200\"} %d\n"
		return fmt.Sprintf("sglang:cuda_graph_passes_total{mode=\"decode_none\"} %d\n", steps) +
			fmt.Sprintf(counted, "/release_memory_occupation", released) +
			fmt.Sprintf(counted, "/resume_memory_occupation", resumed)
	}
	for _, c := range []struct {
		says  string
		pages []string
		want  bool
	}{
		{"nobody ever took it", []string{page(5, 0, 0)}, false},
		{"it may have one part back", []string{page(5, 11, 20), page(5, 11, 20)}, true},
		{"it has worked since", []string{page(5, 11, 20), page(6, 11, 20)}, false},
		{"it was given back since", []string{page(5, 11, 20), page(5, 11, 21)}, false},
		{"it was taken since, as is seen", []string{page(5, 11, 20), page(5, 12, 20)}, false},
	} {
		require.Equal(t, c.want, readPages(t, engine.SGLang, c.pages...).MemoryUnsure(), c.says)
	}
}

// sglangSays returns what a server says by an API, which also answers more, and by its page.
func sglangSays(t *testing.T, more answers, page *engine.Page) engine.Said {
	t.Helper()
	server := answers{"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`, "/ping": ""}
	maps.Copy(server, more)
	var a engine.Answers
	var l engine.Locator
	a.AddHealth(engineOf(t, engine.SGLang).Health(t.Context(), server, "http://10.0.0.1:30000"))
	at := &target.Target{MetricsURL: "http://10.0.0.1:30000/metrics"}
	a.Reconcile(l.Locate(nil, at, engineOf(t, engine.SGLang), false), page)
	return a.Health.Said()
}

// TestNewWeightsAreAPause has successive pages of a server whose weights are replaced by somebody who does not
// pause it: neither requests nor its own health check are answered meanwhile.
func TestNewWeightsAreAPause(t *testing.T) {
	active := func(path string, n int) string {
		return fmt.Sprintf("sglang:http_requests_active{endpoint=%q,method=\"POST\"} %d\n", path, n)
	}
	const update, flush = "/update_weights_from_disk", "/flush_cache"
	steps := func(n int) string {
		return fmt.Sprintf("sglang:cuda_graph_passes_total{mode=\"decode_none\"} %d\n", n)
	}
	page := func(step, requests int, path string, n int) string {
		return steps(step) + active("/generate", requests) + active(path, n)
	}
	for _, c := range []struct {
		says  string
		pages []string
		want  bool
	}{
		{"requests wait for it", []string{page(5, 4, update, 0), page(5, 4, update, 1)}, true},
		{"it is done", []string{page(5, 4, update, 1), page(5, 4, update, 1), page(5, 4, update, 0)}, false},
		{"nobody waits", []string{page(5, 0, update, 1), page(5, 0, update, 1)}, false},
		{"the engine works beside it", []string{page(5, 4, update, 1), page(6, 4, update, 1)}, false},
		{"the first page", []string{page(5, 4, update, 1)}, false},
		{"somebody else wants another thing", []string{page(5, 4, flush, 1), page(5, 4, flush, 1)}, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			page := readPages(t, engine.SGLang, c.pages...)
			for name, more := range map[string]answers{
				"an API that does not say so": nil, "an API that says that it is ready": {"/ready": ""},
			} {
				require.Equal(t, c.want, sglangSays(t, more, page) == engine.SaidPaused, name)
			}
		})
	}
}

// TestRanksWithoutLabel reads pages of servers with data-parallel ranks, each of which has requests of its own.
func TestRanksWithoutLabel(t *testing.T) {
	const running, waiting, cache = "sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"
	page := func(labels string) []byte {
		labels = `{` + labels + `model_name="m"} `
		return []byte(running + labels + "4\n" + waiting + labels + "1\n" + cache + labels + "0.3\n" +
			"sglang:generation_tokens_total{model_name=\"m\"} 9\n")
	}
	all := []engine.Signal{engine.RequestsRunning, engine.RequestsWaiting, engine.KVUtilization}
	for _, c := range []struct {
		name, info, labels string
		read               []engine.Signal
	}{
		{"one rank", `{"version":"0.4.6.post5","dp_size":1}`, "", all},
		{"a server that does not say", `{"version":"0.4.6.post5"}`, "", all},
		{"ranks that overwrite each other", `{"version":"0.4.6.post5","dp_size":8}`, "", nil},
		{"of the last release without label", `{"version":"0.4.9.post2","dp_size":2}`, "", nil},
		{"of the first release that overwrites", `{"version":"0.4.3.post3","dp_size":2}`, "", nil},
		{"of the last release that adds", `{"version":"0.4.3.post2","dp_size":2}`, "", all[:2]},
		{"of a fork", `{"version":"mine","dp_size":2}`, "", nil},
		{"ranks with a label", `{"version":"0.5.12","dp_size":2}`, `dp_rank="0",`, all},
	} {
		e := engineOf(t, engine.SGLang)
		facts := e.Ask(t.Context(), answers{"/server_info": c.info}, "http://server", engine.Earlier{}).Complete()
		p := readPage(t, engine.SGLang, page(c.labels))
		p.LearnRanks(e.RanksBy(&facts))
		for _, s := range all {
			require.Equal(t, slices.Contains(c.read, s), p.Has(s), "%s: %s", c.name, s)
		}
		require.True(t, p.Has(engine.GenerationTokens), c.name)
		for _, check := range engine.Capabilities(e, &engine.Knowledge{Page: p, Facts: &facts, Version: facts.EngineVersion}) {
			if check.Name == engine.CanKVCache && !p.Has(engine.KVUtilization) {
				require.Contains(t, check.Reason, "data-parallel ranks write gauges which do not name them", c.name)
				require.Equal(t, "SGLang 0.4.9.post3 or later", check.Cure, c.name)
			}
		}
	}
}

// TestReasonsOfOtherReleases asks why a page lacks something of a server whose version is known.
func TestReasonsOfOtherReleases(t *testing.T) {
	const fresh, still = "false, not on the page yet; families appear with the first request",
		"false, requests have ended, and it is still not on the page: this release may not expose it"
	uncounted := "vllm:num_requests_running 0\nvllm:request_success_total{finished_reason=\"stop\"} 4\n"
	const config = "false, engine V1 of this release does not expose cache_config_info [vLLM 0.8 or later]"
	const whenEnded = "false, this release counts tokens when a request ends [SGLang 0.5.7 or later]"
	running := "sglang:num_running_reqs 0\n"
	for _, c := range []struct {
		kind                engine.Name
		version, page, name string
		want                string
	}{
		{engine.SGLang, "0.5.23", running, engine.CanLiveTokens, fresh},
		{engine.SGLang, "0.5.23", running + "sglang:num_requests_total 4\n", engine.CanLiveTokens, still},
		{engine.SGLang, "0.5.6", running, engine.CanLiveTokens, whenEnded},
		{engine.SGLang, "", running, engine.CanLiveTokens, whenEnded},
		{
			engine.VLLM, "", uncounted, engine.CanOutcomes,
			"false, requests have ended, and the page does not count the API's answers [vLLM 0.8.3 or later]",
		},
		{
			engine.VLLM, "0.33.0", uncounted, engine.CanOutcomes,
			"false, requests have ended, and the page does not count the API's answers",
		},
		{engine.VLLM, "0.7.2", uncounted + "python_info 1\n", engine.CanConfig, config},
		{engine.VLLM, "0.33.0", uncounted + "python_info 1\n", engine.CanConfig, still},
		{
			engine.SGLang, "0.5.23", "sglang:encoder_requests_total{status=\"success\"} 4\n", engine.CanTTFT,
			"false, it encodes images and the like for other servers, and its page has none of the series of an LLM's engine",
		},
		{
			engine.SGLang, "0.5.23", "sglang:diffusion_num_running_reqs 1\n", engine.CanTokens,
			"false, it generates images or videos, and its page has none of the series of an LLM's engine",
		},
	} {
		known := &engine.Knowledge{Page: readPage(t, c.kind, []byte(c.page)), Version: c.version}
		got := capability(t, c.kind, c.name, known)
		require.Equal(t, c.want, got, "%s %s: %s", c.kind, c.version, c.name)
	}
}
