package simulate

import "time"

// Costly returns a scenario of a machine that needs a time for each second of a replica.
func Costly(seconds int, needs time.Duration) Scenario {
	return Scenario{{0, func(*Replica) { time.Sleep(needs) }}}.Repeat(seconds, time.Second)
}
