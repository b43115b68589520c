package simulate_test

import (
	"bufio"
	"bytes"
	"maps"
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
	body, err := os.ReadFile(sampleFile(t, name))
	require.NoError(t, err)
	return body
}

// sampleFile returns the name of a captured page.
func sampleFile(t *testing.T, name string) string {
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
	return filepath.Join(dir, "samples", name)
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
		simulated, captured := families(r.Page()), append(
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

// TestDialectsHaveFamiliesOfCapturedReleases compares the families of each release, and which labels they
// have, with pages that the code of that release wrote, as far as the simulated servers write them at all.
func TestDialectsHaveFamiliesOfCapturedReleases(t *testing.T) {
	dir := filepath.Dir(sampleFile(t, "releases/vllm-0.33.0-t1.prom"))
	name := regexp.MustCompile(`^(vllm|sglang)-(\d[0-9a-z.]*)(-v0|-v1|)-t1\.prom$`)
	for kind, setups := range map[simulate.Kind]map[string]bool{
		simulate.KindVLLM: {"-v0": true, "-v1": false, "": false}, simulate.KindSGLang: {"": false},
	} {
		for engine, old := range setups {
			page := func(release string) map[string]bool {
				r := newReplica(t, simulate.Spec{Kind: kind, EngineVersion: release, Setup: simulate.Setup{OldEngine: old}})
				r.SetTotals(&simulate.Totals{
					Now: time.Minute, Begun: 9, OK: 5, Canceled: 1, Failed: 1, Steps: 50, Tokens: 500, Paused: 1, Running: 1,
					Waiting: 1, Prompt: 20, Cached: 5, KVBlocks: 3,
					Latency: simulate.Latency{Output: 9, Queue: 1e6, TTFT: 1e7, TPOT: 1e6, E2E: 1e8},
				})
				return familiesOf(r.Page())
			}
			every := make(map[string]bool) // That a simulated server of any release writes.
			for _, d := range kind.Dialects() {
				if d.OldEngine == old {
					maps.Copy(every, page(d.Release))
				}
			}
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, file := range files {
				found := name.FindStringSubmatch(file.Name())
				if len(found) == 0 || found[1] != string(kind) || found[3] != engine {
					continue
				}
				body, err := os.ReadFile(filepath.Join(dir, file.Name()))
				require.NoError(t, err)
				theirs, ours := familiesOf(body), page(found[2])
				for _, simulated := range slices.Sorted(maps.Keys(every)) {
					if strings.Contains(simulated, "http_") || strings.HasSuffix(simulated, "_created") ||
						simulated == "sglang:queue_time_s" {
						continue // The samples have no API, no times of creation, and nothing that only 0.5.2 calls.
					}
					if wanted, got := theirs[simulated], ours[simulated]; wanted != got {
						t.Errorf("%s: %s: wanted %t, got %t", file.Name(), simulated, wanted, got)
					}
				}
			}
		}
	}
}

// familiesOf returns the families of a page with samples.
func familiesOf(page []byte) map[string]bool {
	all := make(map[string]bool)
	family := ""
	for line := range strings.Lines(string(page)) {
		if words := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			family = words[2]
		} else if !strings.HasPrefix(line, "#") && len(words) == 2 && strings.HasPrefix(line, family) {
			all[family] = true
		}
	}
	return all
}
