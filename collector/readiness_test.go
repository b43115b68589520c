package collector_test

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadinessIsWhatTheServerSaysNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int64
		p := &puppet{api: func(ctx context.Context, u *url.URL) (int, string, error) {
			if u.Path == "/v2/health/ready" && status.Load() != 0 {
				return int(status.Load()), "", nil
			}
			return tritonAPI(ctx, u)
		}}
		l := led(t, p, everySeconds("p", 60, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(70 * time.Second)
		synctest.Wait()
		before := len(p.times("http://10.0.0.1:1/metrics"))

		ready, known := l.Readiness(t.Context(), "p/a")
		require.True(t, ready && known)
		status.Store(http.StatusBadRequest)
		ready, known = l.Readiness(t.Context(), "p/a")
		require.True(t, known)
		require.False(t, ready)
		_, known = l.Readiness(t.Context(), "p/nobody")
		require.False(t, known)

		require.Len(t, p.times("http://10.0.0.1:1/metrics"), before, "no page is scraped for it")
	})
}
