//go:build e2e_live

package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// fleetSpec returns a pool for each fault, and pools that stay healthy.
func fleetSpec() simulate.FleetSpec {
	var spec simulate.FleetSpec
	seed := uint64(0)
	add := func(pool string, n int, like simulate.Spec) {
		p := simulate.PoolSpec{Name: pool}
		for i := range n {
			seed++
			s := like
			s.Name, s.Seed, s.Speed, s.GPUs = fmt.Sprintf("%s-%d", pool, i), seed, 1, 1
			p.Replicas = append(p.Replicas, s)
		}
		spec.Pools = append(spec.Pools, p)
	}
	work := simulate.Workload{
		Rate:         3,
		PromptTokens: 200,
		OutputTokens: 60,
		Spread:       0.3,
		SharedPrefix: 0.6,
		PrefixTokens: 128,
	}
	small := simulate.Engine{MaxActive: 16, KVBlocks: 1200, IterationBase: 8 * time.Millisecond}
	triton := simulate.Spec{
		Kind:          simulate.KindTriton,
		EngineVersion: "2.65.0",
		TRTLLMVersion: "1.1.0",
		Setup:         simulate.Setup{Histograms: true, Summaries: true},
		Workload:      work,
		Engine:        small,
	}
	serve := simulate.Spec{Kind: simulate.KindServe, Model: "qwen", Workload: work, Engine: small}
	streaming := triton
	streaming.Streaming = true
	llmapi := streaming
	llmapi.Kind = simulate.KindTritonLLMAPIModule

	add("calm", 2, triton)
	add("calm-stream", 1, streaming)
	add("failing", 2, triton)
	add("lossy", 3, triton)
	add("mixed", 2, triton)
	// Only an executor with requests in flight can hang.
	full := triton
	full.Workload.Rate = 12
	add("stuck", 2, full)
	add("busy", 2, serve)
	tight := triton
	tight.Engine = simulate.Engine{
		MaxActive:      256,
		KVBlocks:       1000,
		TokensPerBlock: 16,
		IterationBase:  8 * time.Millisecond,
	}
	tight.Workload = simulate.Workload{Rate: 0.5, PromptTokens: 100, OutputTokens: 400, Spread: 0.3}
	add("tight", 1, tight)
	add("lone", 1, serve)
	add("hung", 2, streaming)
	add("module", 1, llmapi)
	llmapi.Workload.Rate = 12
	add("module-stuck", 2, llmapi)
	kinds := simulate.PoolSpec{Name: kindsPool}
	for _, kind := range kindsOfPool() {
		kinds.Replicas = append(kinds.Replicas, simulate.Spec{
			Name: "of-" + string(
				kind,
			),
			Kind:      kind,
			Seed:      90,
			Speed:     1,
			Model:     kindsModel,
			Streaming: true,
			Setup:     simulate.Setup{Histograms: true},
			Workload:  work,
			Engine:    small,
		})
	}
	spec.Pools = append(spec.Pools, kinds)
	return spec
}

// exporterConfig has a pool for each pool of the fleet.
func exporterConfig(fleet *simulate.Fleet) string {
	var b strings.Builder
	b.WriteString("global: { scrape_interval: 3s, scrape_timeout: 3s, window: 15s, stall_after: 20s }\npools:\n")
	for _, pool := range fleet.Pools() {
		fmt.Fprintf(&b, "  - pool_id: %s\n    identity_interval: 3s\n", pool.Name)
		switch pool.Name {
		case "calm", "calm-stream", "hung", "failing":
			b.WriteString("    canary: { enabled: true, interval: 10s, end_timeout: 2s }\n")
		}
		b.WriteString(questions(pool))
		if pool.Name == "calm" {
			b.WriteString("    expect: { engine_version: \"2.65.0\" }\n")
		}
		switch pool.Name {
		case "calm":
			b.WriteString("    slo: { availability: { objective: 0.995 } }\n")
		case "busy":
			b.WriteString("    slo: { ttft: { le: 2500ms, objective: 0.95 }, tpot: { le: 100ms, objective: 0.5 }, " +
				"e2e: { le: 40s, objective: 0.5 } }\n")
		case "failing":
			b.WriteString("    slo: { availability: { objective: 0.995 } }\n")
		}
		if pool.Name == kindsPool {
			b.WriteString(modelIDs)
		}
		b.WriteString(targets(pool))
	}
	return b.String()
}

// modelIDs gives one name to a model that each kind of server names differently.
const modelIDs = "    model_ids: { mistral: [mistral, ensemble, tensorrt_llm, tensorrt_llm_bls, preprocessing, " +
	"postprocessing] }\n"

// questions lets the exporter ask the replicas that hang, since only that proves it.
func questions(pool simulate.Pool) string {
	if strings.HasSuffix(pool.Name, "stuck") {
		return "    canary: { confirm: true }\n"
	}
	return ""
}

// targets returns the replicas of a pool in the exporter's configuration.
func targets(pool simulate.Pool) string {
	var b strings.Builder
	b.WriteString("    static_configs:\n")
	for _, r := range pool.Replicas {
		fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %s, __metrics_path__: %q, "+
			"__api_address__: %q } }\n",
			r.MetricsAddr(), r.Name(), r.MetricsPath(), r.APIAddr())
	}
	return b.String()
}
