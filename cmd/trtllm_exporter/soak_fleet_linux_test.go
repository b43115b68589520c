package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// The fleet of a soak: healthy replicas, replicas that are replaced repeatedly, and
// replicas of each kind that may harm others.
const (
	soakHealthy, soakRolled = 80, 20
	soakBombs, soakHuge     = 10, 2
	soakChurning            = 10
	soakFaulty, soakHanging = 30, 90
	soakDead                = 38
	soakTargets             = soakHealthy + soakRolled + soakBombs + soakHuge + soakChurning + soakFaulty + soakHanging + soakDead
)

// soakFleet holds the servers of a soak, by pool.
type soakFleet struct {
	pools  map[string][]string
	faults []*atomic.Value
}

// pageAt serves a page, and 404 on every other path.
func pageAt(t *testing.T, page http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func newSoakFleet(t *testing.T) *soakFleet {
	t.Helper()
	f := &soakFleet{pools: make(map[string][]string)}
	for _, kind := range []struct {
		pool string
		n    int
		at   func() string
	}{
		{"healthy", soakHealthy, func() string { address, _ := counting(t, 0); return address }},
		{"rolled", soakRolled, func() string { address, _ := counting(t, 0); return address }},
		{"bomb", soakBombs, served(t, soakBomb(t))},
		{"huge", soakHuge, served(t, soakPage("nv_huge_%d{model=\"m%d\",padding=\"%0260d\"} @%d\n", 45_000))},
		{"churn", soakChurning, served(t, soakPage("nv_churn_%d{model=\"m%d\",request=\"@%d\"} %d\n", 2000))},
		{"faulty", soakFaulty, func() string {
			var now atomic.Value
			f.faults = append(f.faults, &now)
			return pageAt(t, func(w http.ResponseWriter, r *http.Request) {
				fault, _ := now.Load().(simulate.Fault)
				simulate.Faulty(fault, "nv_inference_count{model=\"m\"} 1\n", w, r)
			})
		}},
		{"hanging", soakHanging, served(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
		{"dead", soakDead, func() string { return fixture.FreeAddress(t, "127.0.0.1") }},
	} {
		for range kind.n {
			f.pools[kind.pool] = append(f.pools[kind.pool], kind.at())
		}
	}
	return f
}

// served returns a function that starts a server with the page.
func served(t *testing.T, page http.HandlerFunc) func() string {
	t.Helper()
	return func() string { return pageAt(t, page) }
}

// soakBomb serves 260 kB that decompress to 256 MiB.
func soakBomb(t *testing.T) http.HandlerFunc {
	t.Helper()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 256 {
		_, err := io.WriteString(w, strings.Repeat("a 1\n", 1<<18))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}
}

// soakPage serves lines of a format in which @ is a new number at each scrape.
func soakPage(form string, lines int) http.HandlerFunc {
	var page strings.Builder
	for i := range lines {
		fmt.Fprintf(&page, form, i%100, i%50, i, i)
	}
	var asked atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.ReplaceAll(page.String(), "@", strconv.FormatInt(1_000_000+asked.Add(1), 10)))
	}
}

// document returns a generation of the configuration: replicas of pool "rolled" have new names
// in each.
func (f *soakFleet) document(generation int) string {
	var b strings.Builder
	b.WriteString("global: { scrape_interval: 5s, scrape_timeout: 4s }\npools:\n")
	for _, pool := range []string{"healthy", "rolled", "bomb", "huge", "churn", "faulty", "hanging", "dead"} {
		fmt.Fprintf(&b, "  - pool_id: %s\n    engine: triton\n    metrics_path: /metrics\n    api_port: 1\n    "+
			"static_configs:\n", pool)
		for i, address := range f.pools[pool] {
			replica := fmt.Sprintf("r%d", i)
			if pool == "rolled" {
				replica = fmt.Sprintf("r%d-%d", i, generation)
			}
			fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %s } }\n", address, replica)
		}
	}
	return b.String()
}

// soakFaults lists the behaviors of pool "faulty"; the empty fault is a good page.
func soakFaults() []simulate.Fault {
	return []simulate.Fault{
		simulate.FaultHang,
		simulate.FaultHangBody,
		simulate.FaultTrickle, simulate.FaultReset, simulate.FaultTruncated, simulate.FaultGzipBomb,
		simulate.FaultRedirect, simulate.FaultLongLine, simulate.FaultBinary, simulate.FaultBadUTF8, "",
	}
}

func (f *soakFleet) play(moment int) {
	faults := soakFaults()
	for i, one := range f.faults {
		one.Store(faults[(moment+i)%len(faults)])
	}
}

func (f *soakFleet) heal() {
	for _, one := range f.faults {
		one.Store(simulate.Fault(""))
	}
}
