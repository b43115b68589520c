package simulate_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func newReplica(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	return r
}

func requireConserved(t *testing.T, truth simulate.Truth) {
	t.Helper()
	require.Equal(t, truth.Arrived, truth.Finished+truth.Failed+truth.Stuck+uint64(truth.InFlight))
	require.LessOrEqual(t, truth.KVUsed, truth.KVBlocks)
	require.Equal(t, truth.Queued, truth.Hidden+truth.Active-truth.Running)
	require.Equal(t, truth.InFlight, truth.Hidden+truth.Active)
}

func TestEqualSeedsAndTimesGiveEqualStates(t *testing.T) {
	t.Parallel()
	scenario := simulate.Burst(20*time.Second, 10*time.Second, 4, 20)
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			spec := simulate.Spec{
				Kind:         kind,
				Seed:         42,
				Streaming:    true,
				Setup:        simulate.Setup{Summaries: true, Histograms: true},
				GPUs:         2,
				LoadDuration: 3 * time.Second,
				Workload:     simulate.Workload{Rate: 4, SharedPrefix: 0.5, ErrorRate: 0.05, AbandonRate: 0.05},
				Engine:       simulate.Engine{MaxActive: 8, KVBlocks: 120},
				Scenario:     scenario,
			}
			want, cut := newReplica(t, spec), newReplica(t, spec)
			spec.Seed = 43
			other := newReplica(t, spec)
			want.Advance(100 * time.Second)
			other.Advance(100 * time.Second)
			for now, step := time.Duration(0), 0; now < 100*time.Second; step++ {
				d := min(time.Duration(1+step%7)*13*time.Millisecond, 100*time.Second-now)
				cut.Advance(d)
				now += d
				if step%50 == 0 {
					requireConserved(t, cut.Truth())
				}
			}
			page, truth := want.Observe()
			cutPage, cutTruth := cut.Observe()
			require.Equal(t, truth, cutTruth)
			require.Equal(t, want.Latencies(), cut.Latencies())
			require.Equal(t, string(page), string(cutPage))
			parsePage(t, page)
			require.NotEqual(t, truth, other.Truth())
		})
	}
}

func TestPageAndTruthAgree(t *testing.T) {
	const (
		llm   = `{model="tensorrt_llm",version="1"}`
		entry = `{model="ensemble",version="1"}`
	)
	for _, bls := range []bool{false, true} {
		t.Run("bls="+strconv.FormatBool(bls), func(t *testing.T) {
			r := newReplica(t, simulate.Spec{
				Setup: simulate.Setup{BLS: bls, Histograms: true}, Streaming: true,
				Workload: simulate.Workload{Rate: 6, ErrorRate: 0.1, SharedPrefix: 0.5},
				Engine:   simulate.Engine{MaxActive: 16},
			})
			for range 200 {
				r.Advance(377 * time.Millisecond)
				page, truth := r.Observe()
				s, _ := parsePage(t, page)
				requireConserved(t, truth)
				require.Equal(
					t,
					float64(truth.PromptTokens+truth.FailedPromptTokens),
					s[`nv_llm_input_token_len_sum{model="tensorrt_llm",response_metric_type="total_input_tokens",version="1"}`],
				)
				require.Equal(
					t,
					float64(truth.GenerationTokens+truth.FailedGenerationTokens),
					s[`nv_llm_output_token_len_sum{model="tensorrt_llm",response_metric_type="total_output_tokens",version="1"}`],
				)
				require.Equal(t, float64(truth.Finished), s["nv_inference_request_success"+llm])
				require.Equal(
					t,
					float64(truth.Failed),
					s[`nv_inference_request_failure{model="tensorrt_llm",reason="BACKEND",version="1"}`],
				)
				if !bls {
					require.Equal(t, float64(truth.Finished), s["nv_inference_request_success"+entry])
					require.Equal(
						t,
						float64(truth.GeneratedTokensSoFar),
						s[`nv_inference_request_success{model="postprocessing",version="1"}`],
					)
					require.Equal(
						t,
						float64(2*truth.Failed),
						s[`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"}`],
					)
				}
				require.LessOrEqual(
					t,
					s[`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"}`],
					16.0,
				)
				require.Equal(
					t,
					s[`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"}`],
					s[`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="tensorrt_llm",version="1"}`]+
						s[`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="free",model="tensorrt_llm",version="1"}`],
				)
			}
			require.Positive(t, r.Truth().Failed)
		})
	}
}

func TestTRTLLMServeRecordsFinishedRequestsOnly(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{
		Kind: simulate.KindServe, Model: "m", Workload: simulate.Workload{Rate: 6, AbandonRate: 0.2, SharedPrefix: 0.5},
	})
	r.Advance(2 * time.Minute)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	booked := s[`trtllm_request_success_total{engine_type="pytorch",finished_reason="stop",model_name="m"}`] +
		s[`trtllm_request_success_total{engine_type="pytorch",finished_reason="length",model_name="m"}`]
	require.Positive(t, truth.Abandoned)
	require.Equal(t, float64(truth.Finished-truth.Abandoned), booked, "a disconnected client is never counted")
	require.Equal(t, booked, s[`trtllm_e2e_request_latency_seconds_count{engine_type="pytorch",model_name="m"}`])
	require.Less(
		t,
		s[`trtllm_generation_tokens_total{engine_type="pytorch",model_name="m"}`],
		float64(truth.GenerationTokens),
	)
	require.Len(t, r.Latencies(), int(truth.Finished))
}

func TestSeriesOrderChangesOnlyWithProcess(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Workload: simulate.Workload{Rate: 4}})
	order := func() string {
		var names []string
		for line := range strings.Lines(string(r.Page())) {
			if !strings.HasPrefix(line, "#") {
				names = append(names, line[:strings.LastIndexByte(line, ' ')])
			}
		}
		return strings.Join(names, "\n")
	}
	r.Advance(time.Minute)
	first := order()
	r.Advance(time.Minute)
	require.Equal(t, first, order())
	r.Restart(0)
	r.Advance(time.Minute)
	require.NotEqual(t, first, order())
	require.Len(t, order(), len(first))
}
