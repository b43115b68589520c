package collector_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// readyAPI is the HTTP API of a Triton that is ready.
func readyAPI(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/v2":
		_, _ = io.WriteString(w, `{"name":"triton","version":"2.51.0","extensions":["statistics"]}`)
	case "/v2/repository/index":
		_, _ = io.WriteString(w, `[{"name":"tensorrt_llm","version":"1","state":"READY"}]`)
	case "/v2/health/ready", "/v2/health/live":
	default:
		http.NotFound(w, req)
	}
}

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

// comes waits until the only target is in a state, for a reason with a text.
func (l *line) comes(state, reason string) {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	for s := l.only(); s.State != state || !strings.Contains(s.StateReason, reason); s = l.only() {
		require.True(l.t, time.Now().Before(deadline), "state %s (%s) never came: %s (%s)", state, reason, s.State, s.StateReason)
		l.wait(5 * time.Millisecond)
	}
}

// fickle listens and, once it is told so, closes who connects.
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

func TestAnAPIThatHangsUpOnThoseWhoConnectIsDraining(t *testing.T) {
	t.Parallel()
	page := newStage(t)
	api := httptest.NewUnstartedServer(http.HandlerFunc(readyAPI))
	gate := &fickle{Listener: api.Listener}
	api.Listener = gate
	api.Start()
	defer api.Close()
	of, err := url.Parse(api.URL)
	require.NoError(t, err)
	at, err := url.Parse(page.URL)
	require.NoError(t, err)
	p := staged("p", "a="+at.Host+"|"+of.Host)
	p.ScrapeInterval, p.IdentityInterval = model.Duration(400*time.Millisecond), model.Duration(400*time.Millisecond)
	l := startLine(t, p)
	l.comes("ready", "200")
	gate.hangsUp.Store(true)
	l.comes("draining", "the server is ending")
	require.Equal(t, "the API hangs up on those who connect while the page still answers: the server is ending", l.only().StateReason)
	gate.hangsUp.Store(false)
	l.comes("ready", "200")
}

func TestAnAPIThatIsNoLongerLiveIsDraining(t *testing.T) {
	t.Parallel()
	page := newStage(t)
	var ending atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if ending.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		readyAPI(w, req)
	}))
	defer api.Close()
	at, err := url.Parse(page.URL)
	require.NoError(t, err)
	of, err := url.Parse(api.URL)
	require.NoError(t, err)
	l := startLine(t, staged("p", "a="+at.Host+"|"+of.Host))
	l.comes("ready", "200")
	ending.Store(true)
	l.comes("draining", "the server is ending")
}

func TestAnAPIThatNoLongerListensIsDrainingThoughItAnswersOldConnections(t *testing.T) {
	t.Parallel()
	page := newStage(t)
	api := httptest.NewServer(http.HandlerFunc(readyAPI))
	defer api.Close()
	at, err := url.Parse(page.URL)
	require.NoError(t, err)
	of, err := url.Parse(api.URL)
	require.NoError(t, err)
	p := staged("p", "a="+at.Host+"|"+of.Host)
	// Long enough for the connection of a round to have ended before the next.
	p.ScrapeInterval, p.IdentityInterval = model.Duration(400*time.Millisecond), model.Duration(400*time.Millisecond)
	l := startLine(t, p)
	l.comes("ready", "200")
	require.NoError(t, api.Listener.Close())
	l.comes("draining", "the server is ending")
	require.Contains(t, l.only().StateReason, "the server is ending")
}

// api is a puppet whose API answers as a test tells it.
type api struct {
	*puppet

	do func(ctx context.Context, url string) (int, string, error)
	// asked counts the questions by path.
	mu    sync.Mutex
	asked map[string]int
}

// Do implements collector.Scraper.
func (a *api) Do(ctx context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, nil, err
	}
	a.mu.Lock()
	if a.asked == nil {
		a.asked = make(map[string]int)
	}
	a.asked[u.Path]++
	a.mu.Unlock()
	status, text, err := a.do(ctx, u.Path)
	return status, http.Header{}, []byte(text), err
}

// Pass implements collector.Scraper.
func (a *api) Pass(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return a.Do(ctx, method, address, body, limit)
}

// count is how often a path was asked for.
func (a *api) count(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[path]
}

// tritonAPI answers as a Triton that is ready.
func tritonAPI(path string) (int, string, error) {
	w := httptest.NewRecorder()
	readyAPI(w, &http.Request{URL: &url.URL{Path: path}})
	return w.Code, w.Body.String(), nil
}

// errRefused is what comes from a port where nothing listens.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

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
		api    func(ctx context.Context, path string) (int, string, error)
		state  string
		within time.Duration
	}{
		{"both refuse", func(context.Context, string) (int, string, error) { return 0, "", errRefused }, "down", 0},
		{"the API goes on", func(_ context.Context, path string) (int, string, error) { return tritonAPI(path) }, "blind", 0},
		{"the API hangs", func(ctx context.Context, _ string) (int, string, error) {
			<-ctx.Done()
			return 0, "", ctx.Err()
		}, "blind", time.Second},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				p := &api{puppet: &puppet{page: func(string) (string, error) {
					if ended.Load() {
						return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
					}
					return tritonPage, nil
				}}}
				p.do = func(ctx context.Context, path string) (int, string, error) {
					if ended.Load() {
						return c.api(ctx, path)
					}
					return tritonAPI(path)
				}
				l := newLine(t)
				l.UseScraper(p)
				l.apply(everySeconds("p", 10, "a=10.0.0.1:1|10.0.0.1:2"))
				l.start()
				time.Sleep(45 * time.Second)
				require.Equal(t, "ready", l.only().State)

				justBefore(t, p.puppet, 10*time.Second)
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
		p := &api{puppet: &puppet{}}
		p.do = func(ctx context.Context, path string) (int, string, error) {
			switch path {
			case "/v2/repository/index":
				return 200, `[{"name":"ensemble","version":"1","state":"READY"},{"name":"tensorrt_llm","version":"1","state":"READY"}]`, nil
			case "/v2/models/ensemble/config":
				<-ctx.Done()
				return 0, "", ctx.Err()
			case "/v2/models/tensorrt_llm/config":
				return 200, `{"name":"tensorrt_llm","backend":"python","parameters":{"trtllm_version":{"string_value":"1.1.0"}}}`, nil
			}
			return tritonAPI(path)
		}
		l := newLine(t)
		l.UseScraper(p)
		pool := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		pool.IdentityInterval = model.Duration(5 * time.Second)
		l.apply(pool)
		l.start()
		first := func() string {
			for l.only().Scrapes == 0 {
				time.Sleep(time.Millisecond)
			}
			return l.page()
		}()
		require.Contains(t, first, `nv_inference_request_success{engine="triton",engine_version="2.51.0",model="tensorrt_llm",model_id="ensemble",pool_id="p",replica_id="a",trtllm_version="1.1.0",version="1"} 100`)
		require.Contains(t, first, `llm_server_model_info{backend="python"`)

		for range 20 {
			time.Sleep(5 * time.Second)
			page := l.page()
			require.NotContains(t, page, `"unknown"`)
			require.Contains(t, page, `engine_version="2.51.0"`)
			require.Len(t, target.ListOf(l.only().Checks, assess.Unanswered), 1, "what does not answer is told all the while")
		}
		require.InDelta(t, 21, p.count("/v2/health/ready"), 2, "health is asked for once an interval")
		require.Equal(t, "ready", l.only().State)
	})
}
