// Package gateway_test reads the exporter's page with the endpoint picker of the Gateway
// API inference extension.
package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer/metrics"
)

// exporter builds the program.
func exporter(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "trtllm_exporter")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/trtllm_exporter")
	build.Dir = "../.."
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	return binary
}

// page returns a sidecar's page with vLLM's names, without the server's own series.
func page(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // It does not listen yet.
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(t, err)
	return families
}

// start starts the program on a free port.
func start(t *testing.T, binary string, args ...string) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	require.NoError(t, listener.Close())
	ctx, stop := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, binary, append(args, "--web.listen-address", address)...)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // It was killed.
	})
	return address
}

// demo starts a simulated fleet and returns a server of each kind. It runs as a process,
// because the simulator needs a newer Prometheus module than the picker.
func demo(t *testing.T, binary string) map[string]string {
	t.Helper()
	address, servers := start(t, binary, "demo", "--mixed", "--calm"), make(map[string]string)
	require.Eventually(t, func() bool {
		var answer struct {
			Targets []struct {
				Pool   string `json:"pool_id"`
				Engine string `json:"detected_engine"`
				URL    string `json:"metrics_url"`
			} `json:"targets"`
		}
		response, err := http.Get("http://" + address + "/targets?format=json")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		if json.NewDecoder(response.Body).Decode(&answer) != nil {
			return false
		}
		for _, s := range answer.Targets {
			if s.Engine == "triton" && s.Pool != "llama-70b-prod" {
				continue // With vLLM inside, which exposes no load.
			}
			if address, err := url.Parse(s.URL); err == nil && s.Engine != "" && servers[s.Engine] == "" {
				servers[s.Engine] = address.Host
			}
		}
		return servers["triton"] != "" && servers["trtllm-serve"] != "" && servers["sglang"] != "" &&
			servers["vllm"] != ""
	}, time.Minute, 200*time.Millisecond)
	return servers
}

// value returns the value of the only series of a family.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string) float64 {
	t.Helper()
	require.Contains(t, families, name)
	require.Len(t, families[name].GetMetric(), 1, name)
	return families[name].GetMetric()[0].GetGauge().GetValue()
}

// sidecar starts an exporter for one server and waits until its page has the picker's
// metrics.
func sidecar(t *testing.T, binary, target string) map[string]*dto.MetricFamily {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
global: { scrape_interval: 1s, scrape_timeout: 1s }
exposition: { raw: false, aliases: [vllm] }
pools: [ { pool_id: p, static_configs: [ { targets: [%q] } ] } ]
`, target), 0o600))
	address := start(t, binary, "--config.file", file)
	var families map[string]*dto.MetricFamily
	require.Eventually(t, func() bool {
		families = page(t, address)
		return families["vllm:num_requests_running"] != nil && families["vllm:cache_config_info"] != nil &&
			families["vllm:kv_cache_usage_perc"] != nil
	}, time.Minute, 200*time.Millisecond, "the page of %s", target)
	return families
}

// TestPickerReadsEveryKindOfServer compares what the picker reads with the exporter's own
// metrics.
func TestPickerReadsEveryKindOfServer(t *testing.T) {
	binary := exporter(t)
	servers := demo(t, binary)
	for _, name := range []string{"triton", "trtllm-serve", "sglang", "vllm"} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, servers, name)
			families := sidecar(t, binary, servers[name])
			// These are the picker's default names (pkg/epp/server/options.go).
			extractor, err := metrics.NewModelServerExtractor("vllm:num_requests_waiting", "vllm:num_requests_running",
				"vllm:kv_cache_usage_perc", "vllm:lora_requests_info", "vllm:cache_config_info")
			require.NoError(t, err)
			endpoint := datalayer.NewEndpoint(nil, nil)
			if err := extractor.Extract(t.Context(), families, endpoint); err != nil {
				// No server of the demo has adapters.
				require.Regexp(t, `^[^\n]*vllm:lora_requests_info[^\n]*$`, err.Error())
			}
			read := endpoint.GetMetrics()
			require.Equal(t, int(value(t, families, "llm_server_queue_depth")), read.WaitingQueueSize)
			require.Equal(t, int(value(t, families, "llm_server_requests_running")), read.RunningRequestsSize)
			require.InDelta(
				t,
				value(t, families, "llm_server_kv_cache_utilization_ratio"),
				read.KVCacheUsagePercent,
				1e-9,
			)
			require.Equal(t, int(value(t, families, "llm_server_kv_cache_block_tokens")), read.CacheBlockSize)
			require.Positive(t, read.CacheNumGPUBlocks)
			require.WithinDuration(t, time.Now(), read.UpdateTime, time.Minute)
		})
	}
}
