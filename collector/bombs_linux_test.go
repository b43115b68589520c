package collector_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// bombsAddressVariable makes the child process of the test below scrape an address.
const bombsAddressVariable = "TEST_BOMBS_AT"

// TestMemoryWithHundredGzipBombs measures a child process that scrapes 100 targets whose
// 260 kB become 256 MiB, twice a second with a limit of 128 MiB and the program's GOGC.
func TestMemoryWithHundredGzipBombs(t *testing.T) {
	// P07.
	if raceEnabled || !everyFault() {
		t.Skip("make faults runs it, without the race detector")
	}
	if address := os.Getenv(bombsAddressVariable); address != "" {
		scrapeBombs(t, address)
		return
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 64 {
		_, err := io.WriteString(w, strings.Repeat("a 1\n", 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	s := newFakeServer(t)
	s.setPage(encoded(bomb.String()))
	peak := peakMemory(t, "TestMemoryWithHundredGzipBombs", s.address())
	t.Logf("peak RSS %d MB", peak/1_000_000)
	require.Less(t, peak, 192_000_000)
}

// peakMemory runs a test of this package in a child process with a limit of 128 MiB and
// the program's GOGC, and returns its peak memory.
func peakMemory(t *testing.T, test, address string) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	child.Env = append(os.Environ(), bombsAddressVariable+"="+address, "GOMEMLIMIT=128MiB", "GOGC=100")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
	require.NotNil(t, peak, "%s", out)
	kib, err := strconv.Atoi(string(peak[1]))
	require.NoError(t, err)
	return kib * 1024
}

// printPeak prints the peak memory of this process.
func printPeak(t *testing.T) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	fmt.Println(regexp.MustCompile(`VmHWM:.*`).FindString(string(status)))
}

// scrapeBombs runs a collector until each target failed twice, and requires that a good
// target next to them is scraped meanwhile.
func scrapeBombs(t *testing.T, address string) {
	t.Helper()
	good := newFakeServer(t)
	bombs := metricsPool("bombs")
	for i := range 100 {
		more := metricsPool("bombs", fmt.Sprintf("b%d=%s|%s", i, address, address))
		bombs.Discovery.StaticConfigs = append(bombs.Discovery.StaticConfigs, more.Discovery.StaticConfigs...)
	}
	bombs.ScrapeInterval = model.Duration(500 * time.Millisecond)
	tc := startCollector(t, apart(bombs), metricsPool("good", "g="+good.pageAndAPI()))
	tc.pollPage("The bombs failed, the good one did not", nil, func(page string) string {
		for i := range 100 {
			name := fmt.Sprintf("b%d", i)
			failed := 0.0
			for _, reason := range []scrape.Reason{scrape.ReasonBodyTooLarge, scrape.ReasonMemory} {
				failed += max(
					value(page, targetSeriesByReason("target_scrape_failures_total", "bombs", string(reason), name)), 0,
				)
			}
			if failed < 2 {
				return name
			}
		}
		if value(page, targetSeries("target_scrapes_total", "good", "g")) < 10 {
			return "the good one"
		}
		return ""
	})
	page := tc.page()
	require.InDelta(t, 1, value(page, targetSeries("target_up", "good", "g")), 0)
	require.NotContains(t, page, `replica_id="g",reason=`)
	printPeak(t)
}
