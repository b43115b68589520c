package snapshot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A thread may have to wait for a processor between two readings of clocks, here for three seconds.
func TestWaitForProcessorIsNoSuspension(t *testing.T) {
	const slept = 7 * time.Second
	for waits := range 6 { // Before which reading.
		now, n := time.Hour, 0
		got := suspendedBy(func(clock int32) int64 {
			if n == waits {
				now += 3 * time.Second
			}
			n++
			if clock == unix.CLOCK_BOOTTIME {
				return int64(now + slept)
			}
			return int64(now)
		})
		require.Equal(t, slept, got, "it waited before reading %d", waits)
	}
}
