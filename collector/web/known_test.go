package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// knownFleet returns one replica about which much is known.
func knownFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	slot := f.page("llama", "r0", "up_and_well 1\n")
	s := slot.Status()
	s.Generation, s.GenerationReason = "metric set A", "model tensorrt_llm has backend tensorrtllm"
	s.EngineBuildVersion = "1.0.0"
	s.Models = []target.Model{{Name: "tensorrt_llm", ModelID: "llama", Role: "part", State: "ready", MaxBatchSize: new(8), Decoupled: new(true)}}
	s.Checks = []target.CheckList{{Name: "capabilities", Checks: []target.Check{
		{Name: "tokens", OK: true, Reason: "nv_llm_output_token_len"},
		{Name: "ttft", Reason: "the histogram is off", Cure: "--metrics-config histogram_latencies=true"},
	}}, {
		Name: "determinism", Checks: []target.Check{{Name: "one_instance", Reason: "model <b>x</b> has 2 instances"}},
	}, {
		Name: "expectations", Checks: []target.Check{{Name: "trtllm_version", Reason: "it is 1.1.0, expected is 1.2.0"}},
	}, {
		Name: "unanswered", Checks: []target.Check{{Name: "GET /v2", Reason: "no answer from http://user:hunter2@10.0.0.1:8000/v2?token=hunter2"}},
	}}
	slot.Publish(snapshot.Snapshot{Status: s})
	return f
}

func TestTargetsTellWhatIsKnownOfAServer(t *testing.T) {
	w := get(handler(t, knownFleet(t).options()), "/targets?format=json")
	var doc struct {
		Targets []struct {
			Generation   string         `json:"generation"`
			Build        string         `json:"engine_build_version"`
			Models       []target.Model `json:"models"`
			Capabilities []target.Check `json:"capabilities"`
			Determinism  []target.Check `json:"determinism"`
			Expectations []target.Check `json:"expectations"`
			Unanswered   []target.Check `json:"unanswered"`
		} `json:"targets"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	got := doc.Targets[0]
	require.Equal(t, "metric set A", got.Generation)
	require.Equal(t, "1.0.0", got.Build)
	require.Equal(t, 8, *got.Models[0].MaxBatchSize)
	require.Nil(t, got.Models[0].Instances)
	require.Equal(t, "--metrics-config histogram_latencies=true", got.Capabilities[1].Cure)
	require.Equal(t, "it is 1.1.0, expected is 1.2.0", got.Expectations[0].Reason)
	require.Len(t, got.Determinism, 1)
	require.Len(t, got.Unanswered, 1)
	require.NotContains(t, w.Body.String(), "hunter2")
}
