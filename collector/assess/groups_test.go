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
		value      float64
		want       exposition.Group
	}{
		{"the state in which it is", "state", []string{"state", "stalled"}, 1, exposition.GroupCore},
		{"a state in which it is not", "state", []string{"state", "stalled"}, 0, exposition.GroupDetails},
		{"one in which it is not, and that rules follow", "state", []string{"state", "down"}, 0, exposition.GroupCore},
		{"a model that is not loading", "model_state", []string{"state", "loading"}, 0, exposition.GroupDetails},
		{"a model that is not ready", "model_state", []string{"state", "ready"}, 0, exposition.GroupCore},
		{"a counter of 0", "requests_total", []string{"class", "ok"}, 0, exposition.GroupCore},
		{
			"a bucket of a histogram that is drawn", "request_duration_seconds_bucket",
			[]string{"le", "1.0"},
			5, exposition.GroupCore,
		},
		{
			"a bucket of one of which only the mean is", "request_queue_seconds_bucket",
			[]string{"le", "1.0"},
			5, exposition.GroupDetails,
		},
		{"its last bucket", "request_queue_seconds_bucket", []string{"le", "+Inf"}, 5, exposition.GroupCore},
		{"its sum", "request_queue_seconds_sum", nil, 5, exposition.GroupCore},
		{
			"the percentile that is drawn", "request_duration_percentile_seconds",
			[]string{"percentile", "95"},
			1, exposition.GroupCore,
		},
		{
			"another one", "request_duration_percentile_seconds",
			[]string{"percentile", "50"},
			1, exposition.GroupWindows,
		},
		{"power of a GPU", "gpu_power_watts", nil, 1, exposition.GroupGPU},
	} {
		t.Run(c.what, func(t *testing.T) {
			series := labels.FromStrings(append([]string{"__name__", derive.Prefix + c.name}, c.labels...)...)
			group, known := assess.GroupOfSeries(series, c.value)
			require.True(t, known)
			require.Equal(t, c.want, group)
		})
	}
	_, known := assess.GroupOfSeries(labels.FromStrings("__name__", "nv_inference_count"), 1)
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

// TestGroupsThatAreOffAreNotWritten renders what is known of a replica, with and without group details.
func TestGroupsThatAreOffAreNotWritten(t *testing.T) {
	lines := func(off exposition.Groups) string {
		series := assess.NewReplicaSeries(nil, off)
		now := facts("pool_id", "p")
		now.State = assess.Stalled
		return shownText(series.Block(now))
	}
	const current, other, followed = `state="stalled"} 1`, `state="draining"} 0`, `state="down"} 0`
	all, lean := lines(0), lines(exposition.EveryGroup().Without(exposition.GroupsOf(exposition.GroupCore)))
	for _, line := range []string{current, other, followed} {
		require.Contains(t, all, line)
	}
	require.Contains(t, lean, current)
	require.Contains(t, lean, followed, "a rule asks how long it was so")
	require.NotContains(t, lean, other)
	require.Less(t, len(lean), len(all))
}
