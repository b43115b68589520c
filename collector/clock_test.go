package collector

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

func TestAnAlarmAdvances(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		says string
		// next is when the alarm was due, now when that was seen, after when it
		// is due then.
		begun            bool
		next, now, after time.Duration
		missed           uint64
	}{
		{"from its first moment to its phase", false, 1 * s, 1 * s, 3 * s, 0},
		{"from its first moment late, which misses nothing", false, 1 * s, 27 * s, 33 * s, 0},
		{"from a moment to the next", true, 13 * s, 13 * s, 23 * s, 0},
		{"a little late, without leaving its phase", true, 13 * s, 13*s + 9*s/10, 23 * s, 0},
		{"just before the next moment", true, 13 * s, 23*s - 1, 23 * s, 0},
		{"in the next moment, having missed one", true, 13 * s, 23 * s, 33 * s, 1},
		{"after a machine that slept, having missed all since", true, 13 * s, 13*s + 1000*s + 1, 1023 * s, 100},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			a := &alarm{every: 10 * s, phase: 3 * s, next: c.next, begun: c.begun}
			require.Equal(t, c.missed, a.advance(c.now))
			require.Equal(t, c.after, a.next)
			require.True(t, a.begun)
		})
	}
}

func TestOffsetsSpreadKeysOverAPeriod(t *testing.T) {
	t.Parallel()
	require.Zero(t, offset("p/a", 0))
	require.Zero(t, offset("p/a", -time.Second))
	parts := make(map[time.Duration]int)
	for i := range 1000 {
		at := offset("p/r"+string(rune(i)), 10*time.Second)
		require.GreaterOrEqual(t, at, time.Duration(0))
		require.Less(t, at, 10*time.Second)
		parts[at/time.Second]++
	}
	require.Len(t, parts, 10)
	for part, n := range parts {
		require.InDelta(t, 100, n, 50, "keys in second %d", part)
	}
}

// beats are the moments at which the work of an alarm was begun, since the
// bubble's beginning, and what each missed.
type beats struct {
	mu     sync.Mutex
	origin time.Time
	at     []time.Duration
	missed []uint64
}

// due notes one.
func (b *beats) due(missed uint64, _ *lane.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.missed = append(b.at, time.Since(b.origin)), append(b.missed, missed)
}

// count is how many there were.
func (b *beats) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.at)
}

// ticking is a clock that runs until the bubble ends.
func ticking(t *testing.T) *clock {
	t.Helper()
	c := newClock(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return c
}

// added has a clock begin work that is noted in beats.
func added(c *clock, key string, every, soon time.Duration, b *beats) *alarm {
	b.origin = time.Now()
	return c.add(key, every, soon, b.due)
}

func TestTheFirstMomentIsSoonAndTheOthersKeepTheirPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every, soon = time.Minute, time.Second
		c := ticking(t)
		time.Sleep(17 * time.Second) // Phases are those of the clock, whenever work is added.
		var b beats
		added(c, "p/a", every, soon, &b)
		time.Sleep(10*time.Minute + every)
		synctest.Wait()
		require.Less(t, b.at[0], soon)
		phase := (17*time.Second + b.at[1]) % every
		require.Equal(t, slotted(offset("p/a", every), every), phase)
		for i := 2; i < len(b.at); i++ {
			require.Equal(t, every, b.at[i]-b.at[i-1])
		}
		require.InDelta(t, 12, len(b.at), 1)
		require.Equal(t, make([]uint64, len(b.at)), b.missed)
	})
}

func TestTheFirstMomentIsWithinTheIntervalWhereThatIsShorter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := ticking(t)
		var b beats
		added(c, "p/a", 100*time.Millisecond, time.Hour, &b)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.NotZero(t, b.count())
	})
}

func TestWorkThatComesEarlierWakesTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := ticking(t)
		var late, early beats
		added(c, "p/late", 24*time.Hour, 24*time.Hour, &late)
		synctest.Wait() // The clock waits for hours.
		added(c, "p/early", time.Second, time.Second, &early)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.InDelta(t, 10, early.count(), 1)
		require.Zero(t, late.count())
		time.Sleep(24 * time.Hour)
		require.NotZero(t, late.count())
	})
}

func TestWorkThatIsTakenOutIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := ticking(t)
		all := make([]beats, 5)
		var alarms []*alarm
		for i := range all {
			alarms = append(alarms, added(c, "p/r"+string(rune('0'+i)), time.Second, time.Second, &all[i]))
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		c.remove(alarms[1])
		c.remove(alarms[3])
		c.remove(alarms[3]) // Twice is once.
		var before []int
		for i := range all {
			before = append(before, all[i].count())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i := range all {
			began := map[bool]int{true: 0, false: 10}[i == 1 || i == 3]
			require.Equal(t, before[i]+began, all[i].count(), "alarm %d", i)
		}
	})
}

func TestAClockWithNothingToDoWaitsForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now())
		wait, waits := c.tick()
		require.False(t, waits)
		require.Zero(t, wait)
		var b beats
		a := added(c, "p/a", time.Minute, time.Minute, &b)
		wait, waits = c.tick()
		require.True(t, waits)
		require.Equal(t, slotted(offset("p/a", time.Minute), time.Minute), wait)
		c.remove(a)
		_, waits = c.tick()
		require.False(t, waits)
		synctest.Wait()
		require.Zero(t, b.count())
	})
}

func TestMomentsThatPassWhileNobodyLooksAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now())
		var b beats
		added(c, "p/a", 10*time.Second, time.Second, &b)
		look := func(after time.Duration) {
			time.Sleep(after)
			c.tick()
			synctest.Wait()
		}
		look(time.Second)       // The first moment.
		look(10 * time.Second)  // The next one.
		look(100 * time.Second) // The machine slept.
		look(10 * time.Second)
		require.Equal(t, []uint64{0, 0, 9, 0}, b.missed)
		require.Len(t, b.at, 4, "what was missed is not made up for")
	})
}

func TestWorkThatTakesLongHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := ticking(t)
		var b beats
		c.add("p/slow", time.Second, 1, func(uint64, *lane.Batch) { <-t.Context().Done() })
		added(c, "p/a", time.Second, time.Second, &b)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.InDelta(t, 10, b.count(), 1)
	})
}

func TestAllThatIsDueInOneMomentIsBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := ticking(t)
		all := make([]beats, 100)
		for i := range all {
			added(c, "p/same", 10*time.Second, 10*time.Second, &all[i])
		}
		time.Sleep(35 * time.Second)
		synctest.Wait()
		first := all[0].at
		require.Len(t, first, 3)
		for i := range all {
			require.True(t, slices.Equal(first, all[i].at), "alarm %d", i)
		}
	})
}
