package collector_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// rules reads metric_relabel_configs.
func rules(t *testing.T, text string) relabel.Rules {
	t.Helper()
	var r relabel.Rules
	require.NoError(t, yaml.Unmarshal([]byte(text), &r))
	require.NoError(t, r.ValidateSeries())
	return r
}

// samples returns the values of the series of a page by the text of their labels.
func samples(t *testing.T, page string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		require.NotContains(t, all, line[:i], "a series twice")
		all[line[:i]] = strings.TrimSpace(line[i:])
	}
	return all
}

// relabelLikePrometheus applies Prometheus' relabeling to the series of a replica and
// restores pool and replica; it returns nil for a dropped series.
func relabelLikePrometheus(t *testing.T, r relabel.Rules, in labels.Labels) *labels.Labels {
	t.Helper()
	b := labels.NewBuilder(in)
	if !prometheus.ProcessBuilder(b, r...) {
		return nil
	}
	b.Set("pool_id", in.Get("pool_id")).Set("replica_id", in.Get("replica_id"))
	b.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, "__") && l.Name != model.MetricNameLabel {
			b.Del(l.Name)
		}
	})
	out := b.Labels()
	if out.Get(model.MetricNameLabel) == "" {
		return nil
	}
	return &out
}

// metric reads the labels of a series as it is on a page.
func metric(t *testing.T, text string) labels.Labels {
	t.Helper()
	lset, err := parser.NewParser(parser.Options{}).ParseMetric(text)
	require.NoError(t, err, text)
	return lset
}

// droppedTotal is the metric whose value rules change: the number of dropped series of
// the page.
const droppedTotal = "trtllm_exporter_target_series_dropped_total"

// requireAsInPrometheus requires a page with rules to have exactly the series that
// Prometheus' relabeling makes of the page without them.
func requireAsInPrometheus(t *testing.T, r relabel.Rules, without, with string) {
	t.Helper()
	requireValid(t, with)
	got := make(map[string]string)
	for text, value := range samples(t, with) {
		got[metric(t, text).String()] = value
	}
	want := make(map[string][]string)
	for text, value := range samples(t, without) {
		in := metric(t, text)
		out := &in
		if in.Has("replica_id") {
			out = relabelLikePrometheus(t, r, in)
		}
		if out != nil && in.Get(model.MetricNameLabel) != droppedTotal {
			want[out.String()] = append(want[out.String()], value)
		}
	}
	for series, values := range want {
		require.Contains(t, got, series)
		require.Contains(t, values, got[series], series)
	}
	for series := range got {
		if !strings.Contains(series, droppedTotal) {
			require.Contains(t, want, series, "there is one more")
		}
	}
}

// worker returns a Triton that completes a request per second; more adds lines to its page.
func worker(more func(second int) string) *fakeScraper {
	start := time.Now()
	return &fakeScraper{
		api: tritonAPI,
		page: func(string) (string, error) {
			second := int(time.Since(start).Seconds())
			page := strings.ReplaceAll(tritonPage, `"1"} 100`, `"1"} `+strconv.Itoa(100+second))
			return page + more(second), nil
		},
	}
}

func TestMetricRelabelingMatchesPrometheus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rules string }{
		{"drop a derived family", `[{source_labels: [__name__], regex: llm_server_requests_total, action: drop}]`},
		{
			"drop part of a derived histogram's samples",
			`[{source_labels: [__name__], regex: llm_server_.*_sum, action: drop}]`,
		},
		{
			"drop some series about the replica",
			`[{source_labels: [__name__, state], regex: llm_server_state;(down|blind), action: drop}]`,
		},
		{
			"drop some of the exporter's series",
			`[{source_labels: [__name__], regex: trtllm_exporter_target_scrape.*, action: drop}]`,
		},
		{"drop all", `[{source_labels: [__name__], regex: .*, action: drop}]`},
		{"keep the server's series", `[{source_labels: [__name__], regex: nv_.*, action: keep}]`},
		{"keep derived series", `[{source_labels: [__name__], regex: llm_server_.*, action: keep}]`},
		{"identity labels may go", `[{regex: engine|.*_version, action: labeldrop}]`},
		{"identity is kept", `[{regex: pool_id|replica_id, action: labeldrop}]`},
		{"a label more", `[{source_labels: [pool_id, replica_id], separator: /, target_label: who}]`},
		{"a hashed label", `[{source_labels: [__name__], target_label: part, action: hashmod, modulus: 7}]`},
		{
			"a label through a temporary one",
			`[{source_labels: [__name__], target_label: __tmp, regex: "(...).*"}, {source_labels: [__tmp],` +
				` target_label: begins}]`,
		},
		{
			"renamed labels",
			`[{regex: (engine|state|reason), action: labelmap, replacement: the_$1}, {regex: ` +
				`engine|state|reason, action: labeldrop}]`,
		},
		{"capitals", `[{source_labels: [engine], target_label: engine, action: uppercase}]`},
		{"equal labels", `[{source_labels: [state], target_label: engine, action: dropequal}]`},
		{
			"another prefix for derived series and the exporter's",
			`[{source_labels: [__name__], regex: (llm_server|trtllm_exporter_target)_(.*), target_label: __name__, ` +
				`replacement: fleet_$2}]`,
		},
		{
			"a renamed derived family",
			`[{source_labels: [__name__], regex: llm_server_requests_total, target_label: __name__, replacement: ` +
				`llm_server_requests_failed_total}]`,
		},
		{
			"a UTF-8 name",
			`[{source_labels: [__name__], regex: llm_server_(.*), target_label: __name__, replacement: "llm.$1"}]`,
		},
		{
			"an empty name",
			`[{source_labels: [__name__], regex: llm_server_state, target_label: __name__, replacement: ""}]`,
		},
		{
			"states become equal",
			`[{source_labels: [__name__], regex: llm_server_.*, target_label: state, replacement: ""}]`,
		},
		{
			"a derived series equals one of the page",
			`[{source_labels: [__name__], regex: llm_server_requests_total, target_label: __name__, ` +
				`replacement: nv_inference_count}]`,
		},
		{
			"series about the replica equal derived ones",
			`[{source_labels: [__name__], target_label: __name__, replacement: x,
			regex: llm_server_(state|ready|live|info|queue_depth|health_check_duration_seconds)},
			{source_labels: [__name__], regex: x, target_label: state, replacement: ""},
			{source_labels: [__name__], regex: x, target_label: trtllm_version_source, replacement: ""}]`,
		},
		{
			"the exporter's series equal those about the replica",
			`[{source_labels: [__name__], target_label: __name__, replacement: x,
			regex: trtllm_exporter_target_up|llm_server_ready},
			{source_labels: [__name__], regex: x, target_label: engine, replacement: ""},
			{source_labels: [__name__], regex: x, target_label: engine_version, replacement: ""},
			{source_labels: [__name__], regex: x, target_label: trtllm_version, replacement: ""}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := worker(func(second int) string {
					if second < 15 {
						return ""
					}
					return `x{engine="theirs"} 1` + "\n" + `nv_inference_count{model="tensorrt_llm",version="1"} 5` +
						"\n"
				})
				pages := func(r relabel.Rules) *testCollector {
					pool := everySeconds("p", 5, "a=10.0.0.1:8002|10.0.0.1:8000")
					pool.MetricRelabelConfigs = r
					return startWithScraper(t, p, pool)
				}
				r := rules(t, c.rules)
				without, with := pages(nil), pages(r)
				for range 2 {
					time.Sleep(12 * time.Second)
					synctest.Wait()
					plain := without.page()
					requireText(t, plain, "llm_server_requests_total{")
					requireText(t, plain, "trtllm_exporter_target_up{")
					requireAsInPrometheus(t, r, plain, with.page())
				}
			})
		})
	}
}
