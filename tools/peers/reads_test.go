package main

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadCostExcludesScraping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, elapsed time.Duration
		rate          float64
		reads         int
		want          float64
	}{
		{3 * time.Second, 10 * time.Second, 0.1, 4, 500_000},
		{3 * time.Second, 10 * time.Second, 0, 1, 3_000_000},
		{time.Second, 10 * time.Second, 0.2, 4, 0},
	} {
		if got := readCost(c.used, c.elapsed, c.rate, c.reads); got < c.want-0.01 || got > c.want+0.01 {
			t.Errorf("%v: %v", c, got)
		}
	}
}

// served returns a page of one target.
func served(t *testing.T, reads *atomic.Int64, samplesPerTarget int) string {
	t.Helper()
	page := strings.Repeat(`nv_x{`+labels+`,model="m",model_id="m"} 1`+"\n", samplesPerTarget)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads.Add(1)
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = w.Write([]byte(page))
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(page))
		_ = z.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// running returns a process that waits.
func running(t *testing.T) *process {
	t.Helper()
	_, p, err := start(t.Context(), exec.CommandContext(t.Context(), "sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

func TestReadersReadOncePerInterval(t *testing.T) {
	t.Parallel()
	p := running(t)
	for _, c := range []struct {
		readers         int
		coding          string
		during, every   time.Duration
		fewest, mostAll int
	}{
		{1, "", 100 * time.Millisecond, time.Hour, 1, 1},
		{4, "gzip", 100 * time.Millisecond, 400 * time.Millisecond, 4, 4},
		{4, "gzip", time.Second, 400 * time.Millisecond, 4, 12}, // fewer when the machine is busy.
	} {
		var reads atomic.Int64
		r := result{Targets: 1, Interval: c.every}
		m, err := r.together(t.Context(), p, served(t, &reads, samplesPerTarget), c.coding, c.readers, c.during, 0)
		if err != nil || m.Reads != int(reads.Load()) || m.Reads < c.fewest || m.Reads > c.mostAll {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
		if m.P50 <= 0 || m.P99 < m.P50 || m.Bytes == 0 || m.Peak == 0 || m.Readers != c.readers {
			t.Errorf("%+v", m)
		}
	}
}
