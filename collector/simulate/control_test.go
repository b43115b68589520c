package simulate_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestEveryModelOfEveryTritonHasAConfig(t *testing.T) {
	t.Parallel()
	for kind, want := range map[simulate.Kind]map[string][2]string{ // Model to backend and platform.
		simulate.KindTriton: {
			"ensemble": {"", "ensemble"}, "preprocessing": {"python", ""}, "postprocessing": {"python", ""},
			"tensorrt_llm": {"tensorrtllm", ""}, "tensorrt_llm_bls": {"python", ""},
		},
		simulate.KindTritonPython: {"tensorrt_llm": {"python", ""}},
		simulate.KindTritonLLMAPI: {"tensorrt_llm": {"python", ""}}, simulate.KindTritonLLMAPIModule: {"tensorrt_llm": {"python", ""}},
		simulate.KindTritonVLLM: {"vllm_model": {"vllm", ""}},
		simulate.KindTritonCore: {"resnet50": {"onnxruntime", "onnxruntime_onnx"}, "densenet_onnx": {"onnxruntime", "onnxruntime_onnx"}},
	} {
		r := listening(t, simulate.Spec{Kind: kind, Setup: simulate.Setup{StaticBatching: true, DeclareVersion: true}})
		for model, names := range want {
			var config struct {
				Name, Backend, Platform string
				Instances               []struct{ Kind string }         `json:"instance_group"`
				Ensemble                struct{ Step []map[string]any } `json:"ensemble_scheduling"`
			}
			answer := get(t, r.APIURL()+"/v2/models/"+model+"/config")
			require.Equal(t, http.StatusOK, answer.status)
			require.NoError(t, json.Unmarshal([]byte(answer.body), &config))
			require.Equal(t, model, config.Name)
			got := [2]string{config.Backend, config.Platform}
			require.Equal(t, names, got)
			if model == "ensemble" {
				require.Len(t, config.Ensemble.Step, 3)
				require.Empty(t, config.Instances)
			} else {
				require.NotEmpty(t, config.Instances)
			}
		}
	}
}

func TestStaticBatchingHasOtherFamilies(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Setup: simulate.Setup{StaticBatching: true}, Workload: simulate.Workload{Rate: 3}})
	r.Advance(time.Minute)
	s := samplesOf(t, r)
	require.Contains(t, s, trt("v1", "v1_specific_metric", "empty_generation_slots"))
	require.NotContains(t, s, trt("inflight_batcher", "inflight_batcher_specific_metric", "generation_requests"))
}

func TestControlsActOnARunningFleet(t *testing.T) {
	t.Parallel()
	spec := simulate.Spec{Name: "a", Speed: 100, Streaming: true, Loading: simulate.Loading{LoadDuration: time.Second}, Workload: simulate.Workload{Rate: 4}}
	still := simulate.Spec{Name: "b", Kind: simulate.KindServe, Workload: simulate.Workload{Rate: 4}}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: []simulate.Spec{spec, still}}}})
	require.NoError(t, err)
	defer fleet.Close()
	r := fleet.Replica("p", "a")
	eventually := func(what string, ok func(simulate.Truth) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return ok(r.Truth()) }, 10*time.Second, 2*time.Millisecond, what)
	}
	eventually("requests finish", func(tr simulate.Truth) bool { return tr.Finished > 5 })
	r.Stall(true)
	stalled := r.Truth().Iterations
	eventually("work piles up", func(tr simulate.Truth) bool { return tr.InFlight > 50 })
	require.Equal(t, stalled, r.Truth().Iterations)
	r.Stall(false)
	eventually("it goes on", func(tr simulate.Truth) bool { return tr.Iterations > stalled })
	r.Unload("tensorrt_llm")
	eventually("requests are rejected", func(tr simulate.Truth) bool { return tr.Rejected > 0 })
	r.Rollout(time.Hour, "2.65.0", "1.1.0")
	require.Equal(t, simulate.PhaseLoading, r.Truth().Phase)
	r.Advance(time.Hour)
	eventually("a new process serves", func(tr simulate.Truth) bool { return tr.Epoch == 2 && tr.Phase == simulate.PhaseServing })
	require.Equal(t, "2.65.0", r.Spec().EngineVersion)
	require.Nil(t, fleet.Replica("p", "nobody"))

	manual := fleet.Replica("p", "b")
	require.Zero(t, manual.Truth().At)
	manual.Advance(time.Second)
	require.Equal(t, time.Second, manual.Truth().At)
}

func TestTimeGoesOnFromWhereItWasAdvancedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, simulate.Spec{Speed: 2})
		require.Zero(t, r.Truth().At)
		time.Sleep(time.Second)
		require.Equal(t, 2*time.Second, r.Truth().At)
		r.Advance(time.Hour)
		require.Equal(t, time.Hour+2*time.Second, r.Truth().At)
		time.Sleep(time.Second)
		require.Equal(t, time.Hour+4*time.Second, r.Truth().At)
	})
}

func TestReplicasBearConcurrentUse(t *testing.T) {
	t.Parallel()
	r := listening(t, simulate.Spec{Streaming: true, Workload: simulate.Workload{Rate: 20}, Loading: simulate.Loading{LoadDuration: time.Second}})
	var group sync.WaitGroup
	for _, f := range []func(){
		func() { r.Advance(500 * time.Millisecond) },
		func() { _, truth := r.Observe(); requireConserved(t, truth) },
		func() { _ = get(t, r.MetricsURL()) },
		func() { _ = get(t, r.APIURL()+"/v2/models/ensemble/config") },
		func() { r.Restart(time.Second); r.Stall(true); r.Stall(false) },
		func() { r.Unload("tensorrt_llm"); r.SetRate(10); r.Load("tensorrt_llm") },
		func() { r.FailRequests(true); r.FailRequests(false); r.Stick(1) },
	} {
		group.Go(func() {
			for range 40 {
				f()
			}
		})
	}
	group.Wait()
	require.GreaterOrEqual(t, r.Truth().At, 20*time.Second)
}
