package snapshot

import (
	"sync"
	"time"
)

// noticed is how much of the time that a machine slept may go unseen.
const noticed = 10 * time.Millisecond

// sleepClock knows how long the machine slept. It asks the system only when the clock
// on the wall is ahead of the monotonic one by more, or less, than when it asked last:
// a machine that wakes up moves the one by the time that the other does not count,
// and each page is timed with it. Safe for concurrent use.
type sleepClock struct {
	origin time.Time
	ask    func() time.Duration

	mu           sync.Mutex
	asked        bool
	ahead, slept time.Duration
}

// newSleepClock is the one that this runs on.
func newSleepClock() *sleepClock { return &sleepClock{origin: time.Now(), ask: machineAsleep} }

// asleep is how long the machine slept since it was started.
func (m *sleepClock) asleep() time.Duration {
	now := time.Now()
	return m.when(time.Duration(now.UnixNano()-m.origin.UnixNano()) - now.Sub(m.origin))
}

// when is that, given how far the clock on the wall is ahead.
func (m *sleepClock) when(ahead time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked || (ahead-m.ahead).Abs() > noticed {
		m.asked, m.ahead, m.slept = true, ahead, m.ask()
	}
	return m.slept
}
