package snapshot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheSystemIsAskedHowLongItSleptWhenTheClocksPart(t *testing.T) {
	t.Parallel()
	slept, asked := 7*time.Second, 0
	m := &sleepClock{origin: time.Now(), ask: func() time.Duration { asked++; return slept }}
	for _, c := range []struct {
		says               string
		ahead, slept, want time.Duration
		asks               bool
	}{
		{"the first time", 0, 7 * time.Second, 7 * time.Second, true},
		{"not while both clocks go on", 0, time.Hour, 7 * time.Second, false},
		{"nor for what reading them takes", 5 * time.Millisecond, time.Hour, 7 * time.Second, false},
		{"when it woke up", time.Minute, 67 * time.Second, 67 * time.Second, true},
		{"once", time.Minute, time.Hour, 67 * time.Second, false},
		{"a little", time.Minute + 6*time.Millisecond, 67 * time.Second, 67 * time.Second, false},
		{"and again", time.Minute + 12*time.Millisecond, 68 * time.Second, 68 * time.Second, true},
		{"when the clock on the wall was set back", -time.Hour, 68 * time.Second, 68 * time.Second, true},
	} {
		slept = c.slept
		before := asked
		require.Equal(t, c.want, m.when(c.ahead), c.says)
		require.Equal(t, c.asks, asked > before, c.says)
	}
}

func TestTheTimeThatAMachineSleptIsTheSystems(t *testing.T) {
	t.Parallel()
	m := newSleepClock()
	require.Equal(t, machineAsleep(), m.asleep())
	require.Equal(t, machineAsleep(), m.asleep())
}
