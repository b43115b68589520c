package assess_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

func TestEveryMetricIsDeclaredOnce(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range assess.ExporterMetrics() {
		f := m.Family
		require.False(t, names[f.Name], "%s is there twice", f.Name)
		names[f.Name] = true
		require.Regexp(t, `^trtllm_exporter_[a-z]+(_[a-z]+)*$`, f.Name)
		require.True(t, strings.HasSuffix(f.Help, "."), "HELP of %s is a sentence", f.Name)
		require.Equal(t, f.Type == model.MetricTypeCounter, strings.HasSuffix(f.Name, "_total"), f.Name)
		require.Equal(t, m.AboutTarget(), strings.HasPrefix(f.Name, "trtllm_exporter_target_"), f.Name)
	}
	require.Len(t, names, len(assess.ExporterMetrics()))
}

func TestLabelsReturnsACopy(t *testing.T) {
	assess.MetricHTTPRequests.Labels()[0] = "spoilt"
	require.Equal(t, []string{"path", "code"}, assess.MetricHTTPRequests.Labels())
}
