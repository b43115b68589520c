//go:build linux

package lane

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving returns a lane to a new server.
func serving(t *testing.T, handle http.HandlerFunc) *Lane {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	l := New(Options{
		Address: netip.MustParseAddrPort(
			strings.TrimPrefix(s.URL, "http://"),
		), Request: []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
		KeepAlive: true, MaxHeader: 4 << 10, MaxBody: 256 << 10, Connections: free{},
	})
	require.NotNil(t, l)
	t.Cleanup(l.Close)
	return l
}

// A batch sleeps between two looks, which does not count in the duration of an answer.
func TestPauseDoesNotCountAsDuration(t *testing.T) {
	var lastRead atomic.Pointer[time.Time]
	l := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now()
		lastRead.Store(&now)
		_, _ = w.Write([]byte(page))
	})
	// The kernel may take a moment to enable timestamps.
	require.Eventually(t, func() bool {
		b := Batch{Timeout: time.Minute}
		var got Answer
		before := time.Now()
		added := b.Add(l, func(a Answer, _ bool) { got = a })
		b.Run()
		if !added || got.Duration == 0 {
			return false
		}
		require.False(t, got.Received.Before(*lastRead.Load()), "not before it was sent")
		require.LessOrEqual(t, got.Duration, got.Received.Sub(before))
		return got.Received.Before(lastRead.Load().Add(pause / 2))
	}, time.Minute, time.Millisecond)
}

func TestAnswerDuration(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		// received and read are wall clock times since the request, elapsed is the
		// monotonic time until the answer was read.
		received, read, elapsed, want time.Duration
	}{
		{"as the system noted it", 3 * ms, 10 * ms, 10 * ms, 3 * ms},
		{"no time", 0, 10 * ms, 10 * ms, 0},
		{"until it was seen, without a timestamp", -time.Hour, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen, with a timestamp before the request", -ms, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen at most", 11 * ms, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen, when the clock was set", 3 * ms, 15 * ms, 10 * ms, 10 * ms},
		{"until it was seen, when the clock was set back", 3 * ms, 5 * ms, 10 * ms, 10 * ms},
		{"as it was noted, when the clock runs a little fast", 3 * ms, 10*ms + ms/2, 10 * ms, 3 * ms},
	} {
		start := int64(time.Hour)
		require.Equal(t, c.want, durationOf(c.elapsed, start, start+int64(c.received), start+int64(c.read)), c.name)
	}
}

func TestAnswerShowsWhetherItsConnectionWasKept(t *testing.T) {
	l := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) })
	kept := func() bool {
		b := Batch{Timeout: time.Minute}
		var got Answer
		require.True(t, b.Add(l, func(a Answer, _ bool) { got = a }), "the batch takes the lane")
		b.Run()
		return got.Kept
	}
	require.False(t, kept(), "the first one")
	require.True(t, kept(), "the second one over the same connection")
	require.True(t, kept(), "the third one over the same connection")
	l.CloseIdle()
	require.False(t, kept(), "the idle connection was closed")
	require.True(t, kept(), "the next one over the new connection")
}

// A batch allocates nothing after its first run, for any number of requests.
func TestBatchReusesBuffers(t *testing.T) {
	var lanes []*Lane
	for range 20 {
		lanes = append(lanes, serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	}
	b := Batch{Timeout: time.Minute}
	answers := 0
	done := func(_ Answer, ok bool) {
		if ok {
			answers++
		}
	}
	slot := func() {
		for _, l := range lanes {
			b.Add(l, done)
		}
		b.Run()
	}
	slot()
	buffers := len(b.buffers)
	slot()
	require.Equal(t, 2*len(lanes), answers)
	require.Len(t, b.buffers, buffers)
	require.Less(t, buffers, len(lanes))
}
