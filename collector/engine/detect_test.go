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

func TestEverySimulatedServerIsDetectedByItsAnswers(t *testing.T) {
	busy := simulate.Workload{Rate: 5, OutputTokens: 20}
	for _, c := range []struct {
		says   string
		spec   simulate.Spec
		worked time.Duration
		api    bool
		kind   engine.Kind
		path   string
	}{
		{says: "C++ backend", spec: simulate.Spec{Kind: simulate.KindTriton}, kind: engine.Triton, path: "/metrics"},
		{says: "names of 23.11", spec: simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.40.0"}, kind: engine.Triton, path: "/metrics"},
		{says: "Python executor", spec: simulate.Spec{Kind: simulate.KindTritonPython}, kind: engine.Triton, path: "/metrics"},
		{says: "LLM-API model", spec: simulate.Spec{Kind: simulate.KindTritonLLMAPI}, kind: engine.Triton, path: "/metrics"},
		{says: "no LLM", spec: simulate.Spec{Kind: simulate.KindTritonCore}, kind: engine.Triton, path: "/metrics"},
		{says: "vLLM backend", spec: simulate.Spec{Kind: simulate.KindTritonVLLM}, kind: engine.Triton, path: "/metrics"},
		{says: "OpenAI frontend", spec: simulate.Spec{Kind: simulate.KindTritonOpenAI}, kind: engine.TritonOpenAI, path: "/metrics"},
		{says: "serve, idle", spec: simulate.Spec{Kind: simulate.KindServe}, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "serve, busy", spec: simulate.Spec{Kind: simulate.KindServe, Workload: busy}, worked: 20 * time.Second, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "serve 1.3.0rc5, idle", spec: simulate.Spec{Kind: simulate.KindServeGen2}, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "serve 1.1 with an empty page", spec: simulate.Spec{Kind: simulate.KindServeOld}, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "serve 1.1, busy", spec: simulate.Spec{Kind: simulate.KindServeOld, Workload: busy}, worked: 20 * time.Second, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "serve without its page", spec: simulate.Spec{Kind: simulate.KindServe, NoPerfMetrics: true}, kind: engine.TRTLLMServe, path: "/prometheus/metrics"},
		{says: "NIM", spec: simulate.Spec{Kind: simulate.KindNIM}, kind: engine.NIM, path: "/v1/metrics"},
		{says: "Dynamo worker", spec: simulate.Spec{Kind: simulate.KindDynamo}, kind: engine.Dynamo, path: "/metrics"},
		{says: "Dynamo frontend", spec: simulate.Spec{Kind: simulate.KindDynamo}, api: true, kind: engine.Dynamo, path: "/metrics"},
		{says: "the API port of Triton shows no page", spec: simulate.Spec{Kind: simulate.KindTriton}, api: true, kind: engine.Unknown},
	} {
		t.Run(c.says, func(t *testing.T) {
			r := listening(t, replica(t, c.spec, c.worked))
			base := "http://" + r.MetricsAddr()
			if c.api {
				base = r.APIURL()
			}
			kind, path := engine.Detect(t.Context(), newNetwork(t), base)
			require.Equal(t, c.kind, kind)
			require.Equal(t, c.path, path)
		})
	}
}

func TestAWrongPortOfTritonIsNamed(t *testing.T) {
	r := listening(t, replica(t, simulate.Spec{Kind: simulate.KindTriton}, 0))
	require.Contains(t, engine.Hint(t.Context(), newNetwork(t), r.APIURL()), "metrics port")
	require.Empty(t, engine.Hint(t.Context(), newNetwork(t), "http://"+r.MetricsAddr()))
}

func TestServersThatAreNoneOfOursStayUnknown(t *testing.T) {
	for says, server := range map[string]answers{
		"node exporter":      {"/metrics": "# TYPE node_load1 gauge\nnode_load1 0.1\n"},
		"a page of HTML":     {"*": "<html><body>Sign in</body></html>"},
		"an empty answer":    {"*": ""},
		"nothing":            {},
		"a port that closes": {"*": refuses},
		"names in comments":  {"/metrics": "# HELP other like nv_inference_count\nother 1\n"},
	} {
		t.Run(says, func(t *testing.T) {
			kind, path := engine.Detect(t.Context(), server, "http://server")
			require.Equal(t, engine.Unknown, kind)
			require.Empty(t, path)
		})
	}
}

func TestTheServersJSONIsNeverAsked(t *testing.T) {
	r := listening(t, replica(t, simulate.Spec{Kind: simulate.KindServe}, 0))
	asked := &recorder{network: newNetwork(t)}
	kind, _ := engine.Detect(t.Context(), asked, r.APIURL())
	require.Equal(t, engine.TRTLLMServe, kind)
	require.NotContains(t, asked.paths, "/metrics", "reading it takes iterations away from other readers")
}

// sampleKinds tell the kind of a sample page by how its name begins; the
// longest that fits counts.
var sampleKinds = []struct {
	prefix string
	kind   engine.Kind
}{
	{"GENERATED-prometheus-cpp", engine.Unknown},
	{"GENERATED-triton", engine.Triton},
	{"GENERATED-trtllm-serve", engine.TRTLLMServe},
	{"dynamo", engine.Dynamo},
	{"nim", engine.NIM},
	{"real-dynamo", engine.Dynamo},
	{"real-sglang", engine.Unknown},
	{"real-triton", engine.Triton},
	{"real-vllm", engine.Unknown},
	{"triton", engine.Triton},
	{"trtllm-prometheus", engine.TRTLLMServe},
	{"trtllm", engine.Triton},
}

func TestEverySamplePageIsRecognised(t *testing.T) {
	for _, file := range samples(t, "*.prom") {
		name := sampleName(file)
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			want, length := engine.Unknown, -1
			for _, k := range sampleKinds {
				if strings.HasPrefix(name, k.prefix) && len(k.prefix) > length {
					want, length = k.kind, len(k.prefix)
				}
			}
			require.GreaterOrEqual(t, length, 0, "no kind is known for this sample")
			if len(body) == 0 {
				require.Equal(t, engine.Unknown, engine.FromPage(body), "an empty page tells nothing")
				server := answers{"/prometheus/metrics": "", "/version": `{"version":"1.1.0"}`}
				got, _ := engine.Detect(t.Context(), server, "http://server")
				require.Equal(t, want, got)
				return
			}
			require.Equal(t, want, engine.FromPage(body))
		})
	}
}
