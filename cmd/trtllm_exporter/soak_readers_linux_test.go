package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestSoakReaders has 300 clients that request a page of some megabytes in one format after
// another and read nothing, while a normal client reads it a hundred times without failure and
// memory does not grow.
func TestSoakReaders(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("make soak runs it")
	}
	const slow, reads, most = 300, 100, 100_000_000
	var tick atomic.Int64
	address := pageAt(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(simulate.BenchPage(simulate.BenchSummaries, 0, int(tick.Add(1))))
	})
	p := started(
		t,
		fixture.FreeAddress(t, "127.0.0.1"),
		"",
		tritonPool("scrape_interval: 1s", slices.Repeat([]string{address}, 32)...),
	)
	p.healthy()
	p.until(32)
	for range reads {
		p.metrics()
	}
	for _, form := range readerForms() {
		// Resets the peak of memory.
		require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0o600))
		before, _ := p.peak()
		var lurking []net.Conn
		for range slow {
			conn := p.lurk(form)
			require.NotNil(t, conn)
			lurking = append(lurking, conn)
		}
		failed, slowest, size := 0, time.Duration(0), 0
		for range reads {
			began := time.Now()
			body, code, err := p.get("/metrics")
			if err != nil || code != http.StatusOK {
				failed++
			}
			slowest, size = max(slowest, time.Since(began)), len(body)
			time.Sleep(20 * time.Millisecond)
		}
		for _, conn := range lurking {
			_ = conn.Close()
		}
		after, _ := p.peak()
		t.Logf("%q: %d of %d reads of %d kB failed, the slowest took %v; peak RSS %d MB, %d MB "+
			"more than before", form, failed, reads, size/1000, slowest, after/1_000_000, (after-before)/1_000_000)
		require.Zero(t, failed)
		require.Less(t, after-before, most)
	}
}
