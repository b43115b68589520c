package engine_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestMetricSetsOfTritonAreToldApart(t *testing.T) {
	for _, c := range []struct {
		says    string
		spec    simulate.Spec
		set     engine.Generation
		byPage  engine.Generation
		because string
	}{
		{"A of 25.12", simulate.Spec{Kind: simulate.KindTriton}, "metric set A", "metric set A", "backend tensorrtllm"},
		{"A of 23.11", simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.40.0"}, "metric set A", "metric set A", "backend tensorrtllm"},
		{"A of 24.07", simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.48.0"}, "metric set A", "metric set A", "backend tensorrtllm"},
		{"A of 24.08", simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.49.0"}, "metric set A", "metric set A", "backend tensorrtllm"},
		{"A with static batching", simulate.Spec{Kind: simulate.KindTriton, StaticBatching: true}, "metric set A", "metric set A", "backend tensorrtllm"},
		{"B of 25.12", simulate.Spec{Kind: simulate.KindTritonPython}, "metric set B", "metric set B", "engine parameters"},
		{"B of 24.08", simulate.Spec{Kind: simulate.KindTritonPython, EngineVersion: "2.49.0"}, "metric set B", "metric set B", "engine parameters"},
		{"B of 24.06 has no series", simulate.Spec{Kind: simulate.KindTritonPython, EngineVersion: "2.47.0"}, "metric set B", "metric set C", "engine parameters"},
		{"C", simulate.Spec{Kind: simulate.KindTritonLLMAPI}, "metric set C", "metric set C", "LLM-API"},
		{"D", simulate.Spec{Kind: simulate.KindTritonCore}, "metric set D", "metric set D", "core series only"},
		{"D of vLLM", simulate.Spec{Kind: simulate.KindTritonVLLM}, "metric set D", "metric set D", "vllm:*"},
	} {
		t.Run(c.says, func(t *testing.T) {
			c.spec.Workload = simulate.Workload{Rate: 5, OutputTokens: 20}
			r := listening(t, replica(t, c.spec, 20*time.Second))
			page := readPage(t, engine.Triton, r.Page())
			e, _ := engine.Of("triton")
			facts := e.Ask(t.Context(), newNetwork(t), r.APIURL(), nil)
			set, why := e.Generation(page, &facts)
			require.Equal(t, c.set, set, why)
			require.Contains(t, why, c.because)
			bare := &engine.Facts{EngineVersion: facts.EngineVersion}
			set, why = e.Generation(page, bare)
			require.Equal(t, c.byPage, set, why)
		})
	}
}

func TestGenerationsOfOtherServers(t *testing.T) {
	busy := simulate.Workload{Rate: 5, OutputTokens: 20}
	for _, c := range []struct {
		says    string
		kind    engine.Kind
		spec    simulate.Spec
		version string
		want    engine.Generation
	}{
		{"serve 1.3", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServe, Workload: busy}, "1.3.0rc14", engine.ServeFull},
		{"serve 1.3, idle", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServe}, "1.3.0rc14", engine.ServeFull},
		{"serve 1.3.0rc5", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServeGen2, Workload: busy}, "1.3.0rc5", engine.ServePrefixed},
		{"serve 1.3.0rc5, idle", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServeGen2}, "1.3.0rc5", engine.ServeIdle},
		{"serve 1.1", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServeOld, Workload: busy}, "1.1.0", engine.ServePlain},
		{"serve 1.1, idle", engine.TRTLLMServe, simulate.Spec{Kind: simulate.KindServeOld}, "1.1.0", engine.ServePlain},
		{"NIM", engine.NIM, simulate.Spec{Kind: simulate.KindNIM}, "1.0.0", engine.NIMFirst},
		{"Dynamo worker", engine.Dynamo, simulate.Spec{Kind: simulate.KindDynamo, Workload: busy}, "", engine.DynamoWorker},
	} {
		t.Run(c.says, func(t *testing.T) {
			page := readPage(t, c.kind, replica(t, c.spec, 20*time.Second).Page())
			got, why := of(t, c.kind).Generation(page, &engine.Facts{EngineVersion: c.version})
			require.Equal(t, c.want, got, why)
			require.NotEmpty(t, why)
		})
	}
}

// sampleGenerations are by the beginning of the sample's name; the first counts.
var sampleGenerations = []struct {
	prefix string
	want   engine.Generation
}{
	{"GENERATED-triton-trtllm", "metric set A"},
	{"real-triton-2.36.0", "metric set B"},
	{"real-triton-2.51.0", "metric set B"},
	{"triton-trtllm-backend-readme", "metric set A"},
	{"triton-", "metric set D"},
	{"trtllm-readme-23.11", "metric set A"},
	// Excerpts of core series; the page alone cannot say more.
	{"trtllm-readme-23.12-base-zero", "metric set C"},
	{"trtllm-issue49", "metric set C"},
	{"trtllm-readme", "metric set A"},
	{"GENERATED-trtllm-serve-gen1-under", engine.ServePlain},
	{"GENERATED-trtllm-serve-gen2-under", engine.ServePrefixed},
	{"GENERATED-trtllm-serve-new", engine.ServeFull},
	{"trtllm-prometheus-1.1.0", engine.ServePlain},
	{"trtllm-prometheus-main", engine.ServeFull},
	{"nim-", engine.NIMFirst},
	{"real-dynamo-frontend", engine.DynamoFrontend},
	{"real-dynamo-worker", engine.DynamoWorker},
	{"dynamo-", engine.DynamoWorker},
}

func TestGenerationsOfSamplePages(t *testing.T) {
	for _, file := range samples(t, "*.prom") {
		name := sampleName(file)
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		kind := engine.FromPage(body)
		if kind == engine.Unknown || strings.Contains(name, "openmetrics") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := engine.Generation("")
			for _, g := range sampleGenerations {
				if want == "" && strings.HasPrefix(name, g.prefix) {
					want = g.want
				}
			}
			got, why := of(t, kind).Generation(readPage(t, kind, body), nil)
			require.Equal(t, want, got, why)
		})
	}
}
