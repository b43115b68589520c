package collector_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// simulationSpeed is how much faster than the wall clock simulated servers run.
const simulationSpeed = 20

// canaryFleet is a pool of simulated servers that only the canary sends requests to.
type canaryFleet struct {
	*testCollector

	fleet  *simulate.Fleet
	config config.Pool
}

// withCanary enables the canary, with a shorter interval than a file may set.
func withCanary(p *config.Pool) {
	p.Canary.Enabled = true
	p.Canary.Interval = model.Duration(100 * time.Millisecond)
	p.Canary.Timeout = model.Duration(10 * time.Second)
	p.Canary.FirstTokenTimeout = model.Duration(5 * time.Second)
	p.Canary.GapTimeout = model.Duration(2 * time.Second)
	p.Canary.EndTimeout = model.Duration(2 * time.Second)
}

// startCanaryFleet starts a fleet; change may modify the pool's configuration.
func startCanaryFleet(t *testing.T, change func(*config.Pool), specs ...simulate.Spec) *canaryFleet {
	t.Helper()
	for i := range specs {
		specs[i].Name, specs[i].Seed, specs[i].Speed = "r"+strconv.Itoa(i), uint64(i+1), simulationSpeed
		if specs[i].Workload.Rate == 0 {
			specs[i].Workload.Rate = 0.00001
		}
	}
	fleet, err := simulate.StartFleet(
		t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: specs}}},
	)
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	p := pool("p", targetsOf(t, fleet.Pools()[0].Replicas...)...)
	withCanary(&p)
	if change != nil {
		change(&p)
	}
	return &canaryFleet{testCollector: startCollector(t, p), fleet: fleet, config: p}
}

// server returns a server of the fleet.
func (c *canaryFleet) server(i int) *simulate.Replica {
	return c.fleet.Replica("p", "r"+strconv.Itoa(i))
}

// series returns the canary's series of a replica: name and further labels to value.
func (c *canaryFleet) series(i int) map[string]float64 {
	c.t.Helper()
	all, replica := make(map[string]float64), fmt.Sprintf(`replica_id="r%d"`, i)
	for text := range strings.Lines(c.page()) {
		name, found := strings.CutPrefix(text, "llm_server_canary_")
		head, value, _ := strings.Cut(strings.TrimSpace(name), "} ")
		if !found || !strings.Contains(head, replica) {
			continue
		}
		name, set, _ := strings.Cut(head, "{")
		if _, result, has := strings.Cut(set, `result="`); has {
			name += " " + strings.Split(result, `"`)[0]
		}
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(c.t, err)
		all[name] = v
	}
	return all
}

// status returns the status of a replica.
func (c *canaryFleet) status(i int) target.Status {
	return c.testCollector.status("r" + strconv.Itoa(i))
}

// waitForSeries waits until holds accepts the canary's series of a replica.
func (c *canaryFleet) waitForSeries(what string, i int, holds func(s map[string]float64) bool) map[string]float64 {
	c.t.Helper()
	var s map[string]float64
	c.waitFor(what, pollInterval, func() (page, missing string) {
		if s = c.series(i); holds(s) {
			return "", ""
		}
		now := c.status(i)
		return "", fmt.Sprintf(
			"%s, llm_server_canary_* of replica_id r%d are %v (state %s, %s; canary %+v)", what, i, s, now.State,
			now.StateReason, now.Canary,
		)
	})
	return s
}

// waitForOK waits until this number of further requests succeeded.
func (c *canaryFleet) waitForOK(i, times int) map[string]float64 {
	c.t.Helper()
	n := c.series(i)["requests_total ok"] + float64(times)
	return c.waitForSeries("good requests", i, func(s map[string]float64) bool {
		return s["requests_total ok"] >= n && s["success"] == 1
	})
}

func TestCanaryIsOffByDefault(t *testing.T) {
	t.Parallel()
	c := startCanaryFleet(
		t, func(p *config.Pool) { p.Canary.Enabled = false }, simulate.Spec{Kind: simulate.KindTriton, Streaming: true},
	)
	c.waitForText(`replica_id="r0",state="ready",trtllm_version="1.1.0"} 1`)
	scrapes := c.status(0).Scrapes
	c.waitForSeries("ten scrapes", 0, func(map[string]float64) bool {
		requireNoText(t, c.page(), "llm_server_canary")
		return c.status(0).Scrapes >= scrapes+10
	})
	require.Zero(t, c.server(0).Truth().Arrived)
	require.Nil(t, c.status(0).Canary)
}

func TestReloadKeepsCanaryResultsUnlessCanaryChanges(t *testing.T) {
	t.Parallel()
	c := startCanaryFleet(t, nil, simulate.Spec{Kind: simulate.KindServe})
	before := c.waitForOK(0, 3)["requests_total ok"]
	c.apply(c.config, pool("other", "nobody=127.0.0.1:1"))
	require.GreaterOrEqual(t, c.waitForOK(0, 1)["requests_total ok"], before+1)

	c.config.Canary.MaxTokens = 4
	c.apply(c.config)
	s := c.waitForSeries("a canary that begins again", 0, func(s map[string]float64) bool { return s["tokens"] == 4 })
	require.LessOrEqual(t, s["requests_total ok"]+before, float64(c.server(0).Truth().Arrived), "earlier counts")
}
