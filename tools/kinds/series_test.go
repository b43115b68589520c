package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestSeriesSayWhatIsRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   engine.Name
		series string
		want   series
	}{
		{
			name:   "a rank",
			kind:   engine.VLLM,
			series: "vllm:num_requests_running",
			want:   series{Type: "gauge", Signals: []engine.Signal{engine.RequestsRunning}, Rank: "engine"},
		},
		{
			name:   "a selected value, and a label that must be absent",
			kind:   engine.SGLang,
			series: "sglang:realtime_tokens_total",
			want: series{
				Type:    "counter",
				Signals: []engine.Signal{engine.GenerationTokensLive, engine.PromptTokensLive},
				Labels:  []string{"mode"},
				Rank:    "dp_rank",
				Values:  map[string][]string{"mode": {"decode"}},
			},
		},
		{
			name:   "a counter that also shows whether it is there",
			kind:   engine.SGLang,
			series: "sglang:http_responses_total",
			want: series{
				Type:    "counter",
				Signals: []engine.Signal{engine.HTTPAnswers, engine.AnsweredWell, engine.RequestsFailed},
				Labels:  []string{"endpoint", "status_code", "method"},
			},
		},
		{
			name:   "a histogram",
			kind:   engine.VLLM,
			series: "vllm:time_to_first_token_seconds",
			want:   series{Type: "histogram", Signals: []engine.Signal{engine.FirstToken}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, ok := engine.ByName(string(tt.kind))
			require.True(t, ok, "%s is a kind", tt.kind)
			tt.want.Kind, tt.want.Name = tt.kind, tt.series
			if tt.want.Values == nil {
				tt.want.Values = map[string][]string{}
			}
			require.Contains(t, seriesOf(k), &tt.want)
		})
	}
}
