package draft_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/draft"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// requireValid requires that a draft is a file of kinds as it is.
func requireValid(t *testing.T, text string) *engine.Kinds {
	t.Helper()
	kinds, err := config.ParseKinds("kinds.yml", []byte(text))
	require.NoError(t, err, text)
	return kinds
}

// TestDraftsOfKnownServers drafts files from the pages for which there are shipped ones.
func TestDraftsOfKnownServers(t *testing.T) {
	pages, err := filepath.Glob("../testdata/declared/*.prom")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, file := range pages {
		name := strings.TrimSuffix(filepath.Base(file), ".prom")
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(file)
			require.NoError(t, err)
			server := draft.Server{Paths: engine.DeclaredPaths{Health: "/health", Models: "/v1/models"}, Owner: "me"}
			if found, known := engine.ByName(string(engine.BuiltIn().FromPage(page).Kind)); known {
				server = draft.Server{Extends: found}
			}
			text, err := draft.Kind(page, server)
			require.NoError(t, err)
			kinds := requireValid(t, text)
			require.NotEqual(t, engine.Unknown, kinds.FromPage(page).Kind, "the draft recognises its page")
			fixture.RequireFile(t, filepath.Join("testdata", name+".yml"), text)
		})
	}
}

// TestADraftDoubtsWhatOnlyTheReleaseTells drafts a file from the page of a fork of vLLM whose hits may be tokens or
// blocks.
func TestADraftDoubtsWhatOnlyTheReleaseTells(t *testing.T) {
	const page = "# TYPE acme:num_requests_swapped gauge\nacme:num_requests_swapped 1\n" +
		"# TYPE acme:gpu_prefix_cache_hits_total counter\nacme:gpu_prefix_cache_hits_total 60\n" +
		"# TYPE acme:gpu_prefix_cache_queries_total counter\nacme:gpu_prefix_cache_queries_total 100\n"
	server := draft.Server{Paths: engine.DeclaredPaths{Health: "/health", Models: "/v1/models"}, Owner: "me"}
	text, err := draft.Kind([]byte(page), server)
	require.NoError(t, err)
	requireValid(t, text)
	require.Contains(t, text, "# - { name: gpu_prefix_cache_hits_total, signal: prompt_tokens_cached_total } # doubtful: "+
		"that is so in releases from 0.9.0 to before 0.12.0, hidden from 0.11.0 only")
}

// TestEveryDraftIsValid drafts files from pages of all sorts.
func TestEveryDraftIsValid(t *testing.T) {
	pages := map[string]string{
		"no common beginning": "tokens_total 1\nrequests_running 2\nrequests_waiting 2\n",
		"names of NIM":        "# TYPE num_requests_running gauge\nnum_requests_running 1\n",
		"one name":            "# TYPE acme_requests_running gauge\nacme_requests_running 1\n",
		"odd labels":          "# TYPE a:x_total counter\na:x_total{le_model=\"a b\",engine=\"0\"} 1\na:x_total{y=\"{}\"} 1\n",
		"a mark of any":       "go_llm_requests_running 1\nnode_requests_running 1\n",
		"yes":                 "# TYPE yes gauge\nyes 1\nno 1\n",
		"UTF-8 names":         "{\"a b\"} 1\n{\"a ü\",model=\"m\"} 2\n",
	}
	for kind, spec := range map[string]simulate.Kind{"vllm": simulate.KindVLLM, "sglang": simulate.KindSGLang} {
		r, err := simulate.NewReplica(simulate.Spec{Kind: spec})
		require.NoError(t, err)
		r.Advance(time.Minute)
		pages["a fork of "+kind] = forked(string(r.Page()))
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			text, err := draft.Kind([]byte(page), draft.Server{})
			require.NoError(t, err)
			requireValid(t, text)
		})
	}
	triton, _ := engine.ByName("triton")
	text, err := draft.Kind([]byte("nv_inference_count 1\nmy_busy 1\nmy_idle 2\n"), draft.Server{Extends: triton})
	require.NoError(t, err)
	require.Contains(t, text, "# Nothing on this page is certain", "of what a backend adds")
	_, err = config.ParseKinds("kinds.yml", []byte(text))
	require.ErrorContains(t, err, "kinds[0].series: none is added")
	const series = "    series:\n"
	requireValid(t, strings.Replace(text, series, series+"      - { name: busy, signal: requests_running }\n", 1))
	for page, want := range map[string]string{
		"process_start_time_seconds 1\n": "the page has no names but those of libraries",
		"<html>":                         "",
	} {
		_, err := draft.Kind([]byte(page), draft.Server{})
		require.ErrorContains(t, err, want)
	}
	vllm, _ := engine.ByName("vllm")
	_, err = draft.Kind([]byte("vllm:num_requests_running 1\n"), draft.Server{Extends: vllm})
	require.ErrorContains(t, err, "the server is of the built-in kind vllm, which reads every name on its page")
}

// forked gives the names of a server's own series another beginning, as a fork has.
func forked(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		words := strings.SplitN(line, " ", 4)
		if line[0] == '#' && !strings.Contains(words[2], ":") || line[0] != '#' && !strings.Contains(words[0], ":") {
			continue
		}
		if line[0] != '#' {
			b.WriteString("fork_" + strings.Replace(line, ":", "_", 1))
			continue
		}
		words[2] = "fork_" + strings.Replace(words[2], ":", "_", 1)
		b.WriteString(strings.Join(words, " "))
	}
	return b.String()
}

// TestADraftOfAForkIsWhatItForked compares a draft from a page of vLLM with other names with vLLM itself.
func TestADraftOfAForkIsWhatItForked(t *testing.T) {
	r, err := simulate.NewReplica(simulate.Spec{Kind: simulate.KindVLLM})
	require.NoError(t, err)
	r.Advance(time.Minute)
	text, err := draft.Kind([]byte(forked(string(r.Page()))), draft.Server{})
	require.NoError(t, err)
	for _, line := range []string{
		"prefix: fork_vllm_ #",
		"- { name: num_requests_running, signal: requests_running } # its name ends like vllm:num_requests_running of vllm",
		"- { name: kv_cache_usage_perc, signal: kv_cache_utilization_ratio, combine: max }",
		"- { name: generation_tokens_total, signal: generation_tokens_total }",
		"- { name: request_success_total, signal: requests_finished_total, labels: { finish_reason: finished_reason } }",
		"- { name: time_to_first_token_seconds, signal: time_to_first_token_seconds }",
		"- { name: e2e_request_latency_seconds, signal: request_duration_seconds }",
	} {
		require.Contains(t, text, " "+line, text)
	}
}

// TestADraftAddsUpWhatTheRelativeAddsUp drafts a file from the page of a fork of vLLM of which requests wait in two
// places.
func TestADraftAddsUpWhatTheRelativeAddsUp(t *testing.T) {
	var page strings.Builder
	for _, name := range []string{
		"num_requests_running", "num_requests_swapped", "num_requests_waiting", "gpu_cache_usage_perc", "kv_cache_usage_perc",
	} {
		page.WriteString("# TYPE acme:" + name + " gauge\nacme:" + name + " 0\n")
	}
	text, err := draft.Kind([]byte(page.String()), draft.Server{})
	require.NoError(t, err)
	for _, line := range []string{
		"      - { name: num_requests_swapped, signal: requests_waiting } #",
		"      - { name: num_requests_waiting, signal: requests_waiting } #",
		"      # - { name: kv_cache_usage_perc, signal: kv_cache_utilization_ratio, combine: max } # doubtful: " +
			"gpu_cache_usage_perc may be the same number; ",
	} {
		require.Contains(t, text, "\n"+line)
	}
}

// TestADraftNamesWhatMayBeAMark drafts files from pages whose names have nothing in common, or what others have too.
func TestADraftNamesWhatMayBeAMark(t *testing.T) {
	const or = "# doubtful: no beginning of names is this server's alone; choose one, "
	for page, want := range map[string]string{
		"num_requests_running 1\nnpu_cache_usage_perc 0.5\n": "- name: my-server\n    marks: [choose_a_mark_] " + or +
			"such as npu_cache_usage_perc if only this kind of server has it, or set engine in the pool\n",
		"request_success_total 1\nrequest_queue_time_seconds 1\n": "- name: my-request\n    prefix: request_ " +
			"# begins most names of the page\n    marks: [choose_a_mark_] " + or + "or set engine in the pool\n",
	} {
		text, err := draft.Kind([]byte(page), draft.Server{})
		require.NoError(t, err)
		requireValid(t, text)
		require.Contains(t, text, want)
	}
}

// TestADraftKnowsWhatLabelsTell guesses by the values of labels and by words, where no server has such names.
func TestADraftKnowsWhatLabelsTell(t *testing.T) {
	const page = `# TYPE acme_throughput counter
acme_throughput_total{code="200",endpoint="/inference"} 8
acme_throughput_total{code="400",endpoint="/inference"} 1
# TYPE acme_process_duration_second histogram
acme_process_duration_second_bucket{stage="total",le="+Inf"} 8
acme_process_duration_second_sum{stage="total"} 0.5
acme_process_duration_second_count{stage="total"} 8
# TYPE acme_remaining_task gauge
acme_remaining_task 0
# TYPE acme_predict_seconds histogram
acme_predict_seconds_bucket{le="+Inf"} 8
acme_predict_seconds_sum 0.5
acme_predict_seconds_count 8
`
	text, err := draft.Kind([]byte(page), draft.Server{})
	require.NoError(t, err)
	for _, line := range []string{
		"# - { name: throughput_total, signal: requests_finished_total, labels: { finish_reason: code }, " +
			"status_codes: true } # doubtful: ",
		"# - { name: process_duration_second, signal: request_duration_seconds } # doubtful: ",
		"# - { name: remaining_task, signal: requests_active } # doubtful: ",
		"# - { name: predict_seconds, signal: request_inference_seconds } # doubtful: ",
	} {
		require.Contains(t, text, line)
	}
}

// TestADraftOfAPageWithoutCounters drafts a file from the page of a library that declares gauges and summaries alone.
func TestADraftOfAPageWithoutCounters(t *testing.T) {
	const page = "# TYPE tokens_total_prompt gauge\ntokens_total_prompt 60\n" +
		"# TYPE tokens_total_generated gauge\ntokens_total_generated 20\n" +
		"# TYPE num_used_blocks gauge\nnum_used_blocks 20\n" +
		"# TYPE first_token_latency_milliseconds summary\nfirst_token_latency_milliseconds_sum 9\n" +
		"first_token_latency_milliseconds_count 3\n"
	text, err := draft.Kind([]byte(page), draft.Server{})
	require.NoError(t, err)
	requireValid(t, text)
	const gauge, other = "the page declares a gauge, and it must be a counter", "no server that is known has such a name"
	for _, want := range []string{
		"name: tokens_total_prompt, signal: prompt_tokens_total } # doubtful: " + gauge,
		"name: tokens_total_generated, signal: generation_tokens_total } # doubtful: " + gauge,
		"name: num_used_blocks, signal: kv_cache_blocks_used } # doubtful: " + other,
		"name: first_token_latency_milliseconds, signal: time_to_first_token_seconds, factor: 0.001 } # doubtful: " +
			"the page declares a summary, of which only means are read",
	} {
		require.Contains(t, text, want)
	}
}

// TestADraftGuessesNoOtherUnit drafts a file from a page with tokens that are neither requests nor generated ones.
func TestADraftGuessesNoOtherUnit(t *testing.T) {
	const page = "# TYPE acme_batch_max_tokens gauge\nacme_batch_max_tokens 60\n" +
		"# TYPE acme_all_tokens_total counter\nacme_all_tokens_total 20\n" +
		"# TYPE acme_tokens_generated_total counter\nacme_tokens_generated_total 20\n"
	text, err := draft.Kind([]byte(page), draft.Server{})
	require.NoError(t, err)
	require.Contains(t, text, "name: tokens_generated_total, signal: generation_tokens_total }")
	require.Contains(t, text, "# Nothing was guessed of: acme_all_tokens_total, acme_batch_max_tokens.\n")
}

// TestADraftGuessesByWords has names that no known server has, of servers of several makers.
func TestADraftGuessesByWords(t *testing.T) {
	for _, c := range []struct{ typ, name, want string }{
		{"gauge", "free_gpu_block_num", "signal: kv_cache_blocks_free }"},
		{"gauge", "max_gpu_block_num", "signal: kv_cache_blocks_limit }"},
		{"gauge", "hit_token_rate", "signal: kv_cache_hit_ratio }"},
		{"gauge", "gpu_utilization_percent", "signal: gpu_utilization_ratio, factor: 0.01 }"},
		{"gauge", "max_batch_size", "signal: batch_size_limit }"},
		{"gauge", "max_running_requests", "signal: requests_limit }"},
		{"gauge", "current_requests", "signal: requests_active }"},
		{"counter", "requests_fail", "signal: requests_failed_total, class: server }"},
		{"counter", "requests_rejected", "signal: requests_rejected_total }"},
		{"counter", "kv_cache_evicted_tokens_total", ""},
		{"gauge", "available_batch_size", ""},
	} {
		// The last one makes the prefix that of most names.
		page := fmt.Sprintf("# TYPE acme_%s %s\nacme_%s 0\n# TYPE acme_models gauge\nacme_models 1\n", c.name, c.typ, c.name)
		text, err := draft.Kind([]byte(page), draft.Server{})
		require.NoError(t, err)
		requireValid(t, text)
		if c.want == "" {
			require.NotContains(t, text, "signal:", c.name)
			continue
		}
		require.Contains(t, text, "      # - { name: "+c.name+", "+c.want+" # doubtful: ", c.name)
	}
}
