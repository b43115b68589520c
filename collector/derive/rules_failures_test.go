package derive_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestFailuresOfAnEnsembleCountOnce takes its numbers from what real servers
// counted for requests of which a client saw how they ended.
func TestFailuresOfAnEnsembleCountOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		// reason is the label that failures have since 24.07.
		reason string
		// ensemble, backend and other are failures that were counted, of the
		// ensemble, of a step that raised or that is C++, and of a step of old.
		ensemble, backend, other int
		failed                   float64
	}{
		{"a step that answered with an error is a success, the ensemble counts it twice", `,reason="OTHER"`, 6, 0, 0, 3},
		{"a step that raised counts once, the ensemble twice", `,reason="OTHER"`, 6, 3, 0, 3},
		{"an overflow of a step's queue counts twice at the ensemble alone", `,reason="OTHER"`, 12, 0, 0, 6},
		{"one of each", `,reason="OTHER"`, 8, 1, 0, 4},
		{"what a step counted happened, even if the ensemble counted it once", `,reason="OTHER"`, 3, 3, 0, 3},
		{"before there were reasons each counted once", ``, 3, 0, 3, 3},
		{"before there were reasons a failure without a step counted once", ``, 3, 0, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			page := func(n int) values {
				step := `nv_inference_request_failure{model="preprocessing"%s,version="1"} %d`
				return b.page(
					fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, 7*n),
					fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, 10*n),
					fmt.Sprintf(`nv_inference_request_failure{model="ensemble"%s,version="1"} %d`, c.reason, c.ensemble*n),
					fmt.Sprintf(step, `,reason="BACKEND"`, c.backend*n), fmt.Sprintf(step, c.reason, c.other*n),
				)
			}
			page(0)
			got := page(1)
			const series = `request_error_ratio{class="server", model="ensemble", model_id="ensemble", version="1"}`
			require.InDelta(t, c.failed/(7+c.failed), got.at(t, series), 1e-9)
			require.InDelta(t, (7+c.failed)/5, got.at(t, `requests_per_second{model="ensemble", model_id="ensemble", version="1"}`), 1e-9)
		})
	}
}

// TestWhatPartsCountForAnotherFrontIsNotAddedToAnEnsemble has an ensemble and a BLS
// model in front of the same parts: of ten requests to each, four fail in the first
// part, which the ensemble counts twice.
func TestWhatPartsCountForAnotherFrontIsNotAddedToAnEnsemble(t *testing.T) {
	b := newBench(t, engine.Triton, "ensemble", "tensorrt_llm_bls", "preprocessing", "tensorrt_llm").facts(
		engine.ModelFacts{Name: "ensemble", State: "READY", Configured: true, Platform: "ensemble", Steps: []string{"preprocessing", "tensorrt_llm"}},
		engine.ModelFacts{Name: "tensorrt_llm_bls", State: "READY", Configured: true, Backend: "python", Calls: []string{"preprocessing", "tensorrt_llm"}},
		configured("preprocessing", "python", false), configured("tensorrt_llm", "tensorrtllm", false))
	page := func(n int) values {
		var lines []string
		for model, counts := range map[string][2]int{"ensemble": {6, 8}, "tensorrt_llm_bls": {6, 4}, "preprocessing": {12, 8}, "tensorrt_llm": {12, 0}} {
			lines = append(lines, fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, n*counts[0]),
				fmt.Sprintf(`nv_inference_request_failure{model=%q,reason="OTHER",version="1"} %d`, model, n*counts[1]))
		}
		slices.Sort(lines)
		return b.page(lines...)
	}
	page(0)
	got := page(1)
	for _, front := range []string{"ensemble", "tensorrt_llm_bls"} {
		require.InDelta(t, 10.0/5, got.at(t, `requests_per_second{model="`+front+`", model_id="ensemble", version="1"}`), 1e-9, front)
		require.InDelta(t, 0.4, got.at(t, `request_error_ratio{class="server", model="`+front+`", model_id="ensemble", version="1"}`), 1e-9, front)
	}
}
