package engine_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// valuesOf returns the values of a page by signal and labels, with equal series combined; sums and
// counts for distributions.
func valuesOf(t *testing.T, kind engine.Name, body []byte) map[string]float64 {
	t.Helper()
	e := engineOf(t, kind)
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	block, err := cache.Parse(bytes.Clone(body), "", nil)
	require.NoError(t, err)
	values := make(map[string]float64)
	for _, s := range engine.ReadPage(e, block).Sources() {
		name, v := s.Meaning.Signal.String(), block.Number(s.Place)
		switch s.Part {
		case engine.PartBucket, engine.PartQuantile:
			continue
		case engine.PartSum:
			name += "_sum"
		case engine.PartCount:
			name += "_count"
		case engine.PartValue:
		}
		words := []string{name}
		for _, dim := range s.Meaning.Dims {
			words = append(words, dim.Ours+"="+s.Labels.Get(dim.Theirs))
		}
		if s.Meaning.Const.Name != "" {
			words = append(words, s.Meaning.Const.String())
		}
		name = strings.Join(words, " ")
		if before, there := values[name]; there && s.Meaning.Combine == engine.Max {
			values[name] = max(before, v)
			continue
		}
		values[name] += v
	}
	return values
}

// sampleValues returns the values of a page that is not part of the project.
func sampleValues(t *testing.T, kind engine.Name, name string) map[string]float64 {
	t.Helper()
	body, err := os.ReadFile(samples(t, name)[0])
	require.NoError(t, err)
	return valuesOf(t, kind, body)
}

// shows requires that values include these; a negative one must be absent.
func shows(t *testing.T, got, want map[string]float64, model string) {
	t.Helper()
	for name, v := range want {
		if v < 0 {
			require.NotContains(t, got, name, model)
			continue
		}
		require.Contains(t, got, name, model)
		require.InDelta(t, v, got[name], 1e-9, "%s: %s", model, name)
	}
}

// TestSamplePageCapabilities compares capabilities with the series of each page.
func TestSamplePageCapabilities(t *testing.T) {
	for _, c := range []struct {
		pattern string
		kind    engine.Name
		want    string
	}{
		{
			"real-vllm-0.12.0-after.prom", engine.VLLM,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse config",
		},
		{
			"real-vllm-0.12.0-idle.prom", engine.VLLM,
			"tokens live_tokens queue running ttft tpot e2e quantiles stall cancel kv_cache kv_reuse config",
		},
		{
			"real-vllm-0.32.0-after*.prom", engine.VLLM,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse config",
		},
		{
			"real-vllm-0.32.0-api2-before*.prom", engine.VLLM,
			"tokens live_tokens ttft tpot e2e quantiles kv_reuse config",
		},
		{
			"real-vllm-0.32.0-api2-after*.prom", engine.VLLM,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse config",
		},
		{"real-vllm-0.32.0-disable-log-stats.prom", engine.VLLM, ""},
		{
			"real-sglang-0.5.23-idle.prom", engine.SGLang,
			"tokens live_tokens queue running tpot e2e quantiles outcomes stall cancel kv_cache",
		},
		{
			"real-sglang-0.5.23-after-load.prom", engine.SGLang,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache",
		},
		{
			"real-sglang-0.5.23-after-disconnect.prom", engine.SGLang,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse",
		},
		{
			"real-sglang-0.5.23-dp2*.prom", engine.SGLang,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache",
		},
		{
			"real-dynamo-1.6.1-frontend-no-workers.prom", engine.Dynamo,
			"tokens live_tokens queue ttft tpot e2e quantiles outcomes stall cancel",
		},
		{
			"real-dynamo-frontend-kvrouter-after.prom", engine.Dynamo,
			"tokens live_tokens queue ttft tpot e2e quantiles outcomes stall cancel",
		},
		{
			"real-dynamo-frontend-under-load.prom", engine.Dynamo,
			"tokens live_tokens ttft tpot e2e quantiles outcomes stall cancel",
		},
		{"real-dynamo-worker-idle.prom", engine.Dynamo, ""},
		{"real-dynamo-worker-trtllm-idle.prom", engine.Dynamo, ""},
		{"real-dynamo-worker-under-load.prom", engine.Dynamo, "queue running ttft tpot e2e quantiles stall kv_cache"},
		{"dynamo-trtllm-worker-docs.prom", engine.Dynamo, "ttft tpot e2e quantiles"},
		{
			"nim-1.0.0*.prom", engine.NIM,
			"tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache",
		},
	} {
		for _, file := range samples(t, c.pattern) {
			t.Run(filepath.Base(file), func(t *testing.T) {
				body, err := os.ReadFile(file)
				require.NoError(t, err)
				var has []string
				for _, check := range engine.Capabilities(engineOf(t, c.kind), &engine.Knowledge{
					Page:     readPage(t, c.kind, body),
					Confirms: true,
				}) {
					require.NotEmpty(t, check.Reason, check.Name)
					if check.OK {
						has = append(has, check.Name)
					}
				}
				require.Equal(t, c.want, strings.Join(has, " "))
			})
		}
	}
}

// TestSimulatedPagesHaveRealSignals compares simulated servers with captured pages of the
// real ones.
func TestSimulatedPagesHaveRealSignals(t *testing.T) {
	load := simulate.Workload{Rate: 4, SharedPrefix: 0.5, AbandonRate: 0.2, ErrorRate: 0.1}
	for file, c := range map[string]struct {
		kind engine.Name
		spec simulate.Spec
	}{
		"real-vllm-0.32.0-after-errors.prom": {
			engine.VLLM,
			simulate.Spec{Kind: simulate.KindVLLM, Workload: load},
		},
		"real-sglang-0.5.23-after-disconnect.prom": {
			engine.SGLang,
			simulate.Spec{Kind: simulate.KindSGLang, Workload: load},
		},
	} {
		captured := sampleValues(t, c.kind, file)
		simulated := valuesOf(t, c.kind, replica(t, c.spec, time.Minute).Page())
		for name := range captured {
			signal, _, _ := strings.Cut(name, " ")
			has := slices.ContainsFunc(
				slices.Collect(maps.Keys(simulated)),
				func(s string) bool { return s == signal || strings.HasPrefix(s, signal+" ") },
			)
			require.True(t, has, "%s of %s", signal, c.kind)
		}
	}
}
