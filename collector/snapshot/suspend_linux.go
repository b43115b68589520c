package snapshot

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns how long the machine was suspended since boot, in whole seconds. Go's
// monotonic clock (CLOCK_MONOTONIC) does not count that time.
func suspended() time.Duration {
	return suspendedBy(func(clock int32) int64 {
		var now unix.Timespec
		if unix.ClockGettime(clock, &now) != nil {
			return 0
		}
		return now.Nano()
	})
}

// suspendedBy compares two clocks, which cannot be read at once: a thread that has to wait for a processor
// in between would see a machine that was suspended. So they are read again then.
func suspendedBy(read func(clock int32) int64) (least time.Duration) {
	const tries, prompt = 5, int64(10 * time.Millisecond)
	for i := range tries {
		before := read(unix.CLOCK_MONOTONIC)
		difference := time.Duration(read(unix.CLOCK_BOOTTIME) - before)
		if i == 0 || difference < least {
			least = difference
		}
		if read(unix.CLOCK_MONOTONIC)-before < prompt {
			break
		}
	}
	return least.Truncate(time.Second)
}
