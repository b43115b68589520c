package collector_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
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

// TestServerDrainsWhoseAPIEnds has a Triton whose page, on another port, goes on.
func TestServerDrainsWhoseAPIEnds(t *testing.T) {
	t.Parallel()
	const anyReason = "while the page still answers: the server is shutting down"
	for name, c := range map[string]struct {
		end    func(api *fakeServer)
		reason string
	}{
		"it closes connections": {
			func(api *fakeServer) { api.setAnswers(nil, rawResponse("")) },
			"the API closes connections without an answer " + anyReason,
		},
		"it is no longer live": {
			func(api *fakeServer) { api.setAnswers(nil, status(http.StatusBadRequest)) },
			anyReason,
		},
		"nothing listens": {func(api *fakeServer) { _ = api.Listener.Close() }, anyReason},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newFakeServer(t)
			api.setAnswers(nil, readyAPI)
			p := metricsPool("p", "a="+newFakeServer(t).address()+"|"+api.address())
			// Idle connections are closed in between.
			p.ScrapeInterval = model.Duration(400 * time.Millisecond)
			p.IdentityInterval = p.ScrapeInterval
			tc := startCollector(t, p)
			tc.waitForState("a", "ready", "200")
			c.end(api)
			tc.waitForState("a", "draining", c.reason)
		})
	}
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
