package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestWhatOneModelSaysBetterTakesNothingFromAnother(t *testing.T) {
	page := readPage(t, engine.Triton, []byte(`nv_inference_request_success{model="cpp",version="1"} 1
nv_inference_request_success{model="api",version="1"} 1
nv_trt_llm_request_metrics{model="cpp",request_type="active",version="1"} 3
nv_trt_llm_request_metrics{model="api",request_type="active",version="1"} 5
nv_llmapi_requests_in_flight{model="api",model_instance="0",version="1"} 7
`))
	active := make(map[string][]string)
	for _, s := range page.Sources() {
		if s.Meaning.Signal == engine.RequestsActive {
			active[s.Model] = append(active[s.Model], s.Meaning.Name)
		}
	}
	require.Equal(t, map[string][]string{"cpp": {"nv_trt_llm_request_metrics"}, "api": {"nv_llmapi_requests_in_flight"}}, active)
}

func TestAWorkersOwnCountGivesWayToItsEnginesWhateverBothCallTheModel(t *testing.T) {
	page := readPage(t, engine.Dynamo, []byte(`dynamo_component_inflight_requests{dynamo_endpoint="generate",model="org/llama",model_name="org/llama"} 24
vllm:num_requests_running{engine="0",model_name="llama"} 16
`))
	var active []string
	for _, s := range page.Sources() {
		if s.Meaning.Signal == engine.RequestsActive {
			active = append(active, s.Meaning.Name)
		}
	}
	require.Empty(t, active)
}
