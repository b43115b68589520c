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
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
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

func TestAnAPIThatHangsUpOnThoseWhoConnectIsDraining(t *testing.T) {
	t.Parallel()
	api := httptest.NewUnstartedServer(http.HandlerFunc(readyAPI))
	gate := &fickle{Listener: api.Listener}
	api.Listener = gate
	api.Start()
	defer api.Close()
	l := startLine(t, apart(t, gate.Addr().String()))
	l.comes("a", "ready", "200")
	gate.hangsUp.Store(true)
	l.comes("a", "draining", "the API hangs up on those who connect while the page still answers: the server is ending")
	gate.hangsUp.Store(false)
	l.comes("a", "ready", "200")
}

func TestAnAPIThatIsNoLongerLiveIsDraining(t *testing.T) {
	t.Parallel()
	api := newStage(t)
	api.enter(nil, readyAPI)
	l := startLine(t, staged("p", "a="+newStage(t).address()+"|"+api.address()))
	l.comes("a", "ready", "200")
	api.enter(nil, status(http.StatusBadRequest))
	l.comes("a", "draining", "the server is ending")
}

func TestAnAPIThatNoLongerListensIsDrainingThoughItAnswersOldConnections(t *testing.T) {
	t.Parallel()
	api := newStage(t)
	api.enter(nil, readyAPI)
	l := startLine(t, apart(t, api.address()))
	l.comes("a", "ready", "200")
	require.NoError(t, api.Listener.Close())
	l.comes("a", "draining", "the server is ending")
}

// justBefore sleeps until a moment before the next scrape of the only target,
// in a bubble of synctest.
func justBefore(t *testing.T, p *puppet, interval time.Duration) {
	t.Helper()
	at := p.times("http://10.0.0.1:1/metrics")
	require.NotEmpty(t, at)
	time.Sleep(time.Until(at[len(at)-1].Add(interval)) - time.Millisecond)
}

func TestAServerWhosePortsBothBeginToRefuseIsDownAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		// api is what the API does when the page refuses.
		api    func(ctx context.Context, u *url.URL) (int, string, error)
		state  string
		within time.Duration
	}{
		{"both refuse", func(context.Context, *url.URL) (int, string, error) { return 0, "", errRefused }, "down", 0},
		{"the API goes on", tritonAPI, "blind", 0},
		{"the API hangs", func(ctx context.Context, _ *url.URL) (int, string, error) {
			<-ctx.Done()
			return 0, "", ctx.Err()
		}, "blind", time.Second},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				p := &puppet{
					page: func(string) (string, error) {
						if ended.Load() {
							return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
						}
						return tritonPage, nil
					},
					api: func(ctx context.Context, u *url.URL) (int, string, error) {
						if ended.Load() {
							return c.api(ctx, u)
						}
						return tritonAPI(ctx, u)
					},
				}
				l := led(t, p, everySeconds("p", 10, "a=10.0.0.1:1|10.0.0.1:2"))
				time.Sleep(45*time.Second + 50*time.Millisecond) // Between two slots.
				require.Equal(t, "ready", l.only().State)

				justBefore(t, p, 10*time.Second)
				before := p.count("/v2/health/ready")
				ended.Store(true)
				time.Sleep(2*time.Millisecond + c.within)
				synctest.Wait()
				require.Equal(t, "down", string(l.only().Health))
				require.Equal(t, c.state, l.only().State, l.only().StateReason)
				require.Equal(t, before+1, p.count("/v2/health/ready"), "asked once more, at once")

				scrapes := len(p.times("http://10.0.0.1:1/metrics"))
				time.Sleep(100 * time.Second)
				synctest.Wait()
				require.Len(t, p.times("http://10.0.0.1:1/metrics"), scrapes+10, "the page is asked for as ever")
				require.InDelta(t, before+11, p.count("/v2/health/ready"), 1, "and its health once an interval")
			})
		})
	}
}

func TestAConfigThatHangsCostsNeitherVersionsNorHealth(t *testing.T) {
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
			require.Len(t, target.ListOf(l.only().Checks, assess.Unanswered), 1, "what does not answer is reported all the while")
		}
		require.InDelta(t, 21, p.count("/v2/health/ready"), 2, "health is asked for once an interval")
		require.Equal(t, "ready", l.only().State)
	})
}
