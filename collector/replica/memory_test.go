package replica

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// names returns a valid page of n families.
func names(n int) string {
	var page strings.Builder
	for i := range n {
		fmt.Fprintf(&page, "nv_some_name_of_a_family_%d 1\n", i)
	}
	return page.String()
}

// A page is refused before it uses memory that is not available, other targets are not affected,
// and it is read after others have released memory.
func TestPageOverMemoryLimitIsRefused(t *testing.T) {
	before := debug.SetMemoryLimit(48 << 20)
	shared := scrape.NewResources()
	debug.SetMemoryLimit(before)
	synctest.Test(t, func(t *testing.T) {
		bounded := func(_ *target.Target, p *Pool) { p.Resources = shared }
		huge, large, small := tritonAnswers(), tritonAnswers(), tritonAnswers()
		huge.page += names(40_000)
		large.page += names(4_000)
		first := step(t, large, bounded)
		second := step(t, large, bounded)
		third := step(t, small, bounded)
		alone := step(t, huge, bounded)
		for _, r := range []*stepped{first, second, third, alone} {
			r.due()
			r.after(time.Second)
		}
		status := alone.slot.Status()
		require.Equal(t, "memory", status.LastReason, status.LastError)
		require.Contains(t, status.LastError, "it has 40001 series of 40001 names")
		require.Equal(t, target.HealthUp, first.slot.Status().Health, first.slot.Status().LastError)
		require.Equal(t, target.HealthDown, second.slot.Status().Health, "two of them are too much")
		require.Equal(t, target.HealthUp, third.slot.Status().Health)
		first.due()
		require.Equal(t, target.HealthUp, first.after(time.Second).Health, "who has room keeps it")
		first.change(func(now *answering) { now.page = small.page })
		first.due()
		second.due()
		require.Equal(t, target.HealthUp, second.after(time.Second).Health, "what another gave back")
		second.change(func(now *answering) { now.page = huge.page })
		second.due()
		require.Equal(t, "memory", second.after(time.Second).LastReason)
		second.cancel()
		second.Close()
		third.change(func(now *answering) { now.page = large.page })
		third.due()
		require.Equal(t, target.HealthUp, third.after(time.Second).Health, "one that ended has nothing")
	})
}
