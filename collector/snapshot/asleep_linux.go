package snapshot

import (
	"time"

	"golang.org/x/sys/unix"
)

// machineAsleep is how long the machine slept since it was started, in whole
// seconds: the monotonic clock of Go (runtime, CLOCK_MONOTONIC) does not count
// that time, in which servers elsewhere go on.
func machineAsleep() time.Duration {
	var awake, all unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil {
		return 0
	}
	return time.Duration(all.Nano() - awake.Nano()).Truncate(time.Second)
}
