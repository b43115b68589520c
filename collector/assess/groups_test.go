package assess_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestGroupsOfSeries(t *testing.T) {
	for _, c := range []struct {
		what, name string
		labels     []string
		want       exposition.Group
	}{
		{"a state", "state", []string{"state", "stalled"}, exposition.GroupCore},
		{"a counter", "requests_total", []string{"class", "ok"}, exposition.GroupCore},
		{
			"a bucket of a histogram that is drawn", "request_duration_seconds_bucket",
			[]string{"le", "1.0"},
			exposition.GroupCore,
		},
		{
			"a bucket of one of which only the mean is", "request_queue_seconds_bucket",
			[]string{"le", "1.0"},
			exposition.GroupDetails,
		},
		{"its last bucket", "request_queue_seconds_bucket", []string{"le", "+Inf"}, exposition.GroupCore},
		{"its sum", "request_queue_seconds_sum", nil, exposition.GroupCore},
		{
			"the percentile that is drawn", "request_duration_percentile_seconds",
			[]string{"percentile", "95"},
			exposition.GroupCore,
		},
		{
			"another one", "request_duration_percentile_seconds",
			[]string{"percentile", "50"},
			exposition.GroupWindows,
		},
		{"power of a GPU", "gpu_power_watts", nil, exposition.GroupGPU},
	} {
		t.Run(c.what, func(t *testing.T) {
			series := labels.FromStrings(append([]string{"__name__", derive.Prefix + c.name}, c.labels...)...)
			group, known := assess.GroupOfSeries(series)
			require.True(t, known, "%s has a group", series)
			require.Equal(t, c.want, group)
		})
	}
	_, known := assess.GroupOfSeries(labels.FromStrings("__name__", "nv_inference_count"))
	require.False(t, known, "a series of the server's own")
}

func TestGroupsThatAQueryReads(t *testing.T) {
	core := exposition.GroupsOf(exposition.GroupCore)
	for query, want := range map[string]map[string]exposition.Groups{
		`sum by (pool_id) (rate(llm_server_requests_total{class="server"}[5m])) / llm_server_requests_running`: {
			"llm_server_requests_total": core, "llm_server_requests_running": core,
		},
		`rate(llm_server_request_queue_seconds_sum[5m])`: {"llm_server_request_queue_seconds": core},
		`rate(llm_server_request_queue_seconds_bucket[5m])`: {
			"llm_server_request_queue_seconds": exposition.GroupsOf(exposition.GroupDetails),
		},
		`rate(llm_server_request_queue_seconds_bucket{le="+Inf"}[5m])`: {"llm_server_request_queue_seconds": core},
		`llm_server_request_duration_percentile_seconds{percentile="95"}`: {
			"llm_server_request_duration_percentile_seconds": core,
		},
		`llm_server_request_duration_percentile_seconds`: {
			"llm_server_request_duration_percentile_seconds": core | exposition.GroupsOf(exposition.GroupWindows),
		},
		`up == 1`: {},
	} {
		require.Equal(t, want, assess.Reads(query), query)
	}
}
