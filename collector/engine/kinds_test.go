package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestWhatAKindIsAndWhereItAnswers holds what each kind says of itself against
// this table; ports are for a page on 8002.
func TestWhatAKindIsAndWhereItAnswers(t *testing.T) {
	const health, live, models, stream = engine.AnswersHealth, engine.AnswersLive, engine.AnswersModels, engine.AnswersStream
	type facts struct {
		path       string
		api, grpc  int
		samePort   bool
		empty      bool
		hint       string
		iterations string
		answers    []engine.Signal
		quirks     engine.Quirks
	}
	tritonPage := engine.Quirks{ActiveHoldsWaiting: true, SeriesOutliveModels: true}
	want := map[engine.Kind]facts{
		engine.Triton: {
			path: "/metrics", api: 8000, grpc: 8001, quirks: tritonPage,
			answers: []engine.Signal{health, live, engine.AnswersIndex, engine.AnswersConfig, models, stream},
		},
		engine.TritonOpenAI: {path: "/metrics", api: 8002, samePort: true, quirks: tritonPage, answers: []engine.Signal{health, models, stream}},
		engine.TRTLLMServe: {
			path: "/prometheus/metrics", api: 8002, samePort: true, empty: true, iterations: "/metrics",
			hint:    "trtllm-serve has the page only with return_perf_metrics: true",
			quirks:  engine.Quirks{GaugesWhenRequestsEnd: true},
			answers: []engine.Signal{health, live, models, stream, engine.AnswersIterations},
		},
		engine.NIM:     {path: "/v1/metrics", api: 8002, samePort: true, answers: []engine.Signal{health, live, models, stream}},
		engine.Dynamo:  {path: "/metrics", api: 8002, samePort: true, answers: []engine.Signal{health, live, models, stream}},
		engine.Unknown: {path: "/metrics", api: 8002, samePort: true},
	}
	var kinds []engine.Kind
	for _, e := range append(engine.All(), engine.None()) {
		kinds = append(kinds, e.Kind())
		w := want[e.Kind()]
		require.Equal(t, w.path, e.MetricsPath(), e.Kind())
		require.Equal(t, w.api, e.APIPort(8002), e.Kind())
		port, ok := e.GRPCPort(8002)
		require.Equal(t, w.grpc != 0, ok, e.Kind())
		if ok {
			require.Equal(t, w.grpc, port, e.Kind())
		}
		require.Equal(t, w.samePort, e.SamePort(), e.Kind())
		require.Equal(t, w.empty, e.EmptyPage(), e.Kind())
		require.Equal(t, w.hint, e.MissingPageHint(), e.Kind())
		require.Equal(t, w.answers, e.Answers(), e.Kind())
		require.Equal(t, w.quirks, e.Quirks(), e.Kind())
		if w.iterations == "" {
			require.Nil(t, e.Iterations(), e.Kind())
			continue
		}
		require.Equal(t, w.iterations, e.Iterations().Path)
		require.Equal(t, 1000, e.Iterations().Keeps)
	}
	require.Equal(t, []engine.Kind{
		engine.Dynamo, engine.NIM, engine.Triton, engine.TritonOpenAI, engine.TRTLLMServe, engine.Unknown,
	}, kinds, "by name")
}

func TestKindsAreFoundByTheirNames(t *testing.T) {
	for _, e := range engine.All() {
		found, ok := engine.Of(string(e.Kind()))
		require.True(t, ok)
		require.Same(t, e, found)
	}
	for _, name := range []string{"", "auto", "unknown", "Triton", "triton-", "vllm"} {
		_, ok := engine.Of(name)
		require.False(t, ok, name)
	}
}

func TestNothingIsAskedOfAServerThatWasNotRecognised(t *testing.T) {
	asked := &recorder{network: newNetwork(t)}
	none := engine.None()
	require.Equal(t, engine.Facts{}, none.Ask(t.Context(), asked, "http://server", nil))
	require.Equal(t, engine.Health{}, none.Health(t.Context(), asked, "http://server"))
	require.Empty(t, asked.paths)
	require.Empty(t, none.Meanings())
	page := readPage(t, engine.Unknown, []byte("vllm:num_requests_running{model_name=\"m\"} 1\n"))
	generation, why := none.Generation(page, nil)
	require.Empty(t, generation)
	require.Empty(t, why)
	require.Nil(t, engine.Capabilities(none, &engine.Known{Page: page}))
	require.Empty(t, none.Determinism(nil, page))
	_, ok := none.StockVersion(&engine.Facts{EngineVersion: "2.64.0"})
	require.False(t, ok)
}

func TestKindsThatShareAPageAreAlike(t *testing.T) {
	kinds := []engine.Kind{engine.Triton, engine.TritonOpenAI, engine.TRTLLMServe, engine.NIM, engine.Dynamo, engine.Unknown}
	for _, a := range kinds {
		for _, b := range kinds {
			shared := (a == engine.Triton || a == engine.TritonOpenAI) && (b == engine.Triton || b == engine.TritonOpenAI)
			require.Equal(t, a == b || shared, engine.Alike(a, b), "%s and %s", a, b)
		}
	}
}

func TestAPathThatOneKindHasNamesTheKind(t *testing.T) {
	for path, want := range map[string]engine.Kind{
		"/prometheus/metrics": engine.TRTLLMServe, "/prometheus/metrics/": engine.TRTLLMServe, "/v1/metrics": engine.NIM,
		"/metrics": engine.Unknown, "/": engine.Unknown, "": engine.Unknown, "/prometheus": engine.Unknown,
	} {
		require.Equal(t, want, engine.FromURL(path), path)
	}
}
