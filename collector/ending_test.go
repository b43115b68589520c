package collector_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// onlyStatus returns the status of the only target.
func (tc *testCollector) onlyStatus() target.Status {
	tc.t.Helper()
	slots := tc.store.Slots()
	if len(slots) == 0 {
		return target.Status{} // It is not discovered yet.
	}
	require.Len(tc.t, slots, 1)
	return slots[0].Status()
}

// closingListener closes new connections once closing is set.
type closingListener struct {
	net.Listener

	closing atomic.Bool
}

// Accept implements net.Listener.
func (f *closingListener) Accept() (net.Conn, error) {
	for {
		conn, err := f.Listener.Accept()
		if err != nil || !f.closing.Load() {
			return conn, err
		}
		_ = conn.Close()
	}
}

// poolWithSeparateAPI returns a pool of one Triton whose API is another server, with an
// interval after which idle connections are closed.
func poolWithSeparateAPI(t *testing.T, apiAddress string) config.Pool {
	t.Helper()
	p := metricsPool("p", "a="+newFakeServer(t).address()+"|"+apiAddress)
	p.ScrapeInterval, p.IdentityInterval = model.Duration(400*time.Millisecond), model.Duration(400*time.Millisecond)
	return p
}

func TestAPIClosingConnectionsIsDraining(t *testing.T) {
	t.Parallel()
	api := httptest.NewUnstartedServer(http.HandlerFunc(readyAPI))
	listener := &closingListener{Listener: api.Listener}
	api.Listener = listener
	api.Start()
	defer api.Close()
	tc := startCollector(t, poolWithSeparateAPI(t, listener.Addr().String()))
	tc.waitForState("a", "ready", "200")
	listener.closing.Store(true)
	tc.waitForState(
		"a", "draining",
		"the API closes connections without an answer while the page still answers: the server is shutting down",
	)
	listener.closing.Store(false)
	tc.waitForState("a", "ready", "200")
}

func TestAPINoLongerLiveIsDraining(t *testing.T) {
	t.Parallel()
	api := newFakeServer(t)
	api.setAnswers(nil, readyAPI)
	tc := startCollector(t, metricsPool("p", "a="+newFakeServer(t).address()+"|"+api.address()))
	tc.waitForState("a", "ready", "200")
	api.setAnswers(nil, status(http.StatusBadRequest))
	tc.waitForState("a", "draining", "the server is shutting down")
}

func TestAPINoLongerListeningIsDraining(t *testing.T) {
	t.Parallel()
	api := newFakeServer(t)
	api.setAnswers(nil, readyAPI)
	tc := startCollector(t, poolWithSeparateAPI(t, api.address()))
	tc.waitForState("a", "ready", "200")
	require.NoError(t, api.Listener.Close())
	tc.waitForState("a", "draining", "the server is shutting down")
}

func TestHangingModelConfigDoesNotDelayIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &fakeScraper{api: func(ctx context.Context, u *url.URL) (int, string, error) {
			switch u.Path {
			case "/v2/repository/index":
				return 200,
					`[{"name":"ensemble","version":"1","state":"READY"},{"name":"tensorrt_llm",` +
						`"version":"1","state":"READY"}]`, nil
			case "/v2/models/ensemble/config":
				<-ctx.Done()
				return 0, "", ctx.Err()
			case "/v2/models/tensorrt_llm/config":
				return 200,
					`{"name":"tensorrt_llm","backend":"python",` +
						`"parameters":{"trtllm_version":{"string_value":"1.1.0"}}}`, nil
			}
			return tritonAPI(ctx, u)
		}}
		pool := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		pool.IdentityInterval = model.Duration(5 * time.Second)
		tc := startWithScraper(t, p, pool)
		first := func() string {
			for tc.onlyStatus().Scrapes == 0 {
				time.Sleep(time.Millisecond)
			}
			return tc.page()
		}()
		requireText(
			t, first,
			`nv_inference_request_success{engine="triton",engine_version="2.51.0",model="tensorrt_llm",`+
				`model_id="ensemble",pool_id="p",replica_id="a",trtllm_version="1.1.0",version="1"} 100`,
		)
		requireText(t, first, `llm_server_model_info{backend="python"`)

		for range 20 {
			time.Sleep(5 * time.Second)
			page := tc.page()
			requireNoText(t, page, `version="unknown"`)
			requireText(t, page, `engine_version="2.51.0"`)
			require.Len(
				t, target.FindChecks(tc.onlyStatus().Checks, assess.Unanswered), 1,
				"what does not answer is reported all the while",
			)
		}
		require.InDelta(t, 21, p.count("/v2/health/ready"), 2, "health is asked for once an interval")
		require.Equal(t, "ready", tc.onlyStatus().State)
	})
}
