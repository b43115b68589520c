package simulate_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestControlsDoWhatTheySay(t *testing.T) {
	small := simulate.Engine{MaxActive: 8}
	for _, c := range []struct {
		name   string
		engine simulate.Engine
		// Seconds of simulated time at which something is done, or the truth is read.
		do    map[int]func(r *simulate.Replica)
		at    []int
		check func(t *testing.T, seen []simulate.Truth, pages []map[string]float64)
	}{
		{
			"saturation lets the hidden queue grow without end", small,
			map[int]func(*simulate.Replica){30: func(r *simulate.Replica) { r.SetRate(40) }},
			[]int{60, 90},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Greater(t, seen[1].Hidden, seen[0].Hidden+300)
				require.Equal(t, 8.0, pages[1][trt("request", "request_type", "active")])
			},
		},
		{
			"a stall freezes iterations with work in flight", small,
			map[int]func(*simulate.Replica){30: func(r *simulate.Replica) { r.Stall(true) }, 50: func(r *simulate.Replica) { r.Stall(false) }},
			[]int{31, 49, 60},
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
			"a restart sets everything to zero after a silence", small,
			map[int]func(*simulate.Replica){30: func(r *simulate.Replica) { r.Restart(5 * time.Second) }},
			[]int{29, 32, 36},
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
			"a full KV cache pauses requests",
			simulate.Engine{MaxActive: 32, KVBlocks: 48},
			nil,
			[]int{120},
			func(t *testing.T, seen []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.Positive(t, seen[0].Paused)
				require.Greater(t, pages[0][trt("kv_cache_block", "kv_cache_block_type", "fraction")], 0.7)
			},
		},
		{
			"dead stubs fail everything and come back", small,
			map[int]func(*simulate.Replica){30: func(r *simulate.Replica) { r.FailRequests(true) }, 50: func(r *simulate.Replica) { r.FailRequests(false) }},
			[]int{30, 50, 80},
			func(t *testing.T, seen []simulate.Truth, _ []map[string]float64) {
				t.Helper()
				require.Equal(t, seen[0].Finished, seen[1].Finished)
				require.Greater(t, seen[1].Failed, seen[0].Failed)
				require.Greater(t, seen[2].Finished, seen[1].Finished)
			},
		},
		{
			"an empty page comes and goes", small,
			map[int]func(*simulate.Replica){30: func(r *simulate.Replica) { r.SetEmptyPage(true) }, 40: func(r *simulate.Replica) { r.SetEmptyPage(false) }},
			[]int{29, 35, 41},
			func(t *testing.T, _ []simulate.Truth, pages []map[string]float64) {
				t.Helper()
				require.NotEmpty(t, pages[0])
				require.Empty(t, pages[1])
				require.NotEmpty(t, pages[2])
			},
		},
		{
			"a drain takes its time", small,
			map[int]func(*simulate.Replica){50: (*simulate.Replica).Drain},
			[]int{40, 51, 90},
			func(t *testing.T, seen []simulate.Truth, _ []map[string]float64) {
				t.Helper()
				require.Equal(t, simulate.PhaseServing, seen[0].Phase)
				require.Equal(t, simulate.PhaseDraining, seen[1].Phase)
				require.Equal(t, simulate.PhaseDown, seen[2].Phase)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplica(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 4}, Engine: c.engine})
			var seen []simulate.Truth
			var pages []map[string]float64
			for second := 0; len(seen) < len(c.at); second++ {
				if second > 0 {
					r.Advance(time.Second)
				}
				if second == c.at[len(seen)] {
					page, truth := r.Observe()
					requireConserved(t, truth)
					samples, _ := parsePage(t, page)
					seen, pages = append(seen, truth), append(pages, samples)
				}
				if do := c.do[second]; do != nil {
					do(r)
				}
			}
			c.check(t, seen, pages)
		})
	}
}

func TestScenariosActAtTheirTimes(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{
		Streaming: true, Workload: simulate.Workload{Rate: 4}, Engine: simulate.Engine{MaxActive: 8},
		Scenario: simulate.Burst(30*time.Second, 10*time.Second, 1, 40).Repeat(2, 100*time.Second),
	})
	hidden := func(at time.Duration) int {
		r.Advance(at - r.Truth().At)
		return r.Truth().Hidden
	}
	require.Zero(t, hidden(29*time.Second))
	require.Greater(t, hidden(40*time.Second), 50)
	require.Zero(t, hidden(129*time.Second))
	require.Greater(t, hidden(140*time.Second), 50)
	require.Zero(t, hidden(239*time.Second))
}

func TestARolloutChangesTheVersionsAfterTheRestart(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{
		EngineVersion: "2.56.0", TRTLLMVersion: "0.18.0", Setup: simulate.Setup{DeclareVersion: true}, Workload: simulate.Workload{Rate: 4},
	})
	r.Advance(10 * time.Second)
	require.Contains(t, get(t, r.APIURL()+"/v2").body, `"version":"2.56.0"`)
	require.NotContains(t, samplesOf(t, r), trt("request", "request_type", "waiting"))
	addr := r.APIAddr()
	r.Rollout(5*time.Second, "2.64.0", "1.1.0")
	r.Advance(2 * time.Second)
	require.ErrorContains(t, get(t, "http://"+addr+"/v2").err, "connection refused")
	r.Advance(7 * time.Second)
	require.Equal(t, addr, r.APIAddr())
	require.Contains(t, get(t, r.APIURL()+"/v2").body, `"version":"2.64.0"`)
	require.Contains(t, get(t, r.APIURL()+"/v2/models/tensorrt_llm/config").body, `"trtllm_version":{"string_value":"1.1.0"}`)
	require.Contains(t, samplesOf(t, r), trt("request", "request_type", "waiting"))
}

func TestStopIsForGoodUntilARestart(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Kind: simulate.KindServe})
	r.Stop()
	r.Advance(time.Hour)
	require.ErrorContains(t, get(t, r.APIURL()+"/health").err, "connection refused")
	r.Restart(0)
	r.Advance(0)
	require.Equal(t, http.StatusOK, get(t, r.APIURL()+"/health").status)
}

func TestPlainModelsQueueInTriton(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Kind: simulate.KindTritonCore, Workload: simulate.Workload{Rate: 400}})
	r.Advance(20 * time.Second)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Positive(t, truth.Hidden)
	require.Equal(t, float64(truth.Hidden), s[`nv_inference_pending_request_count{model="resnet50",version="1"}`])
}

func TestSpecsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]simulate.Spec{
		"unknown server":          {Kind: "apache"},
		"not a Triton version":    {EngineVersion: "25.12"},
		"outside 0 to 1000":       {Speed: 5000},
		"needs at least 4 blocks": {Engine: simulate.Engine{KVBlocks: 2}},
	} {
		_, err := simulate.NewReplica(spec)
		require.ErrorContains(t, err, want)
	}
}
