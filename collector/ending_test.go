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

// only is the status of the line's only target.
func (l *line) only() target.Status {
	l.t.Helper()
	slots := l.store.Slots()
	if len(slots) == 0 {
		return target.Status{} // It is not discovered yet.
	}
	require.Len(l.t, slots, 1)
	return slots[0].Status()
}

// fickle listens and, once it has to, closes who connects.
type fickle struct {
	net.Listener

	hangsUp atomic.Bool
}

// Accept implements net.Listener.
func (f *fickle) Accept() (net.Conn, error) {
	for {
		conn, err := f.Listener.Accept()
		if err != nil || !f.hangsUp.Load() {
			return conn, err
		}
		_ = conn.Close()
	}
}

// apart is a pool of one Triton whose API has a server of its own, so seldom
// asked that a connection of one round has ended before the next.
func apart(t *testing.T, apiAddress string) config.Pool {
	t.Helper()
	p := staged("p", "a="+newStage(t).address()+"|"+apiAddress)
	p.ScrapeInterval, p.IdentityInterval = model.Duration(400*time.Millisecond), model.Duration(400*time.Millisecond)
	return p
}

func TestAPIClosingConnectionsIsDraining(t *testing.T) {
	t.Parallel()
	api := httptest.NewUnstartedServer(http.HandlerFunc(readyAPI))
	gate := &fickle{Listener: api.Listener}
	api.Listener = gate
	api.Start()
	defer api.Close()
	l := startLine(t, apart(t, gate.Addr().String()))
	l.comes("a", "ready", "200")
	gate.hangsUp.Store(true)
	l.comes("a", "draining", "the API closes connections without an answer while the page still answers: the server is shutting down")
	gate.hangsUp.Store(false)
	l.comes("a", "ready", "200")
}

func TestAPINoLongerLiveIsDraining(t *testing.T) {
	t.Parallel()
	api := newStage(t)
	api.enter(nil, readyAPI)
	l := startLine(t, staged("p", "a="+newStage(t).address()+"|"+api.address()))
	l.comes("a", "ready", "200")
	api.enter(nil, status(http.StatusBadRequest))
	l.comes("a", "draining", "the server is shutting down")
}

func TestAPINoLongerListeningIsDraining(t *testing.T) {
	t.Parallel()
	api := newStage(t)
	api.enter(nil, readyAPI)
	l := startLine(t, apart(t, api.address()))
	l.comes("a", "ready", "200")
	require.NoError(t, api.Listener.Close())
	l.comes("a", "draining", "the server is shutting down")
}

func TestHangingModelConfigDoesNotDelayIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{api: func(ctx context.Context, u *url.URL) (int, string, error) {
			switch u.Path {
			case "/v2/repository/index":
				return 200, `[{"name":"ensemble","version":"1","state":"READY"},{"name":"tensorrt_llm","version":"1","state":"READY"}]`, nil
			case "/v2/models/ensemble/config":
				<-ctx.Done()
				return 0, "", ctx.Err()
			case "/v2/models/tensorrt_llm/config":
				return 200, `{"name":"tensorrt_llm","backend":"python","parameters":{"trtllm_version":{"string_value":"1.1.0"}}}`, nil
			}
			return tritonAPI(ctx, u)
		}}
		pool := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		pool.IdentityInterval = model.Duration(5 * time.Second)
		l := led(t, p, pool)
		first := func() string {
			for l.only().Scrapes == 0 {
				time.Sleep(time.Millisecond)
			}
			return l.page()
		}()
		requireText(t, first, `nv_inference_request_success{engine="triton",engine_version="2.51.0",model="tensorrt_llm",model_id="ensemble",pool_id="p",replica_id="a",trtllm_version="1.1.0",version="1"} 100`)
		requireText(t, first, `llm_server_model_info{backend="python"`)

		for range 20 {
			time.Sleep(5 * time.Second)
			page := l.page()
			requireNoText(t, page, `version="unknown"`)
			requireText(t, page, `engine_version="2.51.0"`)
			require.Len(t, target.FindChecks(l.only().Checks, assess.Unanswered), 1, "what does not answer is reported all the while")
		}
		require.InDelta(t, 21, p.count("/v2/health/ready"), 2, "health is asked for once an interval")
		require.Equal(t, "ready", l.only().State)
	})
}
