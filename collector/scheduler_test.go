package collector

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// recorder records when a task was started, since the start of the bubble, and how many
// intervals each start had missed.
type recorder struct {
	mu     sync.Mutex
	origin time.Time
	times  []time.Duration
	missed []uint64
}

// due records a start.
func (b *recorder) due(missed uint64, _ *lane.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times, b.missed = append(b.times, time.Since(b.origin)), append(b.missed, missed)
}

// count returns the number of starts.
func (b *recorder) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.times)
}

// runScheduler returns a scheduler that runs until the bubble ends.
func runScheduler(t *testing.T) *scheduler {
	t.Helper()
	c := newScheduler(time.Now())
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

// addTask adds work whose starts are recorded.
func addTask(c *scheduler, key string, every, soon time.Duration, b *recorder) *task {
	b.origin = time.Now()
	return c.add(key, every, soon, b.due)
}

func TestFirstScrapeIsSoonAndLaterOnesKeepOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every, soon = time.Minute, time.Second
		c := runScheduler(t)
		time.Sleep(17 * time.Second) // Phases follow the clock, whenever work is added.
		var b recorder
		addTask(c, "p/a", every, soon, &b)
		time.Sleep(10*time.Minute + every)
		synctest.Wait()
		require.Less(t, b.times[0], soon)
		phase := (17*time.Second + b.times[1]) % every
		require.Equal(t, slotStart(offset("p/a", every), every), phase)
		for i := 2; i < len(b.times); i++ {
			require.Equal(t, every, b.times[i]-b.times[i-1])
		}
		require.InDelta(t, 12, len(b.times), 1)
		require.Equal(t, make([]uint64, len(b.times)), b.missed)
	})
}

func TestEarlierWorkWakesScheduler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runScheduler(t)
		var late, early recorder
		addTask(c, "p/late", 24*time.Hour, 24*time.Hour, &late)
		synctest.Wait() // The clock waits for hours.
		addTask(c, "p/early", time.Second, time.Second, &early)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.InDelta(t, 10, early.count(), 1)
		require.Zero(t, late.count())
		time.Sleep(24 * time.Hour)
		require.NotZero(t, late.count())
	})
}

func TestRemovedWorkDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runScheduler(t)
		all := make([]recorder, 5)
		var tasks []*task
		for i := range all {
			tasks = append(tasks, addTask(c, "p/r"+string(rune('0'+i)), time.Second, time.Second, &all[i]))
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		c.remove(tasks[1])
		c.remove(tasks[3])
		c.remove(tasks[3]) // Twice is once.
		var before []int
		for i := range all {
			before = append(before, all[i].count())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i := range all {
			began := map[bool]int{true: 0, false: 10}[i == 1 || i == 3]
			require.Equal(t, before[i]+began, all[i].count(), "task %d", i)
		}
	})
}

func TestMissedIntervalsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newScheduler(time.Now())
		var b recorder
		addTask(c, "p/a", 10*time.Second, time.Second, &b)
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
		require.Len(t, b.times, 4, "missed intervals are not repeated")
	})
}
