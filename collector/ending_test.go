package collector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

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

// comes waits until the only target is in a state.
func (l *line) comes(state string) {
	l.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for l.only().State != state {
		require.True(l.t, time.Now().Before(deadline), "state %s never came: %+v", state, l.only())
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAnAPIThatNoLongerListensIsDrainingThoughItAnswersOldConnections(t *testing.T) {
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
	l.comes("ready")
	require.NoError(t, api.Listener.Close())
	l.comes("draining")
	require.Contains(t, l.only().StateReason, "the server is ending")
}
