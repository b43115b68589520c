package simulate

import "time"

// triton is a simulated tritonserver process with its model repository.
type triton struct {
	w       *world
	version tritonVersion
	models  []*model // In the order of the repository index: by name.
	trt     *trtllmState
	vllm    *vllmState
	host    hostGauges
	drained bool
	began   time.Duration // Of draining.
	at      time.Duration // Of the next tick.
	seed    uint64
}

// tritonTick is the period of the TRT-LLM backend's statistics thread
// (stats_check_period_ms) and the simulator's own housekeeping.
const tritonTick = 100 * time.Millisecond

// exitTimeout is Triton's --exit-timeout-secs.
const exitTimeout = 30 * time.Second

// role is a model's part in a request.
type role int

const (
	roleLLM role = iota
	rolePre
	rolePost
	roleEnsemble
	roleBLS
	roleOther
)

func newTriton(w *world) *triton {
	// Validate has checked the version; what cannot be read has no families.
	v, _ := parseTritonVersion(w.spec.EngineVersion)
	t := &triton{w: w, version: v, seed: mix(w.spec.Seed, "order"+w.spec.EngineVersion) + uint64(w.truth.Epoch)}
	decoupled := w.spec.Streaming
	add := func(name string, r role, backend string, decoupled bool, load float64) {
		t.models = append(t.models, &model{
			name: name, role: r, backend: backend, decoupled: decoupled, loadSeconds: load, state: modelReady,
		})
	}
	switch w.spec.Kind {
	case KindTritonLLMAPI:
		add("tensorrt_llm", roleLLM, "python", true, 41.220145713)
	case KindTritonVLLM:
		add("vllm_model", roleLLM, "vllm", true, 38.007213551)
		t.vllm = newVLLMState()
	case KindTritonCore:
		add("densenet_onnx", roleOther, "onnxruntime", false, 0.731204)
		add("resnet50", roleLLM, "onnxruntime", false, 1.904518)
	default:
		backend := "tensorrtllm"
		if w.spec.Kind == KindTritonPython {
			backend = "python"
		}
		add("ensemble", roleEnsemble, "", decoupled, 0.000412)
		add("postprocessing", rolePost, "python", false, 3.917212)
		add("preprocessing", rolePre, "python", false, 4.182733)
		add("tensorrt_llm", roleLLM, backend, decoupled, 38.54021973)
		add("tensorrt_llm_bls", roleBLS, "python", decoupled, 3.800112)
		if w.spec.Kind != KindTritonPython || v >= triton2407 {
			t.trt = newTRTLLMState()
		}
	}
	for _, m := range t.models {
		m.reset()
	}
	t.host = newHostGauges(w.spec)
	t.at = w.now + tritonTick
	return t
}

// model finds the model that plays a part; nil when the repository has none.
func (t *triton) model(r role) *model {
	for _, m := range t.models {
		if m.role == r {
			return m
		}
	}
	return nil
}

// entry is the model the clients call.
func (t *triton) entry() *model {
	switch {
	case t.w.spec.Topology == TopologyEnsemble && t.model(roleEnsemble) != nil:
		return t.model(roleEnsemble)
	case t.w.spec.Topology == TopologyBLS && t.model(roleBLS) != nil:
		return t.model(roleBLS)
	default:
		return t.model(roleLLM)
	}
}

// direct says that clients call the LLM model itself, without pre- and
// postprocessing.
func (t *triton) direct() bool { return t.entry().role == roleLLM }

// pythonRule says that a model's statistics end when its execute() returns, not
// when its last response is sent: decoupled models of the Python backend.
func (m *model) pythonRule() bool {
	return m.decoupled && (m.backend == "python" || m.backend == "vllm")
}

func (t *triton) next() time.Duration { return t.at }

func (t *triton) tick() {
	t.at = t.w.now + tritonTick
	if t.trt != nil && t.w.engine != nil {
		t.trt.sample(t.w.engine)
	}
	t.host.tick(t.w)
	t.lifecycle()
}
