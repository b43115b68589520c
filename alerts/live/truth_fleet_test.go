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

// The pools whose panels are compared with the truth. vLLM servers are loaded up to their
// capacity, so that some requests wait.
const (
	poolTriton = "triton"
	poolServe  = "serve"
	poolVLLM   = "vllm"
	poolSGLang = "sglang"
)

// truthFleet returns two replicas of each of four kinds of servers.
func truthFleet() simulate.FleetSpec {
	var spec simulate.FleetSpec
	seed := uint64(40)
	add := func(pool string, like simulate.Spec) {
		p := simulate.PoolSpec{Name: pool}
		for i := range 2 {
			seed++
			s := like
			s.Name, s.Seed, s.Speed, s.Model, s.Streaming, s.Histograms = fmt.Sprintf(
				"%s-%d",
				pool,
				i,
			), seed, 1, pool, true, true
			// The second one gets more requests, so that the mean differs from both.
			s.Workload.Rate *= 1 + 0.3*float64(i)
			p.Replicas = append(p.Replicas, s)
		}
		spec.Pools = append(spec.Pools, p)
	}
	work := func(rate, failed float64) simulate.Workload {
		return simulate.Workload{
			Rate:         rate,
			PromptTokens: 300,
			OutputTokens: 100,
			Spread:       0.4,
			SharedPrefix: 0.4,
			PrefixTokens: 128,
			ErrorRate:    failed,
		}
	}
	engine := simulate.Engine{MaxActive: 48, KVBlocks: 1200, TokensPerBlock: 32, IterationBase: 10 * time.Millisecond}
	small := engine
	small.MaxActive = 8
	add(poolTriton, simulate.Spec{
		Kind:          simulate.KindTriton,
		EngineVersion: "2.64.0",
		TRTLLMVersion: "1.1.0",
		GPUs:          2,
		Workload:      work(5, 0.08),
		Engine:        engine,
	})
	add(poolServe, simulate.Spec{Kind: simulate.KindServe, Workload: work(5, 0), Engine: engine})
	add(poolVLLM, simulate.Spec{Kind: simulate.KindVLLM, Workload: work(5.6, 0), Engine: small})
	add(poolSGLang, simulate.Spec{Kind: simulate.KindSGLang, Workload: work(5, 0), Engine: engine})
	return spec
}

// truthSetting scrapes often, so that panels show events soon. Each command starts an
// exporter; more is added to every configuration.
func truthSetting(t *testing.T, more string, commands [][]string) setting {
	t.Helper()
	v, err := alerts.DefaultValues()
	require.NoError(t, err)
	v["scrape_interval"], v["evaluation_interval"] = "5s", "5s"
	set := setting{fleet: truthFleet(), values: v, prometheus: []string{"15s", "5s"}}
	for _, command := range commands {
		set.exporters = append(set.exporters, exporter{command, func(fleet *simulate.Fleet) string {
			return fmt.Sprintf("%sglobal: { scrape_interval: 1s, scrape_timeout: 1s, "+
				"window: %s }\n", more, over) + everyPool(fleet)
		}})
	}
	return set
}
