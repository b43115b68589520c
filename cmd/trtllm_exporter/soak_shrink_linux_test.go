package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestSoakShrinkingFleet removes most replicas by a reload: memory, goroutines and open files
// return to those of a process that never had more.
func TestSoakShrinkingFleet(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("make soak runs it")
	}
	const many, few = 300, 10
	servers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.Trim(strings.TrimSuffix(r.URL.Path, "metrics"), "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(simulate.BenchPage(simulate.BenchTRTLLM, n, int(time.Now().Unix())))
	}))
	t.Cleanup(servers.Close)
	config := func(targets int) string {
		var listed strings.Builder
		listed.WriteString("global: { scrape_interval: 1s }\npools:\n  - pool_id: p\n    engine: triton\n    " +
			"static_configs:\n")
		for i := range targets {
			fmt.Fprintf(&listed, "      - { targets: [%q], labels: { replica_id: r%d, __metrics_path__: "+
				"/%d/metrics } }\n", servers.Listener.Addr(), i, i)
		}
		return listed.String()
	}
	always := started(t, fixture.FreeAddress(t, "127.0.0.1"), "", config(few))
	shrinks := started(t, fixture.FreeAddress(t, "127.0.0.1"), "", config(many))
	for p, targets := range map[*process]int{always: few, shrinks: many} {
		p.healthy()
		p.until(targets)
	}
	full := shrinks.holds()
	require.NoError(t, os.WriteFile(shrinks.config, []byte(config(few)), 0o600))
	require.NoError(t, shrinks.cmd.Process.Signal(syscall.SIGHUP))
	shrinks.until(few)
	want, got := always.holds(), shrinks.holds()
	// The Go runtime keeps what it knows of goroutines that ended.
	left := want.heap + (full.heap-want.heap)/10
	// Memory for more replicas is released after 45 seconds.
	for began := time.Now(); got.heap > left && time.Since(began) < 90*time.Second; {
		got = shrinks.holds()
	}
	t.Logf("%d targets: %s; then %d: %s; never more: %s", many, full, few, got, want)
	require.Greater(t, full.heap, 3*want.heap, "the fleet was large")
	require.Less(t, got.heap, left, "heap")
	// The Go runtime decides when to return memory.
	require.Less(t, got.memory, full.memory/2, "memory that was not given back")
	require.Less(t, got.goroutines, want.goroutines+10, "goroutines")
	require.Less(t, got.files, want.files+10, "files")
}

// until waits until exactly this number of targets is up.
func (p *process) until(targets int) {
	p.t.Helper()
	p.shows(fmt.Sprint(targets, " are up"), func(page string) bool {
		return strings.Count(page, "\ntrtllm_exporter_target_up{") == targets && upTargets(page) == targets
	})
}

type holding struct{ heap, memory, goroutines, files float64 }

func (h holding) String() string {
	return fmt.Sprintf(
		"heap %.1f MB of %.1f, %.0f goroutines, %.0f files",
		h.heap/1e6,
		h.memory/1e6,
		h.goroutines,
		h.files,
	)
}

// holds returns the smallest resources of the program within some seconds.
func (p *process) holds() (least holding) {
	p.t.Helper()
	for began := time.Now(); time.Since(began) < 6*time.Second; time.Sleep(50 * time.Millisecond) {
		page := p.metrics()
		now := holding{
			heap: number(
				p.t,
				page,
				"go_memstats_heap_alloc_bytes",
			), goroutines: number(p.t, page, "go_goroutines"), files: number(p.t, page, "process_open_fds"),
			memory: number(p.t, page, "go_memstats_heap_sys_bytes") - number(
				p.t,
				page,
				"go_memstats_heap_released_bytes",
			),
		}
		if least == (holding{}) {
			least = now
		}
		least = holding{
			min(least.heap, now.heap), min(least.memory, now.memory), min(least.goroutines, now.goroutines),
			min(least.files, now.files),
		}
	}
	return least
}
