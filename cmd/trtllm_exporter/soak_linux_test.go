package main

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

const (
	// soakMemory is the limit of the control group, which contains only the program.
	soakMemory = 256 << 20
	// soakRest is how long the fleet is idle before and after the soak, to compare
	// resources: some rounds of hanging scrapes.
	soakRest = 40 * time.Second
)

type soak struct {
	*process

	fleet *soakFleet
	stop  chan struct{}
	busy  sync.WaitGroup
	// Numbers of requests for /-/healthy and for the page, each with those that failed.
	looks, unhealthy, reads, incomplete atomic.Int64
	slowest                             atomic.Int64
	// heap is the heap in bytes before the soak.
	heap float64
}

// TestSoak runs the program for SOAK (3m, 2h) in a control group of 256 MiB, with half as many
// open files as targets, while everything fails.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("run by make soak")
	}
	s := &soak{fleet: newSoakFleet(t), stop: make(chan struct{})}
	limits := fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, soakTargets/2)
	group := newMemoryGroup(t, soakMemory)
	if group != nil {
		limits = group.enter() + limits
	} else {
		t.Log("no control group: GOMEMLIMIT is set as in one of 256 MiB, and resident memory is checked")
		limits = fmt.Sprintf("export GOMEMLIMIT=%d; ", memoryLimit(strconv.Itoa(soakMemory))) + limits
	}
	s.process = started(t, fixture.FreeAddress(t, "127.0.0.1"), limits, s.fleet.document(0))
	s.client.Timeout = 20 * time.Second
	s.healthy()
	time.Sleep(soakRest)
	before := s.metrics()
	s.heap = s.leastHeap()
	s.begin()
	time.Sleep(duration)
	close(s.stop)
	s.busy.Wait()
	s.fleet.heal()
	time.Sleep(soakRest)
	after := s.metrics()

	s.judge(group, before, after)
}

// judge logs the measurements and checks them.
func (s *soak) judge(group *memoryGroup, before, after string) {
	t := s.t
	t.Helper()
	peak, resident := s.peak()
	t.Logf("%d targets, %d open files: peak RSS %d MB, of which %d MB "+
		"are not files", soakTargets, soakTargets/2, peak/1_000_000, resident/1_000_000)
	if group != nil {
		t.Logf("control group of %d MB: at most %d MB with files and sockets, %d processes ended "+
			"by the kernel", soakMemory/1_000_000, group.most(t)/1_000_000, group.killed(t))
		require.Zero(t, group.killed(t))
	} else {
		require.Less(t, peak, soakMemory)
	}
	t.Logf("/-/healthy: %d of %d looks failed, the slowest took %v; %d of %d reads lacked a "+
		"healthy replica", s.unhealthy.Load(), s.looks.Load(), time.Duration(s.slowest.Load()), s.incomplete.Load(), s.reads.Load())
	for _, name := range []string{
		"go_goroutines", "process_open_fds", "trtllm_exporter_connections_waits_total",
		"trtllm_exporter_connections_taken_back_total",
	} {
		t.Logf("%s: %v before, %v after", name, gauge(before, name), gauge(after, name))
	}
	t.Logf("failed scrapes of healthy targets: %q before, %q after", missed(before), missed(after))
	require.Zero(t, s.unhealthy.Load(), "/-/healthy always answers")
	require.Zero(t, s.incomplete.Load(), "healthy replicas are on every page")
	require.Empty(t, missed(after), "healthy targets miss no scrape")
	require.Len(
		t,
		regexp.MustCompile(`(?m)^trtllm_exporter_target_up\{pool_id="faulty",.*\} 1$`).FindAllString(after, -1),
		soakFaulty,
		"recovered targets are up",
	)
	require.LessOrEqual(t, gauge(after, "go_goroutines"), gauge(before, "go_goroutines")*1.2+50)
	require.LessOrEqual(t, gauge(after, "process_open_fds"), gauge(before, "process_open_fds")*1.2+20)
	least := s.leastHeap()
	t.Logf("least heap: %.0f MB before, %.0f MB after", s.heap/1e6, least/1e6)
	require.LessOrEqual(t, least, s.heap*1.2+10e6)
}

func missed(page string) []string {
	return regexp.MustCompile(`(?m)^trtllm_exporter_target_scrape_failures_total\{pool_id="healthy".*$`).
		FindAllString(page, -1)
}

func (s *soak) every(d time.Duration, do func(n int)) {
	s.busy.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-s.stop:
				return
			case <-time.After(d):
				do(n)
			}
		}
	})
}

func (s *soak) begin() {
	s.every(200*time.Millisecond, func(int) { s.look() })
	s.every(2*time.Second, func(int) { s.read() })
	s.every(3*time.Second, s.fleet.play)
	s.every(20*time.Second, s.reload)
	s.every(500*time.Millisecond, s.dawdle)
}

func (s *soak) look() {
	start := time.Now()
	if _, code, err := s.get("/-/healthy"); err != nil || code != http.StatusOK {
		s.unhealthy.Add(1)
		s.t.Logf("/-/healthy: %d, %v", code, err)
	}
	s.looks.Add(1)
	s.slowest.Store(max(s.slowest.Load(), int64(time.Since(start))))
}

func (s *soak) read() {
	body, code, err := s.get("/metrics?pool_id=healthy")
	found := strings.Count(body, "\nnv_inference_request_success{")
	if err != nil || code != http.StatusOK || found != soakHealthy {
		s.incomplete.Add(1)
		s.t.Logf("%d of %d healthy replicas on the page: %d, %v", found, soakHealthy, code, err)
	}
	s.reads.Add(1)
}

// reload causes many reloads, each of which replaces a pool.
func (s *soak) reload(n int) {
	for i := range 20 {
		_ = os.WriteFile(s.config, []byte(s.fleet.document(n*100+i)), 0o600)
		_ = s.cmd.Process.Signal(syscall.SIGHUP)
		time.Sleep(50 * time.Millisecond)
	}
}

// readerForms returns the headers that request each format of the page.
func readerForms() []string {
	return []string{"", "Accept-Encoding: gzip\r\n", "Accept-Encoding: zstd\r\n"}
}

// dawdle requests the page in one format after the other, and reads nothing for ten seconds.
func (s *soak) dawdle(n int) {
	forms := readerForms()
	if conn := s.lurk(forms[n%len(forms)]); conn != nil {
		time.AfterFunc(10*time.Second, func() { _ = conn.Close() })
	}
}

// lurk requests the page in a format and reads nothing. It returns nil without a
// connection.
func (p *process) lurk(form string) net.Conn {
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.address)
	if err != nil {
		return nil
	}
	_, _ = fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: soak\r\n%s\r\n", form)
	return conn
}

// leastHeap returns the smallest heap within half a minute in bytes, to exclude garbage.
func (s *soak) leastHeap() float64 {
	least := math.Inf(1)
	for range 60 {
		time.Sleep(500 * time.Millisecond)
		least = min(least, gauge(s.metrics(), "go_memstats_heap_inuse_bytes"))
	}
	return least
}

// peak returns the peak memory of the program in bytes, with and without its mapped file, which the
// kernel may drop at any time.
func (p *process) peak() (all, anonymous int) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(p.t, err, "the program still runs")
	read := func(name string) int {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		require.NotNil(p.t, m, "%s", status)
		kib, err := strconv.Atoi(string(m[1]))
		require.NoError(p.t, err)
		return kib << 10
	}
	return read("VmHWM"), read("VmHWM") - read("RssFile")
}

// gauge returns the value of a series without labels, -1 if there is none.
func gauge(page, series string) float64 {
	m := regexp.MustCompile(`(?m)^` + series + ` (.*)$`).FindStringSubmatch(page)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return -1
	}
	return v
}
