package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestCallOfAnOperatorHoldsRequestsUp has successive pages of servers whose engine does what somebody else asks,
// between two steps.
func TestCallOfAnOperatorHoldsRequestsUp(t *testing.T) {
	type page struct{ step, requests, calls int }
	operation := func(family string) func(p page) string {
		return func(p page) string {
			return fmt.Sprintf(
				"vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} %d\n"+
					"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} %d\n"+
					"vllm:%s{operation=\"update\"} %d\n",
				p.step, p.requests, family, p.calls,
			)
		}
	}
	for _, server := range []struct {
		call  string
		kind  engine.Name
		write func(p page) string
	}{
		{
			"/load_lora_adapter", engine.SGLang,
			func(p page) string {
				return fmt.Sprintf(
					"sglang:cuda_graph_passes_total{mode=\"decode_none\"} %d\n"+
						"sglang:http_requests_active{endpoint=\"/generate\",method=\"POST\"} %d\n"+
						"sglang:http_requests_active{endpoint=\"/load_lora_adapter\",method=\"POST\"} %d\n",
					p.step, p.requests, p.calls,
				)
			},
		},
		{"sleep", engine.VLLM, operation("sleep_mode_operations_in_flight")},
		{"weights", engine.VLLM, operation("rl_weight_update_operations_in_flight")},
	} {
		for _, c := range []struct {
			says  string
			pages []page
			want  bool
		}{
			{"requests wait, and nothing moves", []page{{5, 4, 0}, {5, 4, 1}}, true},
			{"it is answered", []page{{5, 4, 1}, {5, 4, 1}, {5, 4, 0}}, false},
			{"nobody waits", []page{{5, 0, 1}, {5, 0, 1}}, false},
			{"the engine works beside it", []page{{5, 4, 1}, {6, 4, 1}}, false},
			{"it goes on", []page{{5, 4, 0}, {5, 4, 1}, {5, 4, 1}}, true},
			{"it came after the engine stood still", []page{{5, 4, 0}, {5, 4, 0}, {5, 4, 1}, {5, 4, 1}}, false},
			{"it came before the requests did", []page{{5, 0, 1}, {5, 0, 1}, {5, 4, 1}}, true},
		} {
			t.Run(string(server.kind)+" "+server.call+": "+c.says, func(t *testing.T) {
				var pages []string
				for _, p := range c.pages {
					pages = append(pages, server.write(p))
				}
				last := readPages(t, server.kind, pages...)
				require.Equal(t, c.want, last.Called())
				require.False(t, last.Updates(), "a call is no update of weights")
			})
		}
	}
}
