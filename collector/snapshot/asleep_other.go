//go:build !linux

package snapshot

import "time"

// machineAsleep is how long the machine slept since it was started; 0 where that
// cannot be asked for.
func machineAsleep() time.Duration { return 0 }
