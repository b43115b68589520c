package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Spec configures a replica. Zero fields have defaults for the kind.
type Spec struct {
	// Name is the replica's name in the fleet.
	Name string
	Kind Kind
	Ports
	// Seed determines all randomness.
	Seed uint64
	// Speed is simulated seconds per second, at most 1000; 0 for Advance only.
	Speed float64
	// EngineVersion is the version of Triton, NIM, Dynamo, vLLM or SGLang;
	// TRTLLMVersion the version of TensorRT-LLM inside (for trtllm-serve the only one).
	EngineVersion, TRTLLMVersion string
	// Model is the served model name, for servers that have one.
	Model string
	// Streaming streams every request, with one call of postprocessing per token.
	Streaming bool
	GPUs      int
	Setup
	// LoadDuration is the time until ports open.
	LoadDuration time.Duration
	Workload     Workload
	Engine       Engine
	Scenario     Scenario
}

// Ports are the IPv4 address and ports of a replica; 0 for any, APIPort for the only one.
type Ports struct {
	Host                 string
	APIPort, MetricsPort int
}

// Setup has the flags of a server and the configs of its models.
type Setup struct {
	// CalledOnly leaves out models of a Triton that neither clients nor an ensemble call.
	CalledOnly bool
	// BLS makes clients of a Triton call model "tensorrt_llm_bls" instead of "ensemble".
	BLS bool
	// Summaries and Histograms are --metrics-config's summary_latencies and
	// histogram_latencies.
	Summaries, Histograms bool
	// StaticBatching is gpt_model_type V1: other families, no in-flight batching gauges.
	StaticBatching bool
	// DeclareVersion puts a trtllm_version parameter into the model config.
	DeclareVersion bool
	// NoPerfMetrics is trtllm-serve without return_perf_metrics, vLLM with
	// --disable-log-stats or SGLang without --enable-metrics; NoIterationStats is
	// trtllm-serve without enable_iter_perf_stats.
	NoPerfMetrics, NoIterationStats bool
	// OldEngine is vLLM with engine V0, which ended with 0.11.0.
	OldEngine bool
	// RustFrontend is vLLM with its frontend in Rust, AttentionDP trtllm-serve with attention data
	// parallelism, and KVRouter a frontend of Dynamo with two workers to choose from by their caches.
	// They change pages alone.
	RustFrontend, AttentionDP, KVRouter bool
	// Stage makes it one of several servers that share the work on a request. A vLLM then shows what NIXL moves.
	Stage Stage
	// Drafts is vLLM, SGLang or trtllm-serve with speculative decoding, Adapters vLLM with LoRA adapters, and
	// Transfers vLLM or SGLang as a decode server with a cache in the memory of the host, States SGLang with a model
	// that has a state for each request too. They change pages alone.
	Drafts, Adapters, Transfers, States bool
	// Change is the last change to the page of a trtllm-serve 1.3 between its release candidates, a pull
	// request; empty for the newest.
	Change string
}

// complete returns the spec with defaults, and its software.
func (s Spec) complete() (Spec, software, error) {
	setDefault(&s.Kind, KindTriton)
	setDefault(&s.Name, string(s.Kind))
	kind, ok := kinds()[s.Kind]
	if !ok {
		return s, kind, fmt.Errorf("kind: unknown server %q; the function kinds in kind.go of simulate lists them", s.Kind)
	}
	setDefault(&s.EngineVersion, kind.engineVersion)
	setDefault(&s.TRTLLMVersion, kind.trtllmVersion)
	setDefault(&s.Model, cmp.Or(kind.model, "tiny-llama"))
	var err error
	if kind.complete != nil {
		err = kind.complete(&s)
	}
	setDefault(&s.Host, "127.0.0.1")
	if s.Stage == StagePrefill {
		s.Workload.OutputTokens, s.Workload.MaxOutput = 1, 1
	}
	s.Workload, s.Engine = s.Workload.withDefaults(), s.Engine.withDefaults()
	switch {
	case err != nil:
	case s.Speed < 0 || s.Speed > 1000:
		err = fmt.Errorf("speed: %v is outside 0 to 1000", s.Speed)
	case s.Engine.KVBlocks < 4:
		err = errors.New("engine: a KV cache needs at least 4 blocks")
	}
	return s, kind, err
}
