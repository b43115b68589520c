package scrape_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// On a busy machine starts take long, and those that wait must not join them.
func TestNoStartHangsWhileOthersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, waiting = 4, 100
		starts := scrape.NewStarts(limit)
		var running, most, ended atomic.Int64
		start := func(takes time.Duration) {
			end := starts.Start(t.Context(), 5*time.Second)
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(takes)
			running.Add(-1)
			ended.Add(1)
			end()
		}
		go start(10 * time.Second)
		for range waiting {
			go start(30 * time.Millisecond)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.EqualValues(t, waiting, ended.Load(), "one that takes longer does not delay the others")
		require.EqualValues(t, limit, most.Load(), "no more run at once than may")
		time.Sleep(time.Minute)
	})
}
