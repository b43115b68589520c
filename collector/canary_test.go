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

// speed is how much faster than the wall clock simulated servers live.
const speed = 20

// cage is pool p of simulated servers that nobody asks but the canary.
type cage struct {
	*line

	fleet  *simulate.Fleet
	config config.Pool
}

// withCanary turns the canary on, more often than a file may say.
func withCanary(p *config.Pool) {
	p.Canary.Enabled = true
	p.Canary.Interval = model.Duration(100 * time.Millisecond)
	p.Canary.Timeout = model.Duration(10 * time.Second)
	p.Canary.FirstTokenTimeout = model.Duration(5 * time.Second)
	p.Canary.GapTimeout = model.Duration(2 * time.Second)
	p.Canary.EndTimeout = model.Duration(2 * time.Second)
}

// fly starts a cage; change may alter the configuration of the pool.
func fly(t *testing.T, change func(*config.Pool), specs ...simulate.Spec) *cage {
	t.Helper()
	for i := range specs {
		specs[i].Name, specs[i].Seed, specs[i].Speed = "r"+strconv.Itoa(i), uint64(i+1), speed
		if specs[i].Workload.Rate == 0 {
			specs[i].Workload.Rate = 0.00001
		}
	}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: specs}}})
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	p := pool("p", of(t, fleet.Pools()[0].Replicas...)...)
	withCanary(&p)
	if change != nil {
		change(&p)
	}
	return &cage{line: startLine(t, p), fleet: fleet, config: p}
}

// server is a server of the cage.
func (c *cage) server(i int) *simulate.Replica { return c.fleet.Replica("p", "r"+strconv.Itoa(i)) }

// series is what the canary says of a replica: name and further labels to value.
func (c *cage) series(i int) map[string]float64 {
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

// status is what is known of a replica.
func (c *cage) status(i int) target.Status { return c.line.status("r" + strconv.Itoa(i)) }

// until waits for what the canary says of a replica.
func (c *cage) until(what string, i int, holds func(s map[string]float64) bool) map[string]float64 {
	c.t.Helper()
	var s map[string]float64
	c.waitFor(what, glance, func() (page, missing string) {
		if s = c.series(i); holds(s) {
			return "", ""
		}
		now := c.status(i)
		return "", fmt.Sprintf("%s, llm_server_canary_* of replica_id r%d are %v (state %s, %s; canary %+v)", what, i, s, now.State, now.StateReason, now.Canary)
	})
	return s
}

// well waits until so many requests went well.
func (c *cage) well(i, times int) map[string]float64 {
	c.t.Helper()
	n := c.series(i)["requests_total ok"] + float64(times)
	return c.until("good requests", i, func(s map[string]float64) bool { return s["requests_total ok"] >= n && s["success"] == 1 })
}

func TestCanaryIsOffByDefault(t *testing.T) {
	t.Parallel()
	c := fly(t, func(p *config.Pool) { p.Canary.Enabled = false }, simulate.Spec{Kind: simulate.KindTriton, Streaming: true})
	c.eventually(`replica_id="r0",state="ready",trtllm_version="1.1.0"} 1`)
	scrapes := c.status(0).Scrapes
	c.until("ten scrapes", 0, func(map[string]float64) bool {
		requireNoText(t, c.page(), "canary")
		return c.status(0).Scrapes >= scrapes+10
	})
	require.Zero(t, c.server(0).Truth().Arrived)
	require.Nil(t, c.status(0).Canary)
}

func TestReloadKeepsCanaryResultsUnlessCanaryChanges(t *testing.T) {
	t.Parallel()
	c := fly(t, nil, simulate.Spec{Kind: simulate.KindServe})
	before := c.well(0, 3)["requests_total ok"]
	c.apply(c.config, pool("other", "nobody=127.0.0.1:1"))
	require.GreaterOrEqual(t, c.well(0, 1)["requests_total ok"], before+1)

	c.config.Canary.MaxTokens = 4
	c.apply(c.config)
	s := c.until("a canary that begins again", 0, func(s map[string]float64) bool { return s["tokens"] == 4 })
	require.LessOrEqual(t, s["requests_total ok"]+before, float64(c.server(0).Truth().Arrived), "what was counted before")
}
