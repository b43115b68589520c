package engine_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestKindProperties compares the constants of a kind with a file, so that a series that is
// lost or changes its meaning shows up in a diff.
func TestKindProperties(t *testing.T) {
	for _, e := range engine.All() {
		t.Run(string(e.Name), func(t *testing.T) {
			fixture.RequireFile(t, filepath.Join("testdata", "kinds", string(e.Name)+".txt"), described(e))
		})
	}
}

// described returns the constants of a kind as text.
func described(e *engine.Kind) string {
	const metrics = 8002
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("page: %s, empty is good: %v", e.Path, e.EmptyPage)
	say("missing page: %s", e.NoPage.Hint)
	grpc, ok := e.GRPCPort(metrics)
	say("page on port %d: API on %d, same port %v, gRPC %v on %d", metrics, e.APIPort(metrics), e.SamePort(), ok, grpc)
	if path := e.Iterations; path != "" {
		say("iterations: %s", path)
	}
	say("answers: %s", e.Answers)
	say("quirks: %+v", e.Quirks(nil))
	stream, why := e.Stream("", nil)
	say("stream: %+v %s", stream, why)
	say("\nmeanings:")
	inside := engine.Name("")
	for _, m := range e.Meanings() {
		switch {
		case m.Inside == "":
			say("%s", meaning(&m))
		case m.Inside != inside:
			inside = m.Inside
			say("those of %s, where it is inside", inside)
		}
	}
	return b.String()
}

// meaning returns what is set of a meaning as a line.
func meaning(m *engine.Meaning) string {
	var words []string
	say := func(name string, value any) {
		if v := reflect.ValueOf(value); !v.IsZero() {
			words = append(words, fmt.Sprintf("%s: %+v", name, reflect.Indirect(v)))
		}
	}
	for field, value := range reflect.ValueOf(m).Elem().Fields() {
		switch field.Name {
		case "PerModel":
			say("Scope", m.Scope())
		case "Combine":
			say("Combine", m.Combine)
			say("Counter", m.Signal.Type().Counter)
		case "Outcome":
			say("Outcome", m.Outcome)
			say("Form", m.Form())
		default:
			say(field.Name, value.Interface())
		}
	}
	return strings.Join(words, ", ")
}

func TestKindByName(t *testing.T) {
	require.True(t, slices.IsSortedFunc(engine.All(), func(a, b *engine.Kind) int {
		return strings.Compare(string(a.Name), string(b.Name))
	}), "All of kind.go lists kinds in the order of their names")
	for _, e := range engine.All() {
		found, ok := engine.ByName(string(e.Name))
		require.True(t, ok, "%s is found by its name", e.Name)
		require.Same(t, e, found)
	}
	for _, name := range []string{"", "auto", "unknown", "Triton", "triton-"} {
		_, ok := engine.ByName(name)
		require.False(t, ok, name)
	}
}

func TestUnknownServerGetsNoRequests(t *testing.T) {
	rec := &recorder{Client: newNetwork(t)}
	none := engine.None()
	require.Equal(t, engine.Unknown, none.Name)
	require.Equal(t, "/metrics", none.Path)
	require.True(t, none.SamePort(), "page and API share a port")
	require.Empty(t, none.Answers)
	require.Equal(t, engine.Quirks{}, none.Quirks(nil))
	require.Equal(t, engine.Facts{}, none.Ask(t.Context(), rec, "http://server", engine.Earlier{}).Complete())
	require.Equal(t, engine.Health{}, none.Health(t.Context(), rec, "http://server"))
	require.Empty(t, rec.paths)
	require.Empty(t, none.Meanings())
	page := readPage(t, engine.Unknown, []byte("vllm:num_requests_running{model_name=\"m\"} 1\n"))
	require.Nil(t, engine.Capabilities(none, &engine.Knowledge{Page: page}))
}

func TestKindsShowPagesOfOthers(t *testing.T) {
	others := map[engine.Name][]engine.Name{
		engine.TritonOpenAI: {engine.Triton},
		engine.NIM:          {engine.VLLM, engine.SGLang, engine.Dynamo, engine.Triton, engine.TRTLLMServe},
	}
	kinds := []engine.Name{engine.Unknown}
	for _, e := range engine.All() {
		kinds = append(kinds, e.Name)
	}
	for _, a := range kinds {
		for _, b := range kinds {
			want := a == b || slices.Contains(others[a], b)
			require.Equal(t, want, engine.Shows(a, b), "%s and a page of %s", a, b)
		}
	}
}

func TestEmptyPageAtPathOfOneKind(t *testing.T) {
	triton := answers{"*": ""}
	for _, c := range []struct {
		server answers
		path   string
		want   engine.Name
	}{
		{answers{}, "/prometheus/metrics", engine.TRTLLMServe},
		{answers{"/version": `{"version":"1.1.0"}`}, "/prometheus/metrics/", engine.TRTLLMServe},
		{triton, "/prometheus/metrics", engine.Unknown},
		{answers{}, "/v1/metrics", engine.Unknown},
		{answers{}, "/metrics", engine.Unknown},
		{answers{}, "/", engine.Unknown},
		{answers{}, "", engine.Unknown},
	} {
		found := engine.FromEmptyPage(t.Context(), c.server, "http://server", c.path)
		require.Equal(t, c.want, found.Kind, c.path)
		require.Equal(t, c.want != engine.Unknown, found.Evidence != "")
	}
}

func TestGenerationsOfNIM2(t *testing.T) {
	for page, want := range map[string]engine.Generation{
		"vllm:num_requests_running 1\n":   "2.x with vLLM",
		"sglang:num_running_reqs 1\n":     "2.x with SGLang",
		"trtllm_num_requests_running 1\n": "2.x with TensorRT-LLM",
		"generation_tokens_total 1\n":     "1.x",
		"process_start_time_seconds 1\n":  "without engine statistics",
	} {
		got, why := engineOf(t, engine.NIM).Generation(readPage(t, engine.NIM, []byte(page)), nil)
		require.Equal(t, want, got, page)
		require.NotEmpty(t, why)
	}
	nim := engineOf(t, engine.NIM)
	for page, inside := range map[string]bool{
		"vllm:num_requests_running 1\n" +
			"http_requests_total{handler=\"/v1/x\",status=\"2xx\"} 1\n": true,
		"sglang:num_running_reqs 1\nsglang:max_total_num_tokens 9\n" +
			"sglang:http_responses_total{endpoint=\"/v1/x\",status_code=\"200\"} 1\n": true,
		"num_request_max 1\n": false,
	} {
		read := readPage(t, engine.NIM, []byte(page))
		answersAll := strings.HasPrefix(page, "sglang:")
		require.Equal(t, engine.Quirks{CountersAppear: true, AnswersAll: answersAll}, nim.Quirks(read))
		require.Equal(t, inside, nim.CountsFailures(read), page)
		stream, _ := nim.Stream("", read)
		require.Equal(t, engine.Stream{Usage: inside, Seed: inside, IgnoreEOS: inside}, stream)
	}
	known := &engine.Knowledge{Page: readPage(t, engine.NIM, []byte("vllm:generation_tokens_total 1\n"))}
	require.Equal(t, "true, vllm:generation_tokens_total, as tokens "+
		"are generated", capability(t, engine.NIM, engine.CanLiveTokens, known))
	known.Page = readPage(t, engine.NIM, []byte("sglang:generation_tokens_total 1\n"))
	require.Equal(
		t,
		"true, sglang:generation_tokens_total, when a request ends",
		capability(t, engine.NIM, engine.CanTokens, known),
	)
	require.Equal(t, "false, this release counts tokens when a request ends [SGLang 0.5.7 or "+
		"later]", capability(t, engine.NIM, engine.CanLiveTokens, known))
}

// TestNIMWithTensorRTLLM reads NIMs with TensorRT-LLM inside, and one of 1.x: TensorRT-LLM 1.1 had some of its names,
// with another meaning, which a label tells apart.
func TestNIMWithTensorRTLLM(t *testing.T) {
	times := func(name, labels string) string {
		return name + "_sum" + labels + " 4\n" + name + "_count" + labels + " 2\n"
	}
	for _, c := range []struct {
		name, page string
		want       map[string]float64
	}{
		{
			"TensorRT-LLM 1.3",
			"trtllm_request_success_total{engine_type=\"pytorch\",finished_reason=\"stop\"} 3\n" +
				"trtllm_num_requests_waiting{engine_type=\"pytorch\"} 2\n",
			map[string]float64{"requests_finished_total finish_reason=stop finish_reason=": 3, "requests_waiting": 2},
		},
		{
			"TensorRT-LLM 1.1",
			"request_success_total{engine_type=\"pytorch\",finished_reason=\"stop\"} 3\n" +
				times("time_per_output_token_seconds", "{engine_type=\"pytorch\"}"),
			map[string]float64{
				"requests_finished_total finish_reason=stop finish_reason=": 3,
				"time_per_output_token_seconds_sum":                         4,
				"time_per_output_token_seconds_count":                       2,
			},
		},
		{
			"NIM 1.x",
			"num_request_max 8\nrequest_finish_total{finished_reason=\"stop\"} 3\nrequest_success_total 3\n" +
				times("time_per_output_token_seconds", ""),
			map[string]float64{
				"requests_limit": 8, "requests_finished_total finish_reason=stop": 3,
				"inter_token_latency_seconds_sum": 4, "inter_token_latency_seconds_count": 2,
			},
		},
	} {
		require.Equal(t, c.want, valuesOf(t, engine.NIM, []byte(c.page)), c.name)
	}
	inside := readPage(t, engine.NIM, []byte("trtllm_generation_tokens_total{engine_type=\"pytorch\"} 1\n"))
	require.Equal(t, "false, its TensorRT-LLM counts tokens when a request ends",
		capability(t, engine.NIM, engine.CanLiveTokens, &engine.Knowledge{Page: inside}))
}
