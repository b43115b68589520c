package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer/metrics"
)

// vllmWithLoRA returns a vLLM whose engine has used two sets of adapters. Its page keeps
// every set with the time of its last use, oldest first.
func vllmWithLoRA(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		const rank = `engine="0",model_name="llama"`
		fmt.Fprintf(w, `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{%[1]s} 3
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{%[1]s} 2
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{%[1]s} 0.25
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{%[1]s,block_size="16",num_gpu_blocks="341"} 1
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{max_lora="4",running_lora_adapters="old",waiting_lora_adapters=""} 1.7953246087066567e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="poems,tables",waiting_lora_adapters="law"} 1.7953246190520880e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} 1.7953246190135565e+09
`, rank)
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc(
		"GET /version",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.32.0"}`) },
	)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(
			w,
			`{"object":"list","data":[{"id":"llama","object":"model","owned_by":"vllm"},{"id":"poems","object":"model","owned_by":"vllm","parent":"llama"}]}`,
		)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPickerReadsAdaptersOfVLLM requires that the picker finds the adapters of the last
// set, on a page with vLLM's own series and on one with the alias.
func TestPickerReadsAdaptersOfVLLM(t *testing.T) {
	binary, server := exporter(t), vllmWithLoRA(t)
	for _, raw := range []bool{true, false} {
		t.Run(fmt.Sprintf("raw %t", raw), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yml")
			require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
global: { scrape_interval: 1s, scrape_timeout: 1s }
exposition: { raw: %t, aliases: [vllm] }
pools: [ { pool_id: p, static_configs: [ { targets: [%q] } ] } ]
`, raw, server), 0o600))
			address := start(t, binary, "--config.file", file)
			extractor, err := metrics.NewModelServerExtractor("vllm:num_requests_waiting", "vllm:num_requests_running",
				"vllm:kv_cache_usage_perc", "vllm:lora_requests_info", "vllm:cache_config_info")
			require.NoError(t, err)
			endpoint := datalayer.NewEndpoint(nil, nil)
			require.Eventually(t, func() bool {
				families := page(t, address)
				return families["vllm:lora_requests_info"] != nil &&
					extractor.Extract(t.Context(), families, endpoint) == nil
			}, time.Minute, 200*time.Millisecond)
			read := endpoint.GetMetrics()
			require.Equal(t, map[string]int{"poems": 0, "tables": 0}, read.ActiveModels)
			require.Equal(t, map[string]int{"law": 0}, read.WaitingModels)
			require.Equal(t, 4, read.MaxActiveModels)
			require.Equal(t, 3, read.RunningRequestsSize)
			require.Equal(t, 2, read.WaitingQueueSize)
			require.InDelta(t, 0.25, read.KVCacheUsagePercent, 1e-9)
			require.Equal(t, 16, read.CacheBlockSize)
		})
	}
}
