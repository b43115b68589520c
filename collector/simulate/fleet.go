package simulate

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// FleetSpec lists the pools of a fleet.
type FleetSpec struct{ Pools []PoolSpec }

// PoolSpec lists the replicas of a pool.
type PoolSpec struct {
	Name     string
	Replicas []Spec
}

// Fleet is a number of running replicas. Its methods are safe for concurrent use.
type Fleet struct {
	pools  []Pool
	all    []*Replica
	cancel context.CancelFunc
	pacing sync.WaitGroup
}

// Pool has the running replicas of a PoolSpec.
type Pool struct {
	Name     string
	Replicas []*Replica
}

// paceEvery is short, so that tokens are streamed smoothly.
const paceEvery = 20 * time.Millisecond

// StartFleet opens the ports of all replicas and advances those with a Speed by the wall
// clock until ctx ends or Close is called. Close must be called in any case.
func StartFleet(ctx context.Context, spec FleetSpec) (*Fleet, error) {
	f := &Fleet{cancel: func() {}}
	for _, p := range spec.Pools {
		pool := Pool{Name: p.Name}
		for _, s := range p.Replicas {
			r, err := NewReplica(s)
			if err == nil {
				pool.Replicas, f.all = append(pool.Replicas, r), append(f.all, r)
				err = r.Listen(ctx)
			}
			if err != nil {
				f.Close()
				return nil, fmt.Errorf("pool %s: %w", p.Name, err)
			}
		}
		f.pools = append(f.pools, pool)
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.pacing.Go(func() { f.pace(ctx) })
	return f, nil
}

func (f *Fleet) pace(ctx context.Context) {
	ticker := time.NewTicker(paceEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, r := range f.all {
			r.pace() //nolint:contextcheck // A port opens again at its own time, not within a call.
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Close closes all ports and waits for everything the fleet started.
func (f *Fleet) Close() {
	f.cancel()
	f.pacing.Wait()
	for _, r := range f.all {
		r.Close()
	}
}

// Pools returns the pools in the order of the spec; the slice must not be changed.
func (f *Fleet) Pools() []Pool { return f.pools }

// Replica returns a replica by its pool and name; nil if there is none.
func (f *Fleet) Replica(pool, name string) *Replica {
	for _, p := range f.pools {
		for _, r := range p.Replicas {
			if p.Name == pool && r.Name() == name {
				return r
			}
		}
	}
	return nil
}

// DemoFleet returns pool llama-70b-prod with three Triton 25.12 (2.64.0, TensorRT-LLM 1.1.0), and
// pool qwen-7b-chat with three trtllm-serve, two of them 1.3.0rc14 and one 1.1.0. Each replica has
// one burst per minute, so that the numbers move within seconds.
func DemoFleet(speed float64) FleetSpec {
	llama, qwen := PoolSpec{Name: "llama-70b-prod"}, PoolSpec{Name: "qwen-7b-chat"}
	for i := range 3 {
		wave := time.Duration(5+20*i) * time.Second
		llama.Replicas = append(llama.Replicas, Spec{
			Name: fmt.Sprintf("llama-70b-%d", i), Kind: KindTriton, Seed: uint64(10 + i), Speed: speed,
			EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0",
			Setup: Setup{Histograms: true}, Streaming: true, GPUs: 4,
			LoadDuration: time.Duration(i) * 500 * time.Millisecond,
			Workload: Workload{
				Rate:         3,
				PromptTokens: 700,
				OutputTokens: 180,
				ErrorRate:    0.004,
				SharedPrefix: 0.6,
				PrefixTokens: 512,
			},
			Engine: Engine{
				MaxActive:       48,
				MaxBatch:        32,
				KVBlocks:        1200,
				TokensPerBlock:  64,
				IterationBase:   18 * time.Millisecond,
				PerContextToken: 40 * time.Microsecond,
				PerSequence:     250 * time.Microsecond,
			},
			Scenario: Burst(wave, 12*time.Second, 3, 9).Repeat(5000, time.Minute),
		})
		kind, version := KindServe, "1.3.0rc14"
		if i == 2 {
			kind, version = KindServeOld, "1.1.0"
		}
		qwen.Replicas = append(qwen.Replicas, Spec{
			Name: fmt.Sprintf("qwen-7b-%d", i), Kind: kind, Seed: uint64(20 + i), Speed: speed,
			TRTLLMVersion: version, Model: "qwen-7b-chat", GPUs: 1, Streaming: true,
			Workload: Workload{Rate: 12, PromptTokens: 350, OutputTokens: 140, SharedPrefix: 0.5},
			Engine: Engine{
				MaxActive:       32,
				KVBlocks:        2400,
				TokensPerBlock:  32,
				IterationBase:   6 * time.Millisecond,
				PerContextToken: 8 * time.Microsecond,
				PerSequence:     110 * time.Microsecond,
			},
			Scenario: Burst(wave+8*time.Second, 12*time.Second, 12, 30).Repeat(5000, time.Minute),
		})
	}
	return FleetSpec{Pools: []PoolSpec{llama, qwen}}
}

// MixedFleet returns [DemoFleet] with a third pool of four kinds of engines.
func MixedFleet(speed float64) FleetSpec {
	fleet, mixed := DemoFleet(speed), PoolSpec{Name: "mistral-24b-mixed"}
	for i, kind := range []Kind{KindVLLM, KindSGLang, KindServe, KindTriton, KindTritonLLMAPIModule} {
		mixed.Replicas = append(mixed.Replicas, Spec{
			Name: fmt.Sprintf("mistral-24b-%d", i), Kind: kind, Seed: uint64(30 + i), Speed: speed,
			Model: "mistral-24b", GPUs: 1, Streaming: true,
			Workload: Workload{Rate: 6, PromptTokens: 400, OutputTokens: 150, SharedPrefix: 0.4, AbandonRate: 0.02},
			Engine:   Engine{MaxActive: 32, KVBlocks: 2400, TokensPerBlock: 32},
		})
	}
	fleet.Pools = append(fleet.Pools, mixed)
	return fleet
}

// StagedPools returns pools whose servers share the work on each request: gpt-oss-120b has vLLM that prefill
// or decode, qwen-32b trtllm-serve behind their orchestrator. Each server has clients of its own, at the
// rate that reaches its stage.
func StagedPools(speed float64) []PoolSpec {
	vllm, serve := PoolSpec{Name: "gpt-oss-120b"}, PoolSpec{Name: "qwen-32b"}
	for i, name := range []string{"prefill-0", "prefill-1", "decode-0", "decode-1"} {
		spec := Spec{
			Name: name, Kind: KindVLLM, Seed: uint64(70 + i), Speed: speed, Model: "gpt-oss-120b", GPUs: 2, Streaming: true,
			Setup:    Setup{Stage: StagePrefill},
			Workload: Workload{Rate: 5.5, PromptTokens: 1200, OutputTokens: 200, SharedPrefix: 0.3},
			Engine:   Engine{PerContextToken: 40 * time.Microsecond},
		}
		if i > 1 {
			spec.Stage = StageDecode
			spec.Engine = Engine{
				MaxActive:       24,
				IterationBase:   12 * time.Millisecond,
				PerSequence:     200 * time.Microsecond,
				PerContextToken: 5 * time.Microsecond, // 26 GB/s.
			}
		}
		vllm.Replicas = append(vllm.Replicas, spec)
	}
	for i, stage := range []struct {
		name  string
		kind  Kind
		stage Stage
		rate  float64
	}{
		{"orchestrator-0", KindServeDisaggregated, "", 8},
		{"ctx-0", KindServe, StagePrefill, 8},
		{"gen-0", KindServe, StageDecode, 4},
		{"gen-1", KindServe, StageDecode, 4},
	} {
		serve.Replicas = append(serve.Replicas, Spec{
			Name: stage.name, Kind: stage.kind, Seed: uint64(80 + i), Speed: speed, Model: "qwen-32b", Streaming: true,
			TRTLLMVersion: "1.3.0rc14", GPUs: 1,
			Setup:    Setup{Stage: stage.stage},
			Workload: Workload{Rate: stage.rate, PromptTokens: 600, OutputTokens: 150, SharedPrefix: 0.3},
			Engine:   Engine{MaxActive: 64, IterationBase: 8 * time.Millisecond},
		})
	}
	return []PoolSpec{vllm, serve}
}
