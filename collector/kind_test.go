package collector_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// A target that is down when the exporter starts is recognised when it comes,
// and one that another kind of server replaces is recognised again.
func TestAServerOfAnotherKindIsRecognised(t *testing.T) {
	t.Parallel()
	h, bystander := newStage(t), newStage(t)
	h.leave()
	l := startLine(t, pool("p", "r="+h.host()), staged("A00", "h="+bystander.host()))
	page := l.until("It is down", nil, func(page string) string {
		if value(page, reasoned("target_scrape_failures_total", "p", "reset", "r")) < 2 {
			return "two failures"
		}
		return ""
	})
	check := steady(t, "A00", rawLines(l.whole(1, "A00"), "A00"))
	requireSame(t, "", rawLines(page, "p"))
	recognised := func(engine, absent string) {
		l.until("It is recognised", check, func(page string) string {
			raw := rawLines(page, "p")
			if !strings.Contains(raw, `engine="`+engine+`"`) || strings.Contains(raw, `engine="`+absent+`"`) {
				return engine
			}
			return ""
		})
	}
	down := func() {
		l.until("It is down", check, func(page string) string {
			if value(page, own("target_up", "p", "r")) != 0 {
				return "target_up 0"
			}
			return ""
		})
	}
	h.triton()
	recognised("triton", "trtllm-serve")
	h.leave()
	down()
	h.serve()
	recognised("trtllm-serve", "triton")
	// The version is the new server's, nothing of the old one's stays.
	l.eventually(`engine_version="1.1.0",model_id="llama",model_name="llama",pool_id="p"`)
	h.leave()
	down()
	h.triton()
	recognised("triton", "trtllm-serve")
	requireNoText(t, rawLines(l.page(), "p"), `engine_version="1.1.0"`)
}

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
