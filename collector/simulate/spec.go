package simulate

import (
	"errors"
	"fmt"
	"time"
)

// Kind names a server the simulator can be.
type Kind string

// The servers. The four Triton sets share port behaviour and core families and
// differ in what their LLM model publishes.
const (
	KindTriton       Kind = "triton"           // Set A: C++ backend "tensorrtllm".
	KindTritonPython Kind = "triton-python"    // Set B: Python executor backend.
	KindTritonLLMAPI Kind = "triton-llmapi"    // Set C: LLM API (PyTorch) model, nv_inference_* only.
	KindTritonCore   Kind = "triton-core"      // Set D: Triton without an LLM backend.
	KindTritonVLLM   Kind = "triton-vllm"      // Set D with the vLLM backend's families.
	KindTritonOpenAI Kind = "triton-openai"    // Triton's OpenAI frontend, one port.
	KindServe        Kind = "trtllm-serve"     // Prefixed names, PRs up to 12636 (1.3 rc, April 2026 on).
	KindServeGen2    Kind = "trtllm-serve-pre" // Prefixed names of PR 11243 only (1.3.0rc5).
	KindServeOld     Kind = "trtllm-serve-old" // The five names without prefix (1.1).
	KindNIM          Kind = "nim"              // NIM for LLMs 1.x.
	KindDynamo       Kind = "dynamo"           // Dynamo frontend and one TRT-LLM worker.
)

// Topology says through which model of a Triton repository requests come in.
type Topology string

// The ways into a Triton LLM repository.
const (
	TopologyEnsemble Topology = "ensemble" // The model "ensemble".
	TopologyBLS      Topology = "bls"      // The model "tensorrt_llm_bls".
)

// Phase is the state of a replica's process.
type Phase string

// The phases. Both ports refuse while loading and while down.
const (
	PhaseLoading  Phase = "loading"
	PhaseServing  Phase = "serving"
	PhaseDraining Phase = "draining" // The API port refuses, the metrics port answers.
	PhaseDown     Phase = "down"
)

// Spec says what a replica is. Zero fields take sensible values for the kind.
type Spec struct {
	// Name is the replica's name in the fleet.
	Name string
	Kind Kind
	// Host and ports to listen on; ports of 0 are chosen by the system. Servers
	// with one port use APIPort.
	Host                 string
	APIPort, MetricsPort int
	// Seed decides everything random.
	Seed uint64
	// Speed is the simulated seconds per real second, at most 1000; 0 leaves time to
	// Advance.
	Speed float64
	// EngineVersion is Triton's, NIM's or Dynamo's version; TRTLLMVersion the
	// version of TensorRT-LLM inside (for trtllm-serve the only one).
	EngineVersion, TRTLLMVersion string
	// Model is the served model name of servers that have one.
	Model    string
	Topology Topology
	// Streaming makes every request a streamed one: tensorrt_llm is decoupled and
	// postprocessing runs once a token.
	Streaming bool
	GPUs      int
	// Summaries and Histograms are --metrics-config's summary_latencies and
	// histogram_latencies; CountersFrozen is counter_latencies=false.
	Summaries, Histograms, CountersFrozen bool
	// StaticBatching is gpt_model_type V1: other families, no in-flight batching gauges.
	StaticBatching bool
	// DeclareVersion puts a trtllm_version parameter into the model config.
	DeclareVersion bool
	// NoPerfMetrics is trtllm-serve without return_perf_metrics; NoIterationStats
	// is it without enable_iter_perf_stats.
	NoPerfMetrics, NoIterationStats bool
	// LoadDuration is the time from process start to open ports, ModelLoad that
	// of a model loaded by API, UnloadDuration that of an unload.
	LoadDuration, ModelLoad, UnloadDuration time.Duration
	Workload                                Workload
	Engine                                  Engine
	Scenario                                Scenario
}

func (s Spec) withDefaults() Spec {
	setDefault(&s.Kind, KindTriton)
	setDefault(&s.Name, string(s.Kind))
	setDefault(&s.Host, "127.0.0.1")
	setDefault(&s.Topology, TopologyEnsemble)
	setDefault(&s.ModelLoad, 2*time.Second)
	setDefault(&s.UnloadDuration, 1500*time.Millisecond)
	switch s.Kind {
	case KindServe:
		setDefault(&s.TRTLLMVersion, "1.3.0rc14")
	case KindServeGen2:
		setDefault(&s.TRTLLMVersion, "1.3.0rc5")
	case KindServeOld:
		setDefault(&s.TRTLLMVersion, "1.1.0")
	case KindNIM:
		setDefault(&s.EngineVersion, "1.0.0")
		setDefault(&s.Model, "meta/llama-3.1-8b-instruct")
	case KindDynamo:
		setDefault(&s.EngineVersion, "1.6.1")
		setDefault(&s.TRTLLMVersion, "1.3.0rc5")
	default:
		setDefault(&s.EngineVersion, "2.64.0")
		setDefault(&s.TRTLLMVersion, "1.1.0")
		if s.Kind == KindTritonLLMAPI || s.Kind == KindTritonVLLM {
			s.Streaming = true
		}
	}
	if s.Kind == KindTritonCore {
		// One answer per request, one request at a time: the queue is Triton's own.
		s.Workload.MaxPrompt, s.Workload.MaxOutput, s.Workload.PromptTokens, s.Workload.OutputTokens = 1, 1, 1, 1
		setDefault(&s.Engine.MaxActive, 1)
	}
	setDefault(&s.Model, "tiny-llama")
	s.Workload = s.Workload.withDefaults()
	s.Engine = s.Engine.withDefaults()
	return s
}

// Validate says what is wrong with a spec.
func (s Spec) Validate() error {
	switch s.Kind {
	case KindTriton, KindTritonPython, KindTritonLLMAPI, KindTritonCore, KindTritonVLLM, KindTritonOpenAI:
		if _, err := parseTritonVersion(s.EngineVersion); err != nil {
			return err
		}
	case KindServe, KindServeGen2, KindServeOld, KindNIM, KindDynamo:
	default:
		return fmt.Errorf("kind: unknown server %q", s.Kind)
	}
	if s.Speed < 0 || s.Speed > 1000 {
		return fmt.Errorf("speed: %v is outside 0 to 1000", s.Speed)
	}
	if s.Engine.KVBlocks < 4 {
		return errors.New("engine: a KV cache needs at least 4 blocks")
	}
	return nil
}

// onePort says that the server has its metrics page on its API port.
func (k Kind) onePort() bool {
	switch k {
	case KindTritonOpenAI, KindServe, KindServeGen2, KindServeOld, KindNIM:
		return true
	default:
		return false
	}
}
