package snapshot

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns how long the machine was suspended since boot, in whole seconds. Go's
// monotonic clock (CLOCK_MONOTONIC) does not count that time.
func suspended() time.Duration {
	var monotonic, boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil ||
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - monotonic.Nano()).Truncate(time.Second)
}
