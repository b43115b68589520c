package collector_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// The same file read again is the same configuration, whatever is in it.
func TestTheSameFileReadTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	services := newStage(t)
	services.enter(nil, status(http.StatusServiceUnavailable))
	file := `
pools:
  - pool_id: p
    metrics_path: /metrics
    basic_auth: {username: u, password: secret}
    proxy_from_environment: true
    http_headers: {X-A: {values: [b]}}
    model_ids: {llama: [ensemble]}
    relabel_configs: [{source_labels: [__address__], regex: "(.*):.*", target_label: host}]
    metric_relabel_configs: [{source_labels: [__name__], regex: "nv_x.*", action: drop}]
    static_configs: [{targets: ["` + s.address() + `"], labels: {replica_id: r}}]
    file_sd_configs: [{files: [/nowhere/*.json]}]
    http_sd_configs: [{url: "` + services.URL + `", refresh_interval: 1h}]
`
	l := newLine(t)
	read := func() {
		cfg := config.DefaultFile
		require.NoError(t, yaml.Unmarshal([]byte(file), &cfg))
		cfg.Resolve()
		require.NoError(t, cfg.Validate())
		cfg.Pools[0].ScrapeInterval = model.Duration(100 * time.Millisecond)
		require.NoError(t, l.ApplyConfig(&cfg))
	}
	read()
	l.start()
	l.eventually(own("target_up", "p", "r"))
	n := l.scrapes(nil, "p", "r", 0)
	for range 3 {
		read()
		n = l.scrapes(nil, "p", "r", n)
	}
}
