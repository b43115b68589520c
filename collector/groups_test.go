package collector_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// usual is a server as it is usually deployed, with all that its flags add.
func usual(kind simulate.Kind) simulate.Spec {
	return simulate.Spec{
		Kind: kind, Streaming: true, GPUs: 1, Seed: 7, Setup: simulate.Setup{Histograms: true, Summaries: true},
		Workload: simulate.Workload{Rate: 3, SharedPrefix: 0.5, OutputTokens: 20},
	}
}

// played returns the series of a replica with their values after more scrapes than a window has, which are the same
// each time.
func played(t *testing.T, kind simulate.Kind, e exposition.Config) map[string]string {
	t.Helper()
	all := make(map[string]string)
	synctest.Test(t, func(t *testing.T) {
		server := simulatedServer(t, usual(kind))
		server.Advance(time.Minute)
		const address = "10.0.0.1:8000"
		p := pool("p", "r="+address+"|"+address)
		p.ScrapeInterval, p.IdentityInterval = model.Duration(5*time.Second), model.Duration(time.Minute)
		p.Discovery.StaticConfigs[0].Labels[model.MetricsPathLabel] = model.LabelValue(server.MetricsPath())
		tc := newCollector(t)
		tc.UseScraper(simulated(map[string]*simulate.Replica{address: server}))
		cfg := config.DefaultFile
		cfg.Pools, cfg.Exposition = []config.Pool{p}, e
		cfg.Resolve()
		require.NoError(t, tc.ApplyConfig(&cfg))
		tc.start()
		for range 16 {
			time.Sleep(5 * time.Second)
			server.Advance(5 * time.Second)
		}
		synctest.Wait()
		for line := range strings.Lines(tc.page()) {
			if at := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") {
				all[line[:at]] = line[at+1:]
			}
		}
		require.NoError(t, tc.stop())
	})
	return all
}

// TestGroupsAreParts has no choice of groups change a series that it has: each page is a part of that with all
// groups, and together those of the single groups have all of it.
func TestGroupsAreParts(t *testing.T) {
	t.Parallel()
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			whole := played(t, kind, exposition.DefaultConfig)
			choices := []exposition.Groups{exposition.Groups(1 + rand.IntN(int(exposition.EveryGroup())))}
			for _, g := range exposition.AllGroups() {
				choices = append(choices, exposition.GroupsOf(g))
			}
			together := make(map[string]string)
			for _, choice := range choices {
				e := exposition.DefaultConfig
				e.Normalised = choice
				part := played(t, kind, e)
				for series, v := range part {
					require.Equal(t, whole[series], v, "groups %s: %s", choice, series)
				}
				maps.Copy(together, part)
			}
			require.Equal(t, slices.Sorted(maps.Keys(whole)), slices.Sorted(maps.Keys(together)))
		})
	}
}

// TestReloadChangesGroups has a reload leave groups out and bring them back.
func TestReloadChangesGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tc := newCollector(t)
		tc.UseScraper(&fakeScraper{})
		tc.start()
		for _, groups := range []exposition.Groups{
			exposition.EveryGroup(), exposition.GroupsOf(exposition.GroupCore), exposition.GroupsOf(exposition.GroupVersions),
		} {
			cfg := config.DefaultFile
			cfg.Pools, cfg.Exposition.Normalised = []config.Pool{metricsPool("p", "r=10.0.0.1:1")}, groups
			cfg.Resolve()
			require.NoError(t, tc.ApplyConfig(&cfg))
			time.Sleep(time.Minute)
			page := tc.page()
			for series, group := range map[string]exposition.Group{
				"llm_server_requests_total{":            exposition.GroupCore,
				`state="ready"`:                         exposition.GroupCore,
				"trtllm_exporter_target_up{":            exposition.GroupCore,
				"trtllm_exporter_target_body_bytes{":    exposition.GroupDetails,
				"llm_server_pool_start_budget_seconds{": exposition.GroupCore,
				"llm_server_capability{":                exposition.GroupVersions,
			} {
				require.Equal(t, groups.Has(group), strings.Contains(page, series), "groups %s: %s", groups, series)
			}
		}
		require.NoError(t, tc.stop())
	})
}

// TestReplicasCostLittle counts the series of a replica of every kind by group, for `check-config`. In the lean setting
// it has no more than its own page.
func TestReplicasCostLittle(t *testing.T) {
	var b strings.Builder
	for _, kind := range simulate.Kinds() {
		rest := exposition.DefaultConfig
		rest.Raw = exposition.RawUnmapped
		own, beside := counted(t, played(t, kind, exposition.DefaultConfig))
		unmapped, groups := counted(t, played(t, kind, rest))
		fmt.Fprintf(&b, "%s %d %d", kind, own, unmapped)
		all := own
		for _, g := range exposition.AllGroups() {
			fmt.Fprintf(&b, " %d", beside[g])
			all += beside[g]
		}
		for _, g := range exposition.AllGroups() {
			fmt.Fprintf(&b, " %d", groups[g])
		}
		b.WriteString("\n")
		lean := groups[exposition.GroupCore]
		if lean > own {
			t.Errorf("%s: group core has %d series, more than the %d of the server's page: let its simulated server "+
				"write all families that the server shows", kind, lean, own)
		}
		t.Logf("%-30s own %d, lean %d (%.2f), default %d (%.2f)", kind, own, lean, float64(lean)/float64(own), all,
			float64(all)/float64(own))
	}
	fixture.RequireFile(t, "../cmd/trtllm_exporter/series.tsv", b.String())
}

// counted counts the series of a page: the server's own, and those of each group.
func counted(t *testing.T, page map[string]string) (own int, groups map[exposition.Group]int) {
	t.Helper()
	groups = make(map[exposition.Group]int)
	for text := range page {
		series, err := parser.NewParser(parser.Options{}).ParseMetric(text)
		require.NoError(t, err)
		if series.Get("replica_id") == "" {
			continue
		}
		if group, known := assess.GroupOfSeries(series); known {
			groups[group]++
			continue
		}
		own++
	}
	return own, groups
}
