package collector_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATargetOverIPv6IsScrapedWithItsParameters(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	var asked atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/metrics":
			if req.URL.RawQuery != "" {
				asked.Store(req.Host + req.URL.RequestURI())
			}
			body(tritonPage)(w, req)
		case "/v2":
			typed("application/json", `{"name":"triton","version":"2.60.0","extensions":["statistics"]}`)(w, req)
		default:
			http.NotFound(w, req)
		}
	}))
	s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	address := listener.Addr().String()
	p := pool("v6", "r="+address+"|"+address)
	p.Discovery.StaticConfigs[0].Labels["__param_x"] = "a/b"
	l := startLine(t, p)
	l.eventually(own("target_up", "v6", "r")+" 1", `nv_inference_count{engine="triton",engine_version="2.60.0"`)
	require.Equal(t, address+"/metrics?x=a%2Fb", asked.Load())
}
