package simulate_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestScenariosDoWhatTheySay(t *testing.T) {
	const second = time.Second
	load := simulate.Workload{Rate: 4}
	small := simulate.Engine{MaxActive: 8}
	for _, c := range []struct {
		name     string
		scenario simulate.Scenario
		engine   simulate.Engine
		at       []time.Duration // Moments at which the truth is read.
		check    func(t *testing.T, seen []simulate.Truth, pages []map[string]float64)
	}{
		{
			"a burst builds a hidden queue and goes away", simulate.Burst(30*second, 10*second, 1, 40), small,
			[]time.Duration{29 * second, 40 * second, 120 * second},
			func(t *testing.T, seen []simulate.Truth, _ []map[string]float64) {
				t.Helper()
				require.Zero(t, seen[0].Hidden)
				require.Greater(t, seen[1].Hidden, 50)
				require.Zero(t, seen[2].Hidden)
			},
		},
		{
			"saturation lets the hidden queue grow without end", simulate.Saturation(30*second, 40), small,
			[]time.Duration{60 * second, 90 * second},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Greater(t, seen[1].Hidden, seen[0].Hidden+300)
				require.Equal(t, 8.0, pages[1][trt("request", "request_type", "active")])
			},
		},
		{
			"a stall freezes iterations with work in flight", simulate.Stall(30*second, 20*second), small,
			[]time.Duration{31 * second, 49 * second, 60 * second},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Equal(t, seen[0].Iterations, seen[1].Iterations)
				require.Equal(t, seen[0].GeneratedTokensSoFar, seen[1].GeneratedTokensSoFar)
				require.Positive(t, pages[1][trt("request", "request_type", "active")])
				require.Equal(t, pages[0][trt("general", "general_type", "timestamp")], pages[1][trt("general", "general_type", "timestamp")])
				require.Greater(t, seen[2].Iterations, seen[1].Iterations)
			},
		},
		{
			"a restart sets everything to zero after a silence", simulate.Restart(30*second, 5*second), small,
			[]time.Duration{29 * second, 32 * second, 36 * second},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Equal(t, simulate.PhaseLoading, seen[1].Phase)
				require.Empty(t, pages[1])
				require.Equal(t, 2, seen[2].Epoch)
				require.Less(t, pages[2][success("preprocessing")], pages[0][success("preprocessing")])
				require.Less(t, pages[2][trt("general", "general_type", "iteration_counter")], pages[0][trt("general", "general_type", "iteration_counter")])
			},
		},
		{
			"flapping restarts again and again", simulate.Flapping(10*second, 2*second, 5*second, 4), small,
			[]time.Duration{40 * second},
			func(t *testing.T, seen []simulate.Truth, _ []map[string]float64) {
				t.Helper()
				require.Equal(t, 5, seen[0].Epoch)
			},
		},
		{
			"a full KV cache pauses requests", nil,
			simulate.Engine{MaxActive: 32, KVBlocks: 48},
			[]time.Duration{120 * second},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Positive(t, seen[0].Paused)
				require.Greater(t, pages[0][trt("kv_cache_block", "kv_cache_block_type", "fraction")], 0.7)
			},
		},
		{
			"dead stubs fail everything and come back", simulate.DeadStubs(30*second, 20*second), small,
			[]time.Duration{30 * second, 50 * second, 80 * second},
			func(t *testing.T, seen []simulate.Truth, _ []map[string]float64) {
				t.Helper()
				require.Equal(t, seen[0].Finished, seen[1].Finished)
				require.Greater(t, seen[1].Failed, seen[0].Failed)
				require.Greater(t, seen[2].Finished, seen[1].Finished)
			},
		},
		{
			"a reload takes the model away for a while", simulate.Reload(30*second, 20*second, "tensorrt_llm"), small,
			[]time.Duration{29 * second, 48 * second, 80 * second},
			func(t *testing.T, _ []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Contains(t, pages[0], success("tensorrt_llm"))
				require.NotContains(t, pages[1], success("tensorrt_llm"))
				require.Contains(t, pages[2], success("tensorrt_llm"))
			},
		},
		{
			"an empty page comes and goes", simulate.EmptyPage(30*second, 10*second), small,
			[]time.Duration{29 * second, 35 * second, 41 * second},
			func(t *testing.T, _ []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.NotEmpty(t, pages[0])
				require.Empty(t, pages[1])
				require.NotEmpty(t, pages[2])
			},
		},
		{
			"scenarios shift and combine", simulate.Combine(
				simulate.EmptyPage(0, 10*second).After(20*second), simulate.Draining(50*second)), small,
			[]time.Duration{25 * second, 40 * second, 51 * second, 90 * second},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Empty(t, pages[0])
				require.NotEmpty(t, pages[1])
				require.Equal(t, simulate.PhaseDraining, seen[2].Phase)
				require.Equal(t, simulate.PhaseDown, seen[3].Phase)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplica(t, simulate.Spec{Streaming: true, Workload: load, Engine: c.engine, Scenario: c.scenario})
			var seen []simulate.Truth
			var pages []map[string]float64
			for _, at := range c.at {
				r.Advance(at - r.Truth().At)
				page, truth := r.Observe()
				requireConserved(t, truth)
				samples, _ := parsePage(t, page)
				seen, pages = append(seen, truth), append(pages, samples)
			}
			c.check(t, seen, pages)
		})
	}
}

func TestARolloutChangesTheVersionsAfterTheRestart(t *testing.T) {
	r := listening(t, simulate.Spec{
		EngineVersion: "2.56.0", TRTLLMVersion: "0.18.0", DeclareVersion: true, Workload: simulate.Workload{Rate: 4},
		Scenario: simulate.Rollout(10*time.Second, 5*time.Second, "2.64.0", "1.1.0"),
	})
	r.Advance(5 * time.Second)
	require.Contains(t, get(t, r.APIURL()+"/v2").body, `"version":"2.56.0"`)
	require.NotContains(t, samplesOf(t, r), trt("request", "request_type", "waiting"))
	addr := r.APIAddr()
	r.Advance(7 * time.Second)
	require.ErrorContains(t, get(t, "http://"+addr+"/v2").err, "connection refused")
	r.Advance(7 * time.Second)
	require.Equal(t, addr, r.APIAddr())
	require.Contains(t, get(t, r.APIURL()+"/v2").body, `"version":"2.64.0"`)
	require.Contains(t, get(t, r.APIURL()+"/v2/models/tensorrt_llm/config").body, `"trtllm_version":{"string_value":"1.1.0"}`)
	require.Contains(t, samplesOf(t, r), trt("request", "request_type", "waiting"))
}

func TestStopIsForGoodUntilARestart(t *testing.T) {
	r := listening(t, simulate.Spec{Kind: simulate.KindServe})
	r.Stop()
	r.Advance(time.Hour)
	require.ErrorContains(t, get(t, r.APIURL()+"/health").err, "connection refused")
	r.Restart(0)
	r.Advance(0)
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/health").status)
}

func TestPlainModelsQueueInTriton(t *testing.T) {
	r := newReplica(t, simulate.Spec{Kind: simulate.KindTritonCore, Workload: simulate.Workload{Rate: 400}})
	r.Advance(20 * time.Second)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Positive(t, truth.Hidden)
	require.Equal(t, float64(truth.Hidden), s[`nv_inference_pending_request_count{model="resnet50",version="1"}`])
}

func TestTruthIsJSON(t *testing.T) {
	r := newReplica(t, simulate.Spec{Workload: simulate.Workload{Rate: 4}})
	r.Advance(time.Minute)
	truth := r.Truth()
	text, err := json.Marshal(truth)
	require.NoError(t, err)
	var back simulate.Truth
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, truth, back)
	require.NotContains(t, string(text), `"KVUsed"`)
}

func TestSpecsThatCannotBeAreRefused(t *testing.T) {
	for want, spec := range map[string]simulate.Spec{
		"unknown server":          {Kind: "apache"},
		"not a Triton version":    {EngineVersion: "25.12"},
		"outside 0 to 1000":       {Speed: 5000},
		"max_batch is above":      {Engine: simulate.Engine{MaxActive: 2, MaxBatch: 4}},
		"needs at least 4 blocks": {Engine: simulate.Engine{KVBlocks: 2}},
	} {
		_, err := simulate.NewReplica(spec)
		require.ErrorContains(t, err, want)
	}
}
