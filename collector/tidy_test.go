package collector

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsGivenBackOnceAFleetHasCalmedDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int64
		given := tidy{free: func() { freed.Add(1) }}
		given.stop() // Nothing was asked for.
		after := func(d time.Duration) int64 {
			time.Sleep(d)
			synctest.Wait()
			return freed.Load()
		}
		for range 10 {
			given.later()
			require.Zero(t, after(tidyAfter-time.Second), "the fleet still changes")
		}
		require.EqualValues(t, 1, after(time.Second))
		require.EqualValues(t, 1, after(time.Hour), "once is enough")
		given.later()
		require.EqualValues(t, 2, after(tidyAfter))
		given.later()
		given.stop()
		require.EqualValues(t, 2, after(time.Hour))
	})
}
