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

// serving is a lane to a server of its own.
func serving(t *testing.T, handle http.HandlerFunc) *Lane {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	l := New(Options{
		Address: netip.MustParseAddrPort(strings.TrimPrefix(s.URL, "http://")), Request: []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
		Keep: true, MostHead: 4 << 10, MostBody: 256 << 10, Connections: free{},
	})
	require.NotNil(t, l)
	t.Cleanup(l.Close)
	return l
}

// A batch sleeps between two looks, and an answer's time ends nevertheless when the
// answer came.
func TestAPauseMakesNoAnswerLonger(t *testing.T) {
	t.Parallel()
	var said atomic.Pointer[time.Time]
	l := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now()
		said.Store(&now)
		_, _ = w.Write([]byte(page))
	})
	// The system may take a moment until it notes anything.
	require.Eventually(t, func() bool {
		b := Batch{Patience: time.Minute}
		var got Answer
		before := time.Now()
		added := b.Add(l, func(a Answer, _ bool) { got = a })
		b.Run()
		if !added || got.Took == 0 {
			return false
		}
		require.False(t, got.Came.Before(*said.Load()), "not before it was sent")
		require.LessOrEqual(t, got.Took, got.Came.Sub(before))
		return got.Came.Before(said.Load().Add(pause / 2))
	}, time.Minute, time.Millisecond)
}

func TestHowLongAnAnswerTook(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		says string
		// came and seen are when it did by the clock on the wall, since it was asked
		// for, and most how long it took until it was seen.
		came, seen, most, took time.Duration
	}{
		{"as the system noted it", 3 * ms, 10 * ms, 10 * ms, 3 * ms},
		{"no time", 0, 10 * ms, 10 * ms, 0},
		{"until it was seen, where nothing was noted", -time.Hour, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen, where it was noted before it was asked for", -ms, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen at most", 11 * ms, 10 * ms, 10 * ms, 10 * ms},
		{"until it was seen, when the clock was set", 3 * ms, 15 * ms, 10 * ms, 10 * ms},
		{"until it was seen, when the clock was set back", 3 * ms, 5 * ms, 10 * ms, 10 * ms},
		{"as it was noted, when the clock runs a little fast", 3 * ms, 10*ms + ms/2, 10 * ms, 3 * ms},
	} {
		begun := int64(time.Hour)
		require.Equal(t, c.took, tookOf(c.most, begun, begun+int64(c.came), begun+int64(c.seen)), c.says)
	}
}

// A slot of the clock costs no memory once there was one, however many it asks.
func TestABatchNeedsNoMemoryOfItsOwn(t *testing.T) {
	var lanes []*Lane
	for range 20 {
		lanes = append(lanes, serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	}
	b := Batch{Patience: time.Minute}
	came := 0
	done := func(_ Answer, ok bool) {
		if ok {
			came++
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
	require.Equal(t, 2*len(lanes), came)
	require.Len(t, b.buffers, buffers)
	require.Less(t, buffers, len(lanes))
}
