package collector_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// connectionKey is the key of the number of a connection in the context of its requests.
type connectionKey struct{}

// TestProcessesBehindOnePort uses processes whose counts of requests are 1000 apart. Each page
// counts one more.
func TestProcessesBehindOnePort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// process returns the process that answers the nth request of a connection.
		process func(connection, request int64) int64
		// closes is true if the server closes each connection after a page.
		closes  bool
		several bool
	}{
		{"one", func(int64, int64) int64 { return 0 }, false, false},
		{"one that closes connections", func(int64, int64) int64 { return 0 }, true, false},
		{"two, one for each connection", func(connection, _ int64) int64 { return connection % 2 }, false, true},
		{"two, one for each connection, closed", func(connection, _ int64) int64 { return connection % 2 }, true, true},
		{"eight, one for each connection", func(connection, _ int64) int64 { return connection % 8 }, false, true},
		{"three, one for each request", func(_, request int64) int64 { return request % 3 }, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var connections, requests atomic.Int64
			var order sync.Mutex // Pages leave in the order of their numbers.
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path != "/metrics" {
					readyAPI(w, req)
					return
				}
				connection, _ := req.Context().Value(connectionKey{}).(int64)
				order.Lock()
				defer order.Unlock()
				n := requests.Add(1)
				if c.closes {
					w.Header().Set("Connection", "close")
				}
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				_, _ = fmt.Fprintf(
					w, "nv_inference_request_success{model=\"tensorrt_llm\",version=\"1\"} %d\n",
					1000*(1+c.process(connection, n))+n,
				)
				_ = http.NewResponseController(w).Flush()
			}))
			s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
				return context.WithValue(ctx, connectionKey{}, connections.Add(1))
			}
			s.Start()
			t.Cleanup(s.Close)
			address := s.Listener.Addr().String()
			p := metricsPool("p", "r="+address+"|"+address)
			// A page over a new connection counts only if the next scrape has not begun when it comes.
			p.ScrapeInterval = model.Duration(time.Second / 2)
			if c.several {
				p.ScrapeInterval = model.Duration(3 * time.Second) // Also on a busy machine.
			}
			tc := startCollector(t, p)
			if !c.several {
				tc.waitForText("llm_server_requests_per_second{")
				tc.waitFor("twenty scrapes", pollInterval, func() (page, missing string) {
					page = tc.page()
					require.NotContains(t, page, "llm_server_processes{")
					if tc.status("r").Scrapes < 20 {
						missing = "more scrapes"
					}
					return page, missing
				})
				return
			}
			tc.waitForText("llm_server_processes{")
			for range 10 {
				page := tc.page()
				require.NotContains(t, page, "llm_server_requests_total{")
				require.NotContains(t, page, "llm_server_requests_per_second{")
				require.Equal(t, 1, strings.Count(page, "nv_inference_request_success{"))
				tc.wait(pollInterval)
			}
		})
	}
}
