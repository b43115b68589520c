package engine_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestIndexKnowsEveryPartOfAHistogram(t *testing.T) {
	e, ok := engine.Of(string(engine.Triton))
	require.True(t, ok)
	index := engine.IndexOf(e)
	const name = "nv_inference_first_response_histogram_ms"
	for suffix, part := range map[string]engine.Part{"_bucket": engine.PartBucket, "_sum": engine.PartSum, "_count": engine.PartCount} {
		require.Len(t, index[name+suffix], 1)
		m := index[name+suffix][0]
		require.Equal(t, part, m.Part)
		require.True(t, m.Counter)
		require.Equal(t, 3, m.Shift)
	}
	require.NotContains(t, index, name)
	require.Equal(t, engine.PartQuantile, index["nv_inference_request_summary_us"][0].Part)
	require.Len(t, index["nv_llm_output_token_len_sum"], 2, "a counter of tokens and a part of a histogram")
}

func TestCountersAreCountersWhateverTheirTypeSays(t *testing.T) {
	e, _ := engine.Of(string(engine.Triton))
	for name, only := range map[string]string{
		"nv_trt_llm_kv_cache_block_metrics": "kv_cache_block_type=reused", "nv_trt_llm_general_metrics": "general_type=iteration_counter",
	} {
		counters := 0
		for _, m := range engine.IndexOf(e)[name] {
			if m.Counter {
				counters++
				require.Equal(t, []string{only}, m.Where)
			}
		}
		require.Equal(t, 1, counters, name)
	}
}

func TestServeNamesAreKnownWithAndWithoutPrefix(t *testing.T) {
	e, _ := engine.Of(string(engine.TRTLLMServe))
	index := engine.IndexOf(e)
	for name := range index {
		if name == "process_start_time_seconds" {
			continue // It is prometheus_client's.
		}
		bare := strings.TrimPrefix(name, "trtllm_")
		require.Contains(t, index, bare)
		require.Contains(t, index, "trtllm_"+bare)
	}
}

func TestMeaningsNameNothingTwice(t *testing.T) {
	for _, e := range engine.All() {
		seen := make(map[string]bool)
		for _, m := range e.Meanings() {
			key := strings.Join(append([]string{m.Name, string(m.Signal), m.Const, string(m.Inside), strconv.Itoa(int(m.Combine))}, m.Where...), "|")
			require.False(t, seen[key], "%s: %s", e.Kind(), key)
			seen[key] = true
			require.NotEmpty(t, m.Signal, m.Name)
			for _, where := range m.Where {
				label, _, ok := strings.Cut(where, "=")
				require.True(t, ok && label != "", "%s: %s", m.Name, where)
			}
		}
	}
}

func TestModelsNobodyServesAreNoModels(t *testing.T) {
	const series = "dynamo_frontend_requests_total{model=%q,status=\"success\"} 1\n"
	body := fmt.Sprintf(series, "llama") + fmt.Sprintf(series, "unknown_model")
	models := func(page *engine.Page) (names []string) {
		for _, s := range page.Sources() {
			names = append(names, s.Model)
		}
		return names
	}
	require.Equal(t, []string{"llama"}, models(readPage(t, engine.Dynamo, []byte(body))))
	const other = "nv_inference_request_success{model=\"unknown_model\"} 1\n"
	require.Equal(t, []string{"unknown_model"}, models(readPage(t, engine.Triton, []byte(other))), "elsewhere it is a name as any")
}

func TestTheTimeBetweenTokensOfAVLLMInsideHasTwoNames(t *testing.T) {
	const old, now = "vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds"
	for _, kind := range []engine.Kind{engine.Dynamo, engine.Triton, engine.TritonOpenAI} {
		for shown, want := range map[string]string{old: old, now: now, old + " " + now: now} {
			var body strings.Builder
			for name := range strings.FieldsSeq(shown) {
				fmt.Fprintf(&body, "# TYPE %[1]s histogram\n%[1]s_bucket{model_name=\"m\",le=\"+Inf\"} 2\n%[1]s_sum{model_name=\"m\"} 1\n%[1]s_count{model_name=\"m\"} 2\n", name)
			}
			page := readPage(t, kind, []byte(body.String()))
			require.Len(t, page.Sources(), 3, "%s with %s", kind, shown)
			for _, s := range page.Sources() {
				require.Equal(t, engine.InterToken, s.Meaning.Signal)
				require.True(t, strings.HasPrefix(s.Meaning.Name, want), "%s with %s", kind, shown)
			}
		}
		require.True(t, readPage(t, kind, []byte("vllm:num_preemptions_total 1\n")).Has(engine.Preemptions))
	}
}
