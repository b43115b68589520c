//go:build linux

package scrape_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// A batch rests between two looks, and an answer's time ends nevertheless when the
// answer came.
func TestARestMakesNoAnswerLonger(t *testing.T) {
	t.Parallel()
	var said [2]atomic.Pointer[time.Time]
	note := func(i int) { now := time.Now(); said[i].Store(&now) }
	server := serve(t, nil, func(p *peer) {
		for p.request() != nil {
			note(0)
			p.say(answer("200 OK", "", page))
			note(1)
		}
	})
	l := paged(t, newClient(t), server.url, 5*time.Second)
	asks := func() (got scrape.Page, before time.Time) {
		var b scrape.Batch
		done, before := make(chan scrape.Page, 1), time.Now()
		require.True(t, b.Ask(t.Context(), l, func() []byte { return nil }, func(p scrape.Page, ok bool) {
			require.True(t, ok)
			done <- p
		}))
		b.Run()
		return <-done, before
	}
	// The system may take a moment until it notes anything.
	require.Eventually(t, func() bool {
		got, before := asks()
		require.Eventually(t, func() bool { return said[1].Load() != nil }, ample, time.Millisecond)
		require.False(t, got.Came.Before(*said[0].Load()), "not before it was sent")
		require.Positive(t, got.Duration)
		require.LessOrEqual(t, got.Duration, got.Came.Sub(before))
		return !got.Came.After(said[1].Swap(nil).Add(time.Millisecond))
	}, ample, time.Millisecond)
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
		require.Equal(t, c.took, scrape.TookOf(c.most, begun, begun+int64(c.came), begun+int64(c.seen)), c.says)
	}
}

// A machine that had too much to do for a moment has its lanes back soon; a server
// that is slow is asked over its lane ever more rarely.
func TestALaneRestsAfterLateAnswersAndShortlyAtFirst(t *testing.T) {
	t.Parallel()
	server := serve(t, nil, replies(answer("200 OK", "", page)))
	l := paged(t, newClient(t), server.url, ample)
	for _, rest := range []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		require.Zero(t, scrape.Late(l))
		require.Zero(t, scrape.Late(l))
		require.InDelta(t, float64(rest), scrape.Late(l).Seconds(), 1)
	}
	got, rode := ride(t.Context(), l)
	require.True(t, rode && got.ok)
	require.Zero(t, scrape.Late(l))
	require.Zero(t, scrape.Late(l))
	require.InDelta(t, 2, scrape.Late(l).Seconds(), 1, "an answer in time ends that")
}

// A slot of the clock costs no memory once there was one, however many it asks.
func TestABatchNeedsNoMemoryOfItsOwn(t *testing.T) {
	url := canned(t, answer("200 OK", "Content-Type: text/plain\r\n", page))
	client := newClient(t)
	var lanes []*scrape.Lane
	for range 20 {
		lanes = append(lanes, paged(t, client, url, ample))
	}
	var b scrape.Batch
	memory, came := make([]byte, 0, 16<<10), 0
	room, done := func() []byte { return memory }, func(_ scrape.Page, ok bool) {
		if ok {
			came++
		}
	}
	slot := func() {
		for i, l := range lanes {
			if i%2 == 0 {
				b.Ask(t.Context(), l, room, done)
			} else {
				b.Ask(t.Context(), l, nil, done)
			}
		}
		b.Run()
	}
	slot()
	require.Len(t, lanes, came)
	require.Less(t, testing.AllocsPerRun(5, slot), float64(len(lanes))/2, "not for each question")
	require.Equal(t, 7*len(lanes), came)
}
