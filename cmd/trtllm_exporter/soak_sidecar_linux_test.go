package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// sidecarMemory is the memory limit in the sidecar manifests.
const sidecarMemory = 64 << 20

// TestSoakSidecar runs the program as a sidecar with this limit next to a server with eight
// models: alone, with slow readers, and while the server sends decompression bombs and huge valid
// pages.
func TestSoakSidecar(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("make soak runs it")
	}
	group := newMemoryGroup(t, sidecarMemory)
	before := fmt.Sprintf(`export GOMEMLIMIT=%d; exec "$0" "$@"`, memoryLimit(strconv.Itoa(sidecarMemory)))
	if group != nil {
		before = group.enter() + `exec "$0" "$@"`
	}
	var answer atomic.Pointer[http.HandlerFunc]
	var tick atomic.Int64
	well := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(simulate.BenchPage(simulate.BenchSummaries, 0, int(tick.Add(1))))
	})
	answer.Store(&well)
	address := pageAt(t, func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) })
	p := started(
		t,
		fixture.FreeAddress(t, "127.0.0.1"),
		before,
		tritonPool("scrape_interval: 5s, scrape_timeout: 4s", address),
	)
	p.healthy()
	s := &soak{process: p}
	size := regexp.MustCompile(`(?m)^trtllm_exporter_target_body_bytes\{.*\} (.*)$`)
	for _, phase := range []struct {
		name    string
		answers http.HandlerFunc
		slow    bool
	}{
		{"alone", well, false},
		{"slow readers", well, true},
		{"bombs", soakBomb(t), true},
		{"huge pages", soakPage("nv_huge_%d{model=\"m%d\",padding=\"%0260d\"} @%d\n", 45_000), true},
		{
			"the largest accepted pages, with new series each time",
			soakPage("nv_large_%d{model=\"m%d\",padding=\"%0260d\",request=\"@\"} %d\n", 12_500),
			true,
		},
		{"pages of ever new series", soakPage("nv_churn_%d{model=\"m%d\",request=\"@%d\"} %d\n", 2000), true},
		{"well again", well, false},
	} {
		answer.Store(&phase.answers)
		for began, n := time.Now(), 0; time.Since(began) < 20*time.Second; n++ {
			s.look()
			if phase.slow {
				s.dawdle(n)
			}
			if n%5 == 0 {
				p.metrics()
			}
			time.Sleep(200 * time.Millisecond)
		}
		peak, anonymous := s.peak()
		t.Logf("%s: the last page has %s bytes; peak RSS %d MB, of which %d MB "+
			"are not files", phase.name, size.FindStringSubmatch(p.metrics())[1], peak/1_000_000, anonymous/1_000_000)
	}
	if group != nil {
		t.Logf("control group of %d MB: at most %d MB with files and sockets, %d processes ended "+
			"by the kernel", sidecarMemory/1_000_000, group.most(t)/1_000_000, group.killed(t))
		require.Zero(t, group.killed(t))
	}
	require.Zero(t, s.unhealthy.Load(), "/-/healthy always answers")
	require.Regexp(t, `\ntrtllm_exporter_target_up\{pool_id="p",replica_id="r0"\} 1\n`, p.metrics())
}
