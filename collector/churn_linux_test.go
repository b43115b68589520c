package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// churningPage answers with a valid page of 14 MB whose 45000 series are new each time.
func churningPage() http.HandlerFunc {
	var page strings.Builder
	padding := strings.Repeat("x", 240)
	for i := range 45_000 {
		fmt.Fprintf(
			&page, "nv_churn_%d{model=\"m%d\",request=\"@-%d\",padding=\"%s\"} %d\n", i%100, i%50, i, padding, i,
		)
	}
	var requests atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(
			w, strings.ReplaceAll(page.String(), "@", strconv.FormatInt(1_000_000+requests.Add(1), 10)),
		)
	}
}

// TestMemoryWithSixChurningPages measures a child process with a healthy target that must
// not be affected.
func TestMemoryWithSixChurningPages(t *testing.T) {
	// P07.
	if raceEnabled || !everyFault() {
		t.Skip("make faults runs it, without the race detector")
	}
	if address := os.Getenv(bombsAddressVariable); address != "" {
		scrapeChurn(t, address)
		return
	}
	s := newFakeServer(t)
	s.setPage(churningPage())
	peak := peakMemory(t, "TestMemoryWithSixChurningPages", s.address())
	t.Logf("peak RSS %d MB", peak/1_000_000)
	require.Less(t, peak, 192_000_000)
}

// scrapeChurn runs a collector until each page was read three times, and writes the
// merged page each second.
func scrapeChurn(t *testing.T, address string) {
	t.Helper()
	good := newFakeServer(t)
	var churns []string
	for i := range 6 {
		churns = append(churns, fmt.Sprintf("c%d=%s|%s", i, address, address))
	}
	p := apart(metricsPool("churn", churns...))
	p.ScrapeInterval, p.ScrapeTimeout = model.Duration(2*time.Second), model.Duration(30*time.Second)
	tc := startCollector(t, p, metricsPool("good", "g="+good.pageAndAPI()))
	var worst time.Duration
	var up, fails, size int64
	for began := time.Now(); ; {
		least := uint64(3)
		up, fails = 0, 0
		slots := tc.store.Slots()
		if len(slots) < 7 {
			least = 0
		}
		for _, slot := range slots {
			status := slot.Status()
			if slot.Target().PoolID == "good" {
				worst = max(worst, status.LastDuration)
				require.Zero(t, status.Failures, status.LastError)
				continue
			}
			if status.Health == target.HealthUp {
				up++
			}
			fails += int64(status.Failures)
			least = min(least, status.Scrapes)
		}
		size = pageSize(t, tc)
		if least >= 3 {
			break
		}
		require.Less(t, time.Since(began), 3*waitTimeout)
		time.Sleep(time.Second)
	}
	require.Positive(t, up, "huge pages take turns, and have them")
	fmt.Printf(
		"%d of 6 churning pages up, %d failures, our page %d kB, slowest scrape of the good one %v\n", up, fails,
		size/1000, worst,
	)
	printPeak(t)
}

// pageSize returns the size of the page, written as for a reader that accepts no
// compression.
func pageSize(t *testing.T, tc *testCollector) int64 {
	t.Helper()
	v := tc.store.Blocks(nil)
	layout := tc.merger.Layout(v)
	err := layout.WriteText(io.Discard, v, nil)
	require.NoError(t, err)
	return layout.TextLength(v, nil)
}
