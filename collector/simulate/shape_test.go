package simulate_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// sample reads a captured page, or skips the test without the samples.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("TRTLLM_EXPORTER_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		require.NoError(t, err)
		for ; dir == "" && wd != filepath.Dir(wd); wd = filepath.Dir(wd) {
			if _, err := os.Stat(filepath.Join(wd, "shared", "samples")); err == nil {
				dir = filepath.Join(wd, "shared")
			}
		}
	}
	if dir == "" {
		t.Skip("no folder with captured samples: set TRTLLM_EXPORTER_SHARED")
	}
	body, err := os.ReadFile(filepath.Join(dir, "samples", name))
	require.NoError(t, err)
	return body
}

// shape returns the parts of a page that do not depend on values: HELP and TYPE lines in order,
// and the series of each family, in order within a histogram or summary, otherwise sorted.
func shape(body []byte) (heads, series []string) {
	drop := regexp.MustCompile(
		`(gpu_uuid|pid|model_name|model|served_model_name|engine_type|gpu_count|tensor_parallel_size)="[^"]*"`,
	)
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			continue // The end of a capture.
		}
		if strings.HasPrefix(line, "#") {
			heads = append(heads, line)
			continue
		}
		name := line[:strings.LastIndexByte(line, ' ')]
		series = append(series, drop.ReplaceAllStringFunc(name, func(label string) string {
			if strings.HasPrefix(name, "nv_") && strings.HasPrefix(label, "model=") {
				return label
			}
			return label[:strings.IndexByte(label, '=')]
		}))
	}
	slices.Sort(series)
	return heads, series
}

func TestPagesHaveShapeOfCapturedPages(t *testing.T) {
	load, both := simulate.Workload{Rate: 4, SharedPrefix: 0.5}, simulate.Setup{Summaries: true, Histograms: true}
	for _, c := range []struct {
		file string
		spec simulate.Spec
	}{
		{"GENERATED-triton-trtllm-default.prom", simulate.Spec{Streaming: true, GPUs: 2, Workload: load}},
		{
			"GENERATED-triton-trtllm-summary-histogram.prom",
			simulate.Spec{EngineVersion: "2.65.0", Streaming: true, GPUs: 2, Setup: both, Workload: load},
		},
		{
			"GENERATED-triton-trtllm-summary-histogram-idle.prom",
			simulate.Spec{EngineVersion: "2.65.0", GPUs: 2, Setup: both},
		},
		{"GENERATED-trtllm-serve-gen1-under-way.prom", simulate.Spec{Kind: simulate.KindServeOld, Workload: load}},
		{"GENERATED-trtllm-serve-gen2-under-way.prom", simulate.Spec{Kind: simulate.KindServeGen2, Workload: load}},
		{"GENERATED-trtllm-serve-new-under-way.prom", simulate.Spec{Kind: simulate.KindServe, Workload: load}},
		{"GENERATED-trtllm-serve-new-before-any-request.prom", simulate.Spec{Kind: simulate.KindServe}},
	} {
		t.Run(c.file, func(t *testing.T) {
			wantHeads, wantSeries := shape(sample(t, c.file))
			r := newReplica(t, c.spec)
			r.Advance(time.Minute)
			heads, series := shape(r.Page())
			require.Equal(t, wantHeads, heads)
			require.Equal(t, wantSeries, series)
		})
	}
}

// TestPythonServersHaveFamiliesOfCapturedPages compares types, names of labels and bounds.
func TestPythonServersHaveFamiliesOfCapturedPages(t *testing.T) {
	values := regexp.MustCompile(`(\b[a-z_]{3,})="[^"]*"`) // All but those of le.
	// These have fewer labels, or bounds that end at the longest context.
	short := regexp.MustCompile(
		"^(# HELP |vllm:(cache_config_info|request_prompt_tokens|request_generation_tokens|request_prefill_kv_computed_tokens))",
	)
	families := func(body []byte) []string {
		heads, series := shape(body)
		all := slices.Concat(heads, series)
		for i := range all {
			all[i] = values.ReplaceAllString(all[i], "$1")
		}
		return slices.DeleteFunc(all, short.MatchString)
	}
	for kind, files := range map[simulate.Kind][]string{
		simulate.KindVLLM:   {"real-vllm-0.32.0-after-errors.prom", "real-vllm-0.32.0-after-load.prom"},
		simulate.KindSGLang: {"real-sglang-0.5.23-after-load.prom", "real-sglang-0.5.23-after-disconnect.prom"},
	} {
		r := newReplica(t, simulate.Spec{
			Kind:     kind,
			Workload: simulate.Workload{Rate: 4, SharedPrefix: 0.5, AbandonRate: 0.2, ErrorRate: 0.1},
		})
		r.Advance(time.Minute)
		simulated, captured := families(
			r.Page(),
		), append(
			families(sample(t, files[0])),
			families(sample(t, files[1]))...)
		require.Greater(t, len(simulated), 50)
		for _, line := range simulated {
			require.True(t, slices.Contains(captured, line), line)
		}
	}
}

func TestTritonReleasesDiffer(t *testing.T) {
	const trt = "nv_trt_llm_"
	for _, c := range []struct {
		name, version string
		kind          simulate.Kind
		present       []string
		absent        []string
	}{
		{
			"23.05 has no pending gauge, no reason, old families",
			"2.34.0", "",
			[]string{trt + "request_statistics", `failure{model="ensemble",version`},
			[]string{"pending", "reason=", "nv_pinned"},
		},
		{
			"23.11 has _statistics names", "2.40.0", "",
			[]string{trt + "general_statistics", "pending"},
			[]string{trt + "request_metrics", "nv_pinned"},
		},
		{
			"24.01 has the pinned pool", "2.42.0", "",
			[]string{"nv_pinned_memory_pool_used_bytes", trt + "request_metrics"},
			[]string{"terminated_requests", "paused_requests"},
		},
		{"24.02 has terminated requests", "2.43.0", "", []string{"terminated_requests"}, []string{"paused_requests"}},
		{
			"24.04 has paused requests", "2.45.0", "",
			[]string{"paused_requests"},
			[]string{"terminated_requests", "reason="},
		},
		{"24.07 has reasons", "2.48.0", "", []string{`reason="CANCELED"`}, []string{`"reused"`}},
		{
			"24.10 has reused", "2.51.0", "",
			[]string{`kv_cache_block_type="reused"`},
			[]string{"disaggregated", "load_duration"},
		},
		{
			"24.11 has disaggregated serving and load time", "2.52.0", "",
			[]string{"disaggregated_serving_type", "nv_model_load_duration_secs"},
			[]string{"nv_llm_"},
		},
		{
			"24.12 has token lengths", "2.53.0", "",
			[]string{"nv_llm_output_token_len_bucket", "nv_llm_input_token_len_sum"},
			[]string{`"waiting"`, `"fraction"`},
		},
		{"25.04 has waiting and fraction", "2.57.0", "", []string{`request_type="waiting"`, `"fraction"`}, nil},
		{"the Python backend has no families before 24.07", "2.47.0", simulate.KindTritonPython, nil, []string{trt}},
		{
			"the Python backend never has reused nor disaggregated",
			"2.64.0", simulate.KindTritonPython,
			[]string{trt + "request_metrics", `"waiting"`, "nv_llm_"},
			[]string{`"reused"`, "disaggregated"},
		},
		{
			"the LLM API has core families alone", "2.64.0", simulate.KindTritonLLMAPI,
			[]string{"nv_inference_request_success"},
			[]string{trt, "nv_llm_"},
		},
		{
			"vLLM has its own", "2.64.0", simulate.KindTritonVLLM,
			[]string{"vllm:time_to_first_token_seconds_bucket"},
			[]string{trt},
		},
		{
			"plain models have core families alone", "2.64.0", simulate.KindTritonCore,
			[]string{`model="resnet50"`},
			[]string{trt, "vllm:"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReplica(t, simulate.Spec{
				Kind:          c.kind,
				EngineVersion: c.version,
				Workload:      simulate.Workload{Rate: 3},
			})
			r.Advance(20 * time.Second)
			body := string(r.Page())
			parsePage(t, []byte(body))
			for _, s := range c.present {
				has := strings.Contains(body, s)
				require.True(t, has, "%s must be on the page", s)
			}
			for _, s := range c.absent {
				has := strings.Contains(body, s)
				require.False(t, has, "%s must not be on the page", s)
			}
		})
	}
}

func TestTritonCoreFamilies(t *testing.T) {
	for _, c := range []struct {
		file string
		spec simulate.Spec
	}{
		{"real-triton-2.36.0.prom", simulate.Spec{EngineVersion: "2.36.0"}},
		{"real-triton-2.51.0-under-load.prom", simulate.Spec{EngineVersion: "2.51.0"}},
		{
			"real-triton-2.51.0-summary-idle.prom",
			simulate.Spec{EngineVersion: "2.51.0", Setup: simulate.Setup{Summaries: true, Histograms: true}},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			c.spec.Kind, c.spec.Streaming = simulate.KindTritonPython, true
			core := func(body []byte) (heads, series []string) {
				heads, series = shape(body)
				// The captured server had its own quantiles.
				custom := func(s string) bool {
					return strings.Contains(s, "nv_trt_llm_") || strings.Contains(s, "nv_llm_") ||
						strings.Contains(s, `quantile="0.95"`) || strings.Contains(s, `quantile="0.999"`)
				}
				return slices.DeleteFunc(heads, custom), slices.DeleteFunc(series, custom)
			}
			wantHeads, wantSeries := core(sample(t, c.file))
			r := newReplica(t, c.spec)
			r.Advance(time.Minute)
			heads, series := core(r.Page())
			require.Equal(t, wantHeads, heads)
			require.Equal(t, wantSeries, series)
		})
	}
}
