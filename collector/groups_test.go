package collector_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
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

// played returns the series of a replica with their values after minutes of scrapes, which are the same each
// time.
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
		for range 30 {
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
				`state="stalled"`:                       exposition.GroupDetails,
				"llm_server_pool_start_budget_seconds{": exposition.GroupCore,
				"llm_server_capability{":                exposition.GroupVersions,
			} {
				require.Equal(t, groups.Has(group), strings.Contains(page, series), "groups %s: %s", groups, series)
			}
		}
		require.NoError(t, tc.stop())
	})
}

// leastPage is how many series a replica may have in the lean setting if its own page has fewer.
const leastPage = 107

// TestReplicasCostLittle counts the series of a replica of every kind by group, for `check-config`. In the lean setting
// it has no more than its own page.
func TestReplicasCostLittle(t *testing.T) {
	var b strings.Builder
	for _, kind := range simulate.Kinds() {
		whole := played(t, kind, exposition.DefaultConfig)
		rest := exposition.DefaultConfig
		rest.Raw = exposition.RawUnmapped
		own, health, groups := counted(t, whole)
		unmapped, _, _ := counted(t, played(t, kind, rest))
		fmt.Fprintf(&b, "%s %d %d %d", kind, own, unmapped, health)
		all := own + health
		for _, g := range exposition.AllGroups() {
			fmt.Fprintf(&b, " %d", groups[g])
			all += groups[g]
		}
		b.WriteString("\n")
		lean := health + groups[exposition.GroupCore]
		require.LessOrEqual(t, lean, max(own, leastPage), kind)
		t.Logf("%-30s own %d, lean %d (%.2f), default %d (%.2f)", kind, own, lean, float64(lean)/float64(own), all,
			float64(all)/float64(own))
	}
	fixture.RequireFile(t, "../cmd/trtllm_exporter/series.tsv", b.String())
}

// counted counts the series of a page: the server's own, those about scrapes, and those of each group.
func counted(t *testing.T, page map[string]string) (own, health int, groups map[exposition.Group]int) {
	t.Helper()
	groups = make(map[exposition.Group]int)
	for text, v := range page {
		series, err := parser.NewParser(parser.Options{}).ParseMetric(text)
		require.NoError(t, err)
		if series.Get("replica_id") == "" {
			continue
		}
		number, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		require.NoError(t, err)
		group, known := assess.GroupOfSeries(series, number)
		switch {
		case known:
			groups[group]++
		case strings.HasPrefix(series.Get(model.MetricNameLabel), assess.MetricPrefix):
			health++
		default:
			own++
		}
	}
	return own, health, groups
}
