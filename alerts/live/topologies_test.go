//go:build e2e_live

package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// topology is a way to run the exporter, with a fault and the one page that it causes.
type topology struct {
	name  string
	fleet simulate.FleetSpec
	// exporters scrape the fleet; scrapes is the scrape interval of Prometheus.
	exporters []exporter
	scrapes   time.Duration
	// replicas is the number that all exporters show together; a replica counts for each
	// exporter that scrapes it.
	replicas int
	breaks   func(t *testing.T, s *stack)
	// page is the name of the alert, empty if nobody may be paged; within is its latest
	// time.
	page   string
	within time.Duration
}

// topologies returns the topologies of the promtool scenarios, for real programs.
func topologies() []topology {
	serve := []string{"serve"}
	down := func(pool, replica string) func(*testing.T, *stack) {
		return func(_ *testing.T, s *stack) { s.fleet.Replica(pool, replica).Stop() }
	}
	ends := func(exporters ...int) func(*testing.T, *stack) {
		return func(t *testing.T, s *stack) {
			t.Helper()
			for _, i := range exporters {
				s.process.exporters[i].end(t)
			}
		}
	}
	shards := func(fleet *simulate.Fleet) string { return "sharding: { total: 2 }\n" + everyPool(fleet) }
	sidecar := func(pool, replica int) exporter {
		return exporter{serve, func(fleet *simulate.Fleet) string { return onlyReplica(fleet.Pools()[pool], replica) }}
	}
	pair := []exporter{{serve, everyPool}, {serve, everyPool}}
	const often = 5 * time.Second
	return []topology{
		{
			name:      "one exporter of a pair stops",
			fleet:     pools(1, 3),
			exporters: pair,
			scrapes:   often,
			replicas:  8,
			breaks:    ends(1),
			within:    5 * time.Minute,
		},
		{
			name:      "a pool of one replica is down behind a pair",
			fleet:     pools(1, 3),
			exporters: pair,
			scrapes:   often,
			replicas:  8,
			breaks:    down("p0", "p0-0"),
			page:      "LLMPoolDown",
			within:    2 * time.Minute,
		},
		{
			name: "one of two shards stops", fleet: pools(4, 4), exporters: []exporter{
				{append(serve, "--sharding.index=0"), shards},
				{append(serve, "--sharding.index=1"), shards},
			},
			scrapes: often, replicas: 8, breaks: ends(1), page: "LLMShardMissing", within: 5 * time.Minute,
		},
		{
			name: "all sidecars of a pool stop", fleet: pools(3, 1), exporters: []exporter{
				sidecar(1, 0), sidecar(0, 0), sidecar(0, 1), sidecar(0, 2),
			},
			scrapes: often, replicas: 4, breaks: ends(1, 2, 3), page: "LLMPoolUnseen", within: 10 * time.Minute,
		},
		{
			name:      "the only frontend is down",
			fleet:     tiers(),
			exporters: []exporter{{serve, frontAndWorker}},
			scrapes:   often,
			replicas:  2,
			breaks:    down("dynamo", "dynamo-0"),
			page:      "LLMPoolDown",
			within:    2 * time.Minute,
		},
		{
			name:      "a pool of one replica is down, scraped every minute",
			fleet:     pools(1, 3),
			exporters: []exporter{{serve, everyPool}},
			scrapes:   time.Minute,
			replicas:  4,
			breaks:    down("p0", "p0-0"),
			page:      "LLMPoolDown",
			within:    5 * time.Minute,
		},
	}
}

// pools returns a fleet of pools of Tritons with the given sizes.
func pools(replicas ...int) simulate.FleetSpec {
	var spec simulate.FleetSpec
	seed := uint64(300)
	for i, n := range replicas {
		p := simulate.PoolSpec{Name: fmt.Sprint("p", i)}
		for j := range n {
			seed++
			p.Replicas = append(p.Replicas, small(simulate.KindTriton, fmt.Sprintf("%s-%d", p.Name, j), seed))
		}
		spec.Pools = append(spec.Pools, p)
	}
	return spec
}

// tiers returns a fleet of two Dynamo deployments in one pool.
func tiers() simulate.FleetSpec {
	return simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "dynamo", Replicas: []simulate.Spec{
		small(simulate.KindDynamo, "dynamo-0", 400), small(simulate.KindDynamo, "dynamo-1", 401),
	}}}}
}

// small returns a server with few requests.
func small(kind simulate.Kind, name string, seed uint64) simulate.Spec {
	return simulate.Spec{
		Name:      name,
		Kind:      kind,
		Seed:      seed,
		Speed:     1,
		Model:     "mistral",
		Streaming: true,
		Setup:     simulate.Setup{Histograms: true},
		Workload:  simulate.Workload{Rate: 2, PromptTokens: 200, OutputTokens: 80, Spread: 0.5},
		Engine:    simulate.Engine{MaxActive: 32, KVBlocks: 2400, TokensPerBlock: 32},
	}
}

// onlyReplica returns the configuration of a replica's sidecar.
func onlyReplica(pool simulate.Pool, i int) string {
	pool.Replicas = pool.Replicas[i : i+1]
	return poolsConfig(pool)
}

// frontAndWorker returns a pool with the frontend of the first deployment and the worker of
// the second.
func frontAndWorker(fleet *simulate.Fleet) string {
	all := fleet.Pools()[0].Replicas
	return fmt.Sprintf("pools:\n  - pool_id: dynamo\n    static_configs:\n      - { targets: "+
		"[%q, %q] }\n", all[0].APIAddr(), all[1].MetricsAddr())
}

// TestTopologiesPageOnce runs the shipped files in each topology, and requires one page per
// cause, and none while all users are served.
func TestTopologiesPageOnce(t *testing.T) {
	t.Parallel()
	for _, c := range topologies() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
}

func (c *topology) play(t *testing.T) {
	t.Helper()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	v["scrape_interval"] = c.scrapes.String()
	s := startStack(t, setting{
		fleet: c.fleet, exporters: c.exporters, values: v, prometheus: []string{
			"scrape_interval: 15s", "scrape_interval: " + c.scrapes.String(),
		},
	})
	s.awaitReadyReplicas(t, c.replicas, 4*time.Minute)
	// Wait until the rules have seen them serve.
	pause(t, 5*c.scrapes)
	require.Empty(t, s.hook.all(), "before the fault")
	start := time.Now()
	c.breaks(t, s)
	if c.page != "" {
		within(t, c.within, c.page, func() bool { return len(s.hook.firing(c.page, "severity", "critical")) > 0 })
		t.Logf("%s after %s", c.page, time.Since(start).Round(time.Second))
		pause(t, time.Minute)
	} else {
		pause(t, c.within)
	}
	for _, a := range s.hook.all() {
		t.Logf("%s %s of %s %s", a.Status, a.Labels["alertname"], a.Labels["pool_id"], a.Labels["severity"])
		require.True(
			t,
			a.Labels["severity"] != "critical" || a.Labels["alertname"] == c.page,
			"an unexpected page: %s: %s",
			a.Labels["alertname"],
			a.Annotations["description"],
		)
	}
	require.LessOrEqual(t, len(s.hook.firing(c.page, "severity", "critical")), 1, "one cause, one page")
}
