package collector_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestUnmappedSeriesLoseNoValue compares pages with all series of a server with those that have only what
// nothing repeats, for every kind: a derived series has each value that is left out, in its unit. With group core
// alone more of them stay.
func TestUnmappedSeriesLoseNoValue(t *testing.T) {
	t.Parallel()
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := simulatedServer(t, simulate.Spec{
					Kind: kind, Streaming: true, GPUs: 2, Setup: simulate.Setup{Histograms: true, Summaries: true},
					Workload: simulate.Workload{Rate: 3, SharedPrefix: 0.5},
				})
				server.Advance(time.Minute)
				server.SetRate(0)
				server.Advance(time.Minute)
				address := "10.0.0.1:8000"
				pageOf := func(raw exposition.Raw, groups exposition.Groups) string {
					p := pool("p", "r="+address+"|"+address)
					p.Discovery.StaticConfigs[0].Labels[model.MetricsPathLabel] = model.LabelValue(server.MetricsPath())
					tc := newCollector(t)
					tc.UseScraper(simulated(map[string]*simulate.Replica{address: server}))
					cfg := config.DefaultFile
					cfg.Pools = []config.Pool{p}
					cfg.Exposition.Raw, cfg.Exposition.Normalised = raw, groups
					cfg.Resolve()
					require.NoError(t, tc.ApplyConfig(&cfg))
					_, err := tc.ScrapeOnce(t.Context(), time.Minute)
					require.NoError(t, err)
					return tc.page()
				}
				all := rawValues(pageOf(exposition.RawAll, exposition.EveryGroup()))
				for _, groups := range []exposition.Groups{
					exposition.EveryGroup(), exposition.GroupsOf(exposition.GroupCore),
				} {
					rest := pageOf(exposition.RawUnmapped, groups)
					kept, derived := rawValues(rest), derivedValues(rest)
					require.NotEmpty(t, derived)
					left := 0
					for series, v := range all {
						if _, ok := kept[series]; ok {
							continue
						}
						left++
						require.True(t, has(derived, v), "%s %v is left out, and no derived series has it", series, v)
					}
					require.Equal(t, len(all), len(kept)+left, "a series that is kept is as it was")
					require.Positive(t, left)
				}
			})
		})
	}
}

// rawValues returns the values of the series that a server exposes itself.
func rawValues(page string) map[string]float64 {
	all := make(map[string]float64)
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "llm_server_") ||
			strings.HasPrefix(line, "trtllm_exporter_") {
			continue
		}
		series, v := valueOf(line)
		all[series] = v
	}
	return all
}

func derivedValues(page string) (all []float64) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "llm_server_") {
			_, v := valueOf(line)
			all = append(all, v)
		}
	}
	return all
}

func valueOf(line string) (series string, v float64) {
	line = strings.TrimSpace(line)
	at := strings.LastIndexByte(line, ' ')
	v, _ = strconv.ParseFloat(line[at+1:], 64)
	return line[:at], v
}

// has reports whether one of the values is v, also in another unit. Those without meaning may be absent: 0 of
// what is never 0, and quantiles of nothing.
func has(all []float64, v float64) bool {
	for _, d := range all {
		for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
			if math.Abs(d*unit-v) <= 1e-6*math.Abs(v) {
				return true
			}
		}
	}
	return v == 0 || math.IsNaN(v)
}
