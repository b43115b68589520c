//go:build budget

package querycheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// TestFleetMemory compares the peak memory of an exporter that is read every five seconds
// with the chart's limit for that number of servers.
func TestFleetMemory(t *testing.T) {
	text, err := os.ReadFile("../../deploy/helm/trtllm-exporter/values.yaml")
	require.NoError(t, err)
	var values struct {
		MemoryLimit struct {
			Base      int `yaml:"base"`
			PerServer int `yaml:"perServer"`
		} `yaml:"memoryLimit"`
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.Positive(t, values.MemoryLimit.PerServer)
	for _, n := range []int{1, 50, 200, 500} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			like := triton()
			like.Workload.Rate = 0.1
			s := setting{
				like:     like,
				replicas: n,
				global:   "global: { scrape_interval: 5s, scrape_timeout: 4s, window: 1m }",
			}
			r := s.begin(t)
			series := len(seriesOf(t, r.settled(t, "2.64.0", n)))
			for range 15 {
				time.Sleep(5 * time.Second)
				r.read(t.Context())
			}
			peak, limit := peakMemory(t, r.pid), values.MemoryLimit.Base+n*values.MemoryLimit.PerServer
			t.Logf("| %d | %d | %d MiB | %d MiB |", n, series, peak, limit)
			require.Less(t, peak, limit*9/10, "the exporter keeps a tenth of its limit free")
		})
	}
}

// peakMemory returns the peak memory of a process in MiB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "status"))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kib, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kib / 1024
}
