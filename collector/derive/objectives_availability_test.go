package derive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestWhyAvailabilityIsNotMeasured(t *testing.T) {
	const (
		success   = `nv_inference_request_success{model="m",version="1"} 90`
		canceled  = `nv_inference_request_failure{model="m",reason="CANCELED",version="1"} 3`
		rejected  = `nv_inference_request_failure{model="m",reason="REJECTED",version="1"} 3`
		unknown   = "the server does not count all failures, or that is not known"
		uncounted = "the server does not count the requests that fail by its own fault"
	)
	trusted := configured("m", "onnxruntime", false)
	for _, c := range []struct {
		says string
		kind engine.Kind
		m    engine.ModelFacts
		page []string
		want string
	}{
		{"successes alone", engine.Triton, trusted, []string{success}, uncounted},
		{"failures of clients alone", engine.Triton, trusted, []string{success, canceled}, uncounted},
		{"refusals alone", engine.Triton, trusted, []string{success, canceled, rejected}, uncounted},
		{"a model that hands its requests over", engine.Triton, configured("m", "python", true), []string{success, canceled}, unknown},
		{"a model that may hand its requests over", engine.Triton, engine.ModelFacts{Name: "m"}, []string{success, canceled}, unknown},
		{"a release that counts no errors", engine.TRTLLMServe, engine.ModelFacts{Name: "m"}, []string{`trtllm_request_success_total{finished_reason="stop",model_name="m"} 3`}, unknown},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, c.kind, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995}).facts(c.m)
			requireNoObjective(t, b.page(c.page...))
			require.Equal(t, []target.Check{{Name: "availability", Reason: c.want}}, b.deriver.Objectives())
		})
	}
}
