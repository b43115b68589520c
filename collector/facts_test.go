package collector_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// busyReplica returns a simulated server with open ports that has worked for a while.
func busyReplica(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	spec.Seed = 3
	spec.Workload = simulate.Workload{Rate: 5, OutputTokens: 20}
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	r.Advance(30 * time.Second)
	require.NoError(t, r.Listen(t.Context()))
	t.Cleanup(r.Close)
	return r
}

// proxyAPI forwards to a server's API the requests that answer does not handle.
func proxyAPI(t *testing.T, r *simulate.Replica, answer func(w http.ResponseWriter, req *http.Request) bool) string {
	t.Helper()
	u, err := url.Parse(r.APIURL())
	require.NoError(t, err)
	transport := &http.Transport{}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.Transport = transport
	proxy.ErrorLog = discardLog()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !answer(w, req) {
			proxy.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
	})
	return s.Listener.Addr().String()
}

func TestBadAPIAnswersNeverFailScrape(t *testing.T) {
	t.Parallel()
	r := busyReplica(t, simulate.Spec{Kind: simulate.KindTriton})
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	var models strings.Builder
	models.WriteString(`{"name":"tensorrt_llm","version":"1","state":"READY"},`)
	for i := range 10000 {
		fmt.Fprintf(&models, `{"name":"model%d","version":"1","state":"READY"},`, i)
	}
	for name, c := range map[string]struct {
		path    string
		answer  http.HandlerFunc
		version string
		reason  string
	}{
		"HTML for everything": {"/", text("<!DOCTYPE html><html></html>"), "unknown", "not JSON"},
		"everything is restricted": {"/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"This API is restricted, expecting header 'key'"}`, http.StatusForbidden)
		}, "unknown", "http_headers"},
		"invalid JSON": {"/v2", text(`{"name":`), "unknown", "not JSON"},
		"wrong types":  {"/v2", text(`{"name":1,"version":[],"extensions":"statistics"}`), "unknown", ""},
		"an index of 10 MB": {
			"/v2/repository/index",
			text(`["` + strings.Repeat("x", 10<<20) + `"]`),
			"2.64.0", "too",
		},
		"an index of 10000 models": {
			"/v2/repository/index",
			text("[" + strings.TrimSuffix(models.String(), ",") + "]"),
			"2.64.0", "",
		},
		"a broken connection": {
			"/v2",
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"unknown", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := proxyAPI(t, r, func(w http.ResponseWriter, req *http.Request) bool {
				hit := c.path == "/" || c.path == req.URL.Path
				if hit {
					c.answer(w, req)
				}
				return hit
			})
			p := pool("p", "r0="+r.MetricsAddr()+"|"+api)
			status, page := scrapedOnce(t, p)
			require.Equal(t, "up", string(status.Health), status.LastError)
			require.Equal(t, "ready", status.State, status.StateReason)
			require.Equal(t, c.version, status.EngineVersion)
			requireText(t, page, "nv_inference_request_success{")
			requireText(t, page, "llm_server_queue_depth{")
			require.LessOrEqual(t, strings.Count(page, "llm_server_model_info{"), 256)
			if c.reason != "" {
				unanswered := target.FindChecks(status.Checks, assess.Unanswered)
				require.NotEmpty(t, unanswered)
				require.Contains(t, unanswered[0].Reason, c.reason)
			}
		})
	}
}

func TestHangingAPINeverFailsScrape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := simulate.NewReplica(simulate.Spec{
			Kind:     simulate.KindTriton,
			Workload: simulate.Workload{Rate: 5, OutputTokens: 20},
		})
		require.NoError(t, err)
		r.Advance(30 * time.Second)
		s := simulated(map[string]*simulate.Replica{"10.0.0.1:8000": r})
		s.answer = func(_ http.ResponseWriter, req *http.Request) bool {
			<-req.Context().Done()
			return true
		}
		p := pool("p", "r0=10.0.0.1:8000|10.0.0.1:8000")
		p.ScrapeTimeout = model.Duration(4 * time.Second) // What hangs takes all of it.
		status, page := scrapedOnceBy(t, s, p)
		require.Equal(t, target.HealthUp, status.Health, status.LastError)
		require.Equal(t, "ready", status.State, status.StateReason)
		require.Equal(t, "unknown", status.EngineVersion)
		requireText(t, page, "nv_inference_request_success{")
		requireText(t, page, "llm_server_queue_depth{")
	})
}

func TestWorkerRanksWithoutPortAreSilent(t *testing.T) {
	t.Parallel()
	r := busyReplica(t, simulate.Spec{Kind: simulate.KindTriton})
	p := pool("p", "leader="+r.MetricsAddr()+"|"+r.APIAddr())
	p.Discovery.StaticConfigs = append(p.Discovery.StaticConfigs, &targetgroup.Group{
		Source:  "silent",
		Targets: []model.LabelSet{{model.AddressLabel: "127.0.0.1:1"}},
		Labels:  model.LabelSet{"replica_id": "follower", collector.SilentLabel: "true"},
	})
	all := pool("followers", "f0=127.0.0.1:1")
	all.Silent = true
	tc := startCollector(t, p, all)
	page := tc.waitForText(`trtllm_exporter_target_up{pool_id="p",replica_id="leader"} 1`)
	for pool, replica := range map[string]string{"p": "follower", "followers": "f0"} {
		requireNoText(
			t,
			page,
			fmt.Sprintf(
				`llm_server_state{engine="unknown",engine_version="unknown",pool_id=%q,replica_id=%q`,
				pool,
				replica,
			),
			"a rank that binds no port serves for nobody",
		)
		require.Equal(t, "silent", tc.status(replica).State)
	}
	requireNoText(t, page, `trtllm_exporter_target_up{pool_id="p",replica_id="follower"}`)
	requireNoText(t, page, `trtllm_exporter_target_scrapes_total{pool_id="followers"`)
	require.True(t, tc.Ready(), "the exporter is ready")
	for _, slot := range tc.store.Slots() {
		if slot.Target().Silent {
			require.Contains(t, slot.Status().StateReason, "binds no port")
			require.Zero(t, slot.Status().Scrapes)
		}
	}
	status, _ := scrapedOnce(t, all)
	require.Equal(t, "silent", status.State)
}

func TestVersionFromEngineDir(t *testing.T) {
	t.Parallel()
	r := busyReplica(t, simulate.Spec{Kind: simulate.KindTriton})
	scraped := func(t *testing.T, dir string) (target.Status, string) {
		t.Helper()
		p := pool("p", "r0="+r.MetricsAddr()+"|"+r.APIAddr())
		p.EngineDir = dir
		return scrapedOnce(t, p)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a version":           {`{"version":"0.17.0.post1","pretrained_config":{}}`, "0.17.0.post1"},
		"an engine of before": {`{"builder_config":{}}`, ""},
		"not JSON":            {`version: 1`, ""},
		"a wrong type":        {`{"version":1}`, ""},
		"control characters":  {`{"version":"1\n2"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.text), 0o600))
			status, page := scraped(t, dir)
			require.Equal(t, "up", string(status.Health))
			require.Equal(t, c.want, status.EngineBuildVersion)
			line := `llm_server_engine_build_info{engine="triton",engine_version="2.64.0",pool_id="p",replica_id="r0",trtllm_version="1.1.0",version="` + c.want + `"} 1`
			require.Equal(t, c.want != "", strings.Contains(page, line), nearestLines(page, line))
			require.Equal(t, c.want != "", strings.Contains(page, "llm_server_engine_build_info{"))
		})
	}
	status, _ := scraped(t, t.TempDir())
	require.Empty(t, status.EngineBuildVersion)
	require.Equal(t, "up", string(status.Health))
}
