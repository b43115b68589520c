package collector_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// footprint holds the resources of an idle process.
type footprint struct {
	goroutines, files int
	heap              uint64
}

// settle waits until the process uses no more than before, and returns what it uses.
func settle(before *footprint) (now footprint) {
	for end := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now = footprint{goroutines: runtime.NumGoroutine(), heap: m.HeapInuse}
		if files, err := os.ReadDir("/proc/self/fd"); err == nil {
			now.files = len(files)
		}
		if before == nil || time.Now().After(end) ||
			now.goroutines <= before.goroutines && now.files <= before.files && now.heap <= before.heap {
			return now
		}
	}
}

// Nothing else runs meanwhile: the test is not parallel.
func TestFaultsLeakNothing(t *testing.T) { //nolint:paralleltest // It measures the process.
	faults := []simulate.Fault{
		simulate.FaultHang, simulate.FaultHangBody, simulate.FaultTrickle, simulate.FaultReset, simulate.FaultResetBody,
		simulate.FaultTruncated, simulate.FaultGzipBomb, simulate.FaultRedirect, simulate.FaultLongLine,
		simulate.FaultBinary,
	}
	var pools []config.Pool
	var servers []*fakeServer
	for range faults {
		s := newFakeServer(t)
		servers = append(servers, s)
		p := metricsPool("p"+s.address(), "r="+s.pageAndAPI())
		p.ScrapeInterval, p.ScrapeTimeout = model.Duration(100*time.Millisecond), model.Duration(2*time.Second)
		p.Limits.Page.Body = 1 << 20
		pools = append(pools, p)
	}
	tc := startCollector(t, pools...)
	allUp := func(page string) string {
		for i := range pools {
			if value(page, targetSeries("target_up", pools[i].PoolID, "r")) != 1 {
				return pools[i].PoolID
			}
		}
		return ""
	}
	round := func() {
		for i, fault := range faults {
			servers[i].setPage(faultyPage(fault))
		}
		tc.pollPage("Most fail", nil, func(page string) string {
			down := 0
			for i := range pools {
				if value(page, targetSeries("target_up", pools[i].PoolID, "r")) == 0 {
					down++
				}
			}
			if down < len(faults)/2 {
				return "target_up 0"
			}
			return ""
		})
		for i := range servers {
			servers[i].setPage(nil)
		}
		tc.pollPage("All are up", nil, allUp)
	}
	tc.pollPage("All are up", nil, allUp)
	round()
	// One scrape may be in progress, for which server and client have two connections, two files
	// and three goroutines each.
	before := settle(nil)
	before.goroutines += 6 * len(pools)
	before.files += 4 * len(pools)
	before.heap += 8 << 20
	rounds := 1
	if everyFault() {
		rounds = 4
	}
	for range rounds {
		round()
	}
	after := settle(&before)
	require.LessOrEqual(t, after.goroutines, before.goroutines, "goroutines")
	require.LessOrEqual(t, after.files, before.files, "files")
	require.LessOrEqual(t, after.heap, before.heap, "heap")
	t.Logf(
		"%d faults, %d rounds: %d goroutines, %d files, %d KiB of heap", len(faults), 1+rounds, after.goroutines,
		after.files, after.heap>>10,
	)
}
