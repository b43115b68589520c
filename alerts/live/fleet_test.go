//go:build e2e_live

package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// Pools of the fleets. The servers of kindsPool serve one model, each under its own name.
const (
	kindsPool = "calm-kinds"
	rolled    = "rolled"
)

func ofKind(kind simulate.Kind) string { return "of-" + string(kind) }

// fleetOf collects pools, whose replicas get names and seeds.
type fleetOf struct {
	simulate.FleetSpec

	seed uint64
}

// add adds a pool.
func (f *fleetOf) add(pool string, replicas ...simulate.Spec) {
	p := simulate.PoolSpec{Name: pool}
	for i, s := range replicas {
		f.seed++
		s.Name, s.Seed, s.Speed = fmt.Sprintf("%s-%d", pool, i), f.seed, 1
		p.Replicas = append(p.Replicas, s)
	}
	f.Pools = append(f.Pools, p)
}

// several returns replicas that are alike.
func several(n int, like simulate.Spec) []simulate.Spec {
	return slices.Repeat([]simulate.Spec{like}, n)
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

// kindsOfPool returns the kinds of servers in kindsPool.
func kindsOfPool() []simulate.Kind {
	return []simulate.Kind{simulate.KindVLLM, simulate.KindSGLang, simulate.KindServe, simulate.KindTriton}
}

// server returns a server of a kind with few requests.
func server(kind simulate.Kind) simulate.Spec {
	return simulate.Spec{
		Kind:      kind,
		Model:     "mistral",
		Streaming: true,
		Setup:     simulate.Setup{Histograms: true},
		Workload:  simulate.Workload{Rate: 2, PromptTokens: 200, OutputTokens: 80, Spread: 0.5},
		Engine:    simulate.Engine{MaxActive: 32, KVBlocks: 2400, TokensPerBlock: 32},
	}
}

// breakable returns a pool for each fault, and pools that stay healthy.
func breakable() simulate.FleetSpec {
	var f fleetOf
	triton := simulate.Spec{
		Kind:          simulate.KindTriton,
		EngineVersion: "2.65.0",
		TRTLLMVersion: "1.1.0",
		GPUs:          1,
		Setup:         simulate.Setup{Histograms: true, Summaries: true},
		Workload: simulate.Workload{
			Rate:         3,
			PromptTokens: 200,
			OutputTokens: 60,
			Spread:       0.3,
			SharedPrefix: 0.6,
			PrefixTokens: 128,
		},
		Engine: simulate.Engine{MaxActive: 16, KVBlocks: 1200, IterationBase: 8 * time.Millisecond},
	}
	serve := triton
	serve.Kind, serve.Model, serve.EngineVersion, serve.TRTLLMVersion = simulate.KindServe, "qwen", "", ""
	serve.Setup = simulate.Setup{}
	streaming := triton
	streaming.Streaming = true
	module := streaming
	module.Kind = simulate.KindTritonLLMAPIModule
	// Only an executor with requests in flight can hang.
	full, fullModule := triton, module
	full.Workload.Rate, fullModule.Workload.Rate = 12, 12
	tight := triton
	tight.Engine.MaxActive, tight.Engine.KVBlocks, tight.Engine.TokensPerBlock = 256, 1000, 16
	tight.Workload = simulate.Workload{Rate: 0.5, PromptTokens: 100, OutputTokens: 400, Spread: 0.3}

	f.add("calm", several(2, triton)...)
	f.add("calm-stream", streaming)
	f.add("failing", several(2, triton)...)
	f.add("lossy", several(3, triton)...)
	f.add("mixed", several(2, triton)...)
	f.add("stuck", several(2, full)...)
	f.add("busy", several(2, serve)...)
	f.add("tight", tight)
	f.add("lone", serve)
	f.add("hung", several(2, streaming)...)
	f.add("module", module)
	f.add("module-stuck", several(2, fullModule)...)
	var kinds []simulate.Spec
	for _, kind := range kindsOfPool() {
		s := server(kind)
		s.Workload, s.Engine = triton.Workload, triton.Engine
		kinds = append(kinds, s)
	}
	f.add(kindsPool, kinds...)
	return f.FleetSpec
}

// healthy returns a pool for each kind of server, and one with several kinds.
func healthy() *fleetOf {
	f := &fleetOf{}
	of := func(kind simulate.Kind) simulate.Spec {
		s := server(kind)
		s.GPUs = 1
		s.Workload.SharedPrefix, s.Workload.PrefixTokens, s.Workload.AbandonRate = 0.6, 128, 0.01
		return s
	}
	for _, kind := range everyKind() {
		f.add(ofKind(kind), several(2, of(kind))...)
	}
	var kinds []simulate.Spec
	for _, kind := range kindsOfPool() {
		kinds = append(kinds, of(kind))
	}
	f.add(kindsPool, kinds...)
	return f
}

// healthyAndRolled has, in addition, a pool of Tritons of an older version, whose replicas are updated
// one after the other.
func healthyAndRolled() simulate.FleetSpec {
	f, old := healthy(), server(simulate.KindTriton)
	old.GPUs, old.EngineVersion, old.TRTLLMVersion = 1, "2.64.0", "1.1.0"
	f.add(rolled, several(4, old)...)
	return f.FleetSpec
}

// alike returns a fleet of pools p0, p1 and so on with that many servers of a kind.
func alike(kind simulate.Kind, replicas ...int) simulate.FleetSpec {
	f := fleetOf{seed: 300}
	for i, n := range replicas {
		f.add(fmt.Sprint("p", i), several(n, server(kind))...)
	}
	return f.FleetSpec
}

// configured returns a configuration of the exporter with these pools, for each of which keys returns
// lines.
func configured(global string, pools []simulate.Pool, keys func(pool *simulate.Pool) []string) string {
	var b strings.Builder
	b.WriteString(global + "\npools:\n")
	for i := range pools {
		fmt.Fprintf(&b, "  - pool_id: %s\n", pools[i].Name)
		for _, key := range keys(&pools[i]) {
			fmt.Fprintf(&b, "    %s\n", key)
		}
		b.WriteString("    static_configs:\n")
		for _, r := range pools[i].Replicas {
			fmt.Fprintf(&b, "      - { targets: [%q], labels: { replica_id: %s, __metrics_path__: %q, "+
				"__api_address__: %q } }\n", r.MetricsAddr(), r.Name(), r.MetricsPath(), r.APIAddr())
		}
	}
	return b.String()
}

// questions lets the exporter ask the replicas that hang, since only that proves it.
func questions(pool *simulate.Pool) []string {
	if strings.HasSuffix(pool.Name, "stuck") {
		return []string{"canary: { confirm: true }"}
	}
	return nil
}

// modelIDs gives one name to a model that each kind of server names differently.
const modelIDs = "model_ids: { mistral: [mistral, ensemble, tensorrt_llm, tensorrt_llm_bls, preprocessing, " +
	"postprocessing] }"

// everyPool returns a configuration with the pools of the fleet only.
func everyPool(fleet *simulate.Fleet) string { return configured("", fleet.Pools(), questions) }

// breakableConfig has short intervals.
func breakableConfig(fleet *simulate.Fleet) string {
	const often = "global: { scrape_interval: 3s, scrape_timeout: 3s, window: 15s, stall_after: 20s }"
	const canary = "canary: { enabled: true, interval: 10s, end_timeout: 2s }"
	const available = "slo: { availability: { objective: 0.995 } }"
	own := map[string][]string{
		"calm":        {canary, `expect: { engine_version: "2.65.0" }`, available},
		"calm-stream": {canary},
		"hung":        {canary},
		"failing":     {canary, available},
		"busy": {"slo: { ttft: { le: 2500ms, objective: 0.95 }, tpot: { le: 100ms, objective: 0.5 }, " +
			"e2e: { le: 40s, objective: 0.5 } }"},
		kindsPool: {modelIDs},
	}
	return configured(often, fleet.Pools(), func(pool *simulate.Pool) []string {
		return slices.Concat([]string{"identity_interval: 3s"}, own[pool.Name], questions(pool))
	})
}

// healthyConfig configures for each pool what its servers support: the number of replicas,
// the canary, and objectives that they measure.
func healthyConfig(global string) func(*simulate.Fleet) string {
	const all = "slo: { ttft: { le: 2500ms, objective: 0.95 }, tpot: { le: 100ms, objective: 0.9 }, " +
		"e2e: { le: 40s, objective: 0.95 } }"
	own := map[string][]string{
		kindsPool:                   {"slo: { ttft: { le: 5s, objective: 0.9 } }", modelIDs},
		ofKind(simulate.KindVLLM):   {all},
		ofKind(simulate.KindServe):  {all},
		ofKind(simulate.KindTriton): {"slo: { ttft: { le: 5s, objective: 0.9 }, availability: { objective: 0.995 } }"},
	}
	return func(fleet *simulate.Fleet) string {
		return configured(global, fleet.Pools(), func(pool *simulate.Pool) []string {
			keys := append([]string{fmt.Sprintf("expect: { replicas: %d }", len(pool.Replicas))}, own[pool.Name]...)
			kind := pool.Replicas[0].Spec().Kind
			if kind == simulate.KindDynamo || kind == simulate.KindTritonCore {
				return keys // Neither a worker nor a Triton without an LLM answers a canary.
			}
			return append(keys, "canary: { enabled: true, interval: 30s }")
		})
	}
}
