//go:build e2e_live

package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

// emptyFile lists the panels that are empty for a healthy server of some kind with
// requests, and the text that they show.
const emptyFile = "testdata/empty.txt"

// occasional returns panels whose data a healthy fleet has only at times.
func occasional() []string {
	return []string{
		"trtllm-fleet / Alerts",
		"trtllm-fleet / Replicas not ready",
		"trtllm-latency / Unsuccessful requests by reason",
		"trtllm-replica / Failures by model",
		"trtllm-capacity / Hidden queue of Triton's executor (estimate)",
	}
}

// TestEmptyPanelsHaveReasons runs the queries of every panel for each kind of server, and
// compares the panels without data with the list.
func TestEmptyPanelsHaveReasons(t *testing.T) {
	s := startStack(t, setting{
		fleet: healthyFleet(), values: values(t), prometheus: []string{"15s", "2s"},
		exporters: []exporter{{[]string{"serve"}, func(fleet *simulate.Fleet) string {
			return "global: { scrape_interval: 2s, scrape_timeout: 2s, window: 20s }\n" + healthyConfig(fleet)
		}}},
	})
	s.awaitReady(t)
	seen := make(map[string]bool)
	for range 3 {
		pause(t, 20*time.Second)
		s.look(t, seen)
	}
	var list strings.Builder
	empty := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			name := d.UID + " / " + p.Title
			if !ofServers(&d, &p) {
				continue
			}
			var kinds []string
			for _, kind := range everyKind() {
				if !seen[name+string(kind)] {
					kinds = append(kinds, string(kind))
				}
			}
			if len(kinds) > 0 {
				empty++
				fmt.Fprintf(&list, "%s: %s\n    %s\n", name, strings.Join(kinds, ", "), p.FieldConfig.Defaults.NoValue)
				require.NotEmpty(t, p.FieldConfig.Defaults.NoValue, name)
			}
		}
	}
	t.Logf("%d panels are empty for some kind of server", empty)
	if os.Getenv("LIVE_UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(emptyFile, []byte(list.String()), 0o600))
		return
	}
	want, err := os.ReadFile(emptyFile)
	require.NoError(t, err)
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(list.String(), "\n") {
		require.Less(t, i, len(wanted), "an additional line: %s", line)
		require.Equal(t, wanted[i], line, "line %d of %s; LIVE_UPDATE=1 rewrites it", i+1, emptyFile)
	}
	require.Len(t, string(want), list.Len(), "%s has more lines; LIVE_UPDATE=1 rewrites it", emptyFile)
}

// ofServers reports whether the data of a panel depend on the kind of server.
func ofServers(d *dashboards.Dashboard, p *dashboards.Panel) bool {
	return p.Type != "row" && d.UID != "trtllm-exporter" && !slices.Contains(occasional(), d.UID+" / "+p.Title)
}

// look records which panels have data for which kind of server.
func (s *stack) look(t *testing.T, seen map[string]bool) {
	t.Helper()
	for _, d := range dashboards.All() {
		for _, p := range d.Panels {
			if !ofServers(&d, &p) {
				continue
			}
			for _, kind := range everyKind() {
				name := d.UID + " / " + p.Title + string(kind)
				for _, q := range p.Targets {
					// An objective comes from the configuration and is not a measurement.
					if seen[name] || strings.HasSuffix(q.LegendFormat, " objective") ||
						strings.HasSuffix(q.LegendFormat, " allowed") {
						continue
					}
					expr := strings.NewReplacer("$__rate_interval", "10s", "$__range", "1m", "$pool_id", "of-"+string(kind)).
						Replace(q.Expr)
					seen[name] = len(s.query(t, variable.ReplaceAllString(expr, ".*"))) > 0
				}
			}
		}
	}
}

// everyKind returns all kinds of servers.
func everyKind() []simulate.Kind {
	return []simulate.Kind{
		simulate.KindTriton,
		simulate.KindTritonPython, simulate.KindTritonLLMAPI, simulate.KindTritonLLMAPIModule, simulate.KindTritonCore,
		simulate.KindTritonVLLM, simulate.KindTritonOpenAI, simulate.KindServe, simulate.KindServeGen2,
		simulate.KindServeOld, simulate.KindNIM, simulate.KindDynamo, simulate.KindVLLM, simulate.KindSGLang,
	}
}

// healthyFleet returns a pool for each kind of server, and one with several kinds.
func healthyFleet() simulate.FleetSpec {
	work := simulate.Workload{
		Rate:         2,
		PromptTokens: 200,
		OutputTokens: 80,
		Spread:       0.5,
		SharedPrefix: 0.6,
		PrefixTokens: 128,
		AbandonRate:  0.01,
	}
	seed := uint64(0)
	replicas := func(pool string, kinds ...simulate.Kind) simulate.PoolSpec {
		p := simulate.PoolSpec{Name: pool}
		for i, kind := range kinds {
			seed++
			p.Replicas = append(p.Replicas, simulate.Spec{
				Name: fmt.Sprintf(
					"%s-%d",
					pool,
					i,
				),
				Kind:      kind,
				Seed:      seed,
				Speed:     1,
				GPUs:      1,
				Model:     "mistral",
				Streaming: true,
				Setup:     simulate.Setup{Histograms: true},
				Workload:  work,
				Engine:    simulate.Engine{MaxActive: 32, KVBlocks: 2400, TokensPerBlock: 32},
			})
		}
		return p
	}
	var spec simulate.FleetSpec
	for _, kind := range everyKind() {
		spec.Pools = append(spec.Pools, replicas("of-"+string(kind), kind, kind))
	}
	spec.Pools = append(spec.Pools, replicas(kindsPool, kindsOfPool()...))
	return spec
}

// healthyConfig configures for each pool what its servers support: the number of replicas,
// the canary, and objectives that they measure.
func healthyConfig(fleet *simulate.Fleet) string {
	var b strings.Builder
	b.WriteString("pools:\n")
	for _, pool := range fleet.Pools() {
		fmt.Fprintf(&b, "  - pool_id: %s\n    expect: { replicas: %d }\n", pool.Name, len(pool.Replicas))
		switch pool.Replicas[0].Spec().Kind {
		case simulate.KindDynamo,
			simulate.KindTritonCore: // Neither a worker nor a Triton without an LLM answers such requests.
		default:
			b.WriteString("    canary: { enabled: true, interval: 30s }\n")
		}
		switch pool.Name {
		case kindsPool:
			b.WriteString("    slo: { ttft: { le: 5s, objective: 0.9 } }\n")
		case "of-" + string(simulate.KindVLLM), "of-" + string(simulate.KindServe):
			b.WriteString("    slo: { ttft: { le: 2500ms, objective: 0.95 }, tpot: { le: 100ms, objective: 0.9 }, " +
				"e2e: { le: 40s, objective: 0.95 } }\n")
		case "of-" + string(simulate.KindTriton):
			b.WriteString("    slo: { ttft: { le: 5s, objective: 0.9 }, availability: { objective: 0.995 } }\n")
		}
		if pool.Name == kindsPool {
			b.WriteString(modelIDs)
		}
		b.WriteString(targets(pool))
	}
	return b.String()
}
