package alerts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

func TestAlertsNeedNoPanels(t *testing.T) {
	t.Parallel()
	got := string(alerts.WithoutPanels(rendered(t)))
	for _, kept := range []string{
		"- alert: LLMPoolDown\n", "- record: pool_reason:llm_server_down:max\n", "- name: llm-exporter\n",
		"- record: pool_model:llm_server_slo_bad:sum\n", "- alert: LLMSLOBurnSlow\n",
	} {
		require.Contains(t, got, kept)
	}
	for _, gone := range []string{
		"- record: pool_model:llm_server_time_to_first_token_seconds_bucket:rate\n", "- name: llm-panel-recording\n",
		"- name: llm-slo-budget-recording\n", "- record: pool:llm_server_gpu_power_watts:sum\n",
	} {
		require.NotContains(t, got, gone)
	}
}
