package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestSoakReaders has 300 readers request a page of some megabytes and read nothing of it, in one
// form after another, while a normal reader reads it a hundred times: that one never fails, and
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
	var document strings.Builder
	document.WriteString("global: { scrape_interval: 1s }\npools:\n  - pool_id: p\n    engine: triton\n    metrics_path: /metrics\n    api_port: 1\n    static_configs:\n")
	for i := range 32 {
		document.WriteString("      - { targets: [" + strconv.Quote(address) + "], labels: { replica_id: r" + strconv.Itoa(i) + " } }\n")
	}
	p := started(t, freeAddress(t, "127.0.0.1"), "", document.String())
	p.healthy()
	for began := time.Now(); strings.Count(p.metrics(), "\ntrtllm_exporter_target_up{") < 32; time.Sleep(100 * time.Millisecond) {
		require.Less(t, time.Since(began), time.Minute)
	}
	for range reads {
		p.metrics()
	}
	s := &soak{process: p}
	for _, form := range readerForms() {
		before := s.resetPeak()
		var lurking []net.Conn
		for range slow {
			conn := s.lurk(form)
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
		after, _ := s.peak()
		name, _, _ := strings.Cut(cmp.Or(form, "text"), "\r")
		t.Logf("%s: %d of %d reads of %d kB failed, the slowest took %v; peak RSS %d MB, %d MB more than before", name, failed, reads, size/1000, slowest, after/1_000_000, (after-before)/1_000_000)
		require.Zero(t, failed)
		require.Less(t, after-before, most)
	}
}

// resetPeak resets the peak of the program's memory to the current value, which it returns.
func (s *soak) resetPeak() int {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0o600))
	now, _ := s.peak()
	return now
}
