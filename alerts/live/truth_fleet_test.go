//go:build e2e_live

package live

import (
	"fmt"
	"testing"
	"time"

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
	f := fleetOf{seed: 40}
	engine := simulate.Engine{MaxActive: 48, KVBlocks: 1200, TokensPerBlock: 32, IterationBase: 10 * time.Millisecond}
	small := engine
	small.MaxActive = 8
	for _, s := range []simulate.Spec{
		{
			Kind:          simulate.KindTriton,
			EngineVersion: "2.64.0",
			TRTLLMVersion: "1.1.0",
			GPUs:          2,
			Model:         poolTriton,
			Workload:      simulate.Workload{Rate: 5, ErrorRate: 0.08},
			Engine:        engine,
		},
		{Kind: simulate.KindServe, Model: poolServe, Workload: simulate.Workload{Rate: 5}, Engine: engine},
		{Kind: simulate.KindVLLM, Model: poolVLLM, Workload: simulate.Workload{Rate: 5.6}, Engine: small},
		{Kind: simulate.KindSGLang, Model: poolSGLang, Workload: simulate.Workload{Rate: 5}, Engine: engine},
	} {
		s.Streaming, s.Histograms = true, true
		w := &s.Workload
		w.PromptTokens, w.OutputTokens, w.Spread, w.SharedPrefix, w.PrefixTokens = 300, 100, 0.4, 0.4, 128
		// The second one gets more requests, so that the mean differs from both.
		busier := s
		busier.Workload.Rate *= 1.3
		f.add(s.Model, s, busier)
	}
	return f.FleetSpec
}

// truthSetting scrapes often, so that panels show events soon. An exporter is started with each of these
// flags; more is added to every configuration.
func truthSetting(t *testing.T, more string, flags [][]string) setting {
	t.Helper()
	v := shippedValues(t, step)
	v["evaluation_interval"] = step.String()
	set := setting{fleet: truthFleet(), values: v, prometheus: []string{"15s", step.String()}}
	global := fmt.Sprintf("%sglobal: { scrape_interval: 1s, scrape_timeout: 1s, window: %s }", more, over)
	for _, own := range flags {
		set.exporters = append(set.exporters, serving(func(fleet *simulate.Fleet) string {
			return configured(global, fleet.Pools(), questions)
		}, own...))
	}
	return set
}
