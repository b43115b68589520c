package engine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// marksByWeight are marks of which each weighs more than those in later rows.
var marksByWeight = [][]struct {
	line string
	kind engine.Kind
}{
	{{`x{engine_type="trtllm"} 1`, engine.Dynamo}},
	{{"dynamo_x 1", engine.Dynamo}},
	{{"num_request_max 1", engine.NIM}, {"request_finish_total 1", engine.NIM}},
	{{"nv_x 1", engine.Triton}},
	{{"ctx_total_requests_total 1", engine.TRTLLMDisaggregated}, {"gen_total_requests_total 1", engine.TRTLLMDisaggregated}},
	{{"trtllm_x 1", engine.TRTLLMServe}},
	{{"trtllm:x 1", engine.Dynamo}},
	{{`request_success_total{engine_type="x"} 1`, engine.TRTLLMServe}, {`e2e_request_latency_seconds_sum{engine_type="x"} 1`, engine.TRTLLMServe}},
	{{"vllm:x 1", engine.VLLM}, {"sglang:x 1", engine.SGLang}},
}

func TestOfEveryTwoMarksTheHeavierDecidesWhereverItIs(t *testing.T) {
	for i, row := range marksByWeight {
		for _, heavy := range row {
			require.Equal(t, heavy.kind, engine.FromPage([]byte(heavy.line+"\n")), heavy.line)
			for _, light := range slices.Concat(marksByWeight[i+1:]...) {
				for _, page := range []string{heavy.line + "\n" + light.line + "\n", light.line + "\n" + heavy.line + "\n"} {
					require.Equal(t, heavy.kind, engine.FromPage([]byte(page)), page)
				}
			}
		}
	}
}

func TestDetectionPutsEachQuestionOnce(t *testing.T) {
	for says, server := range map[string]answers{
		"nothing answers":    {},
		"a port that closes": {"*": refuses},
		"a page of HTML":     {"*": "<html><body>Sign in</body></html>"},
		"an API of no kind":  {"/version": `{"version":"1.1.0"}`, "/v1/models": `{"data":[{"id":"m"}]}`},
	} {
		for entry, detect := range map[string]func(engine.Asker) engine.Found{
			"Detect":  func(ask engine.Asker) engine.Found { return engine.Detect(t.Context(), ask, "http://server") },
			"FromAPI": func(ask engine.Asker) engine.Found { return engine.FromAPI(t.Context(), ask, "http://server") },
			"Recognise": func(ask engine.Asker) engine.Found {
				return engine.Recognise(t.Context(), ask, "http://server", []byte("vllm:x 1\n"))
			},
		} {
			asked := &listener{answers: server}
			detect(asked)
			require.NotEmpty(t, asked.paths, "%s: %s", entry, says)
			slices.Sort(asked.paths)
			require.Equal(t, slices.Compact(slices.Clone(asked.paths)), asked.paths, "%s: %s", entry, says)
		}
	}
}
