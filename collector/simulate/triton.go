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

func (t *triton) admit(r *request) bool {
	entry := t.entry()
	if entry.state != modelReady || t.model(roleLLM).state != modelReady {
		// Requests for a model that is not ready get an answer and no count; a BLS
		// model is ready all the same and fails.
		if entry.role == roleBLS && entry.state == modelReady {
			entry.fail("BACKEND", 0)
		}
		return false
	}
	if t.w.failing {
		t.deadStub()
		return false
	}
	if pre := t.model(rolePre); pre != nil && !t.direct() {
		pre.book(t.w.now, call{queue: 109 * time.Microsecond, input: 47 * time.Microsecond, infer: r.preTime, output: 39 * time.Microsecond})
		pre.respond(r.preTime)
	}
	return true
}

// deadStub books a request that meets a dead stub process: the step fails once,
// the ensemble over it twice.
func (t *triton) deadStub() {
	const took = 390 * time.Microsecond
	switch entry := t.entry(); entry.role {
	case roleEnsemble:
		t.model(rolePre).fail("BACKEND", took)
		entry.fail("OTHER", took)
		entry.fail("OTHER", took)
	default:
		entry.fail("BACKEND", took)
	}
}

// overflowed books a full executor queue: nowhere, but inside an ensemble once
// as the ensemble's failure.
func (t *triton) overflowed(*request) {
	if entry := t.entry(); entry.role == roleEnsemble {
		entry.fail("OTHER", 500*time.Microsecond)
	}
}

func (t *triton) accepted(*request) {
	if llm := t.model(roleLLM); llm.pythonRule() {
		// Success is booked at acceptance, and the time is that of handing over.
		llm.book(t.w.now, call{queue: 310 * time.Microsecond, input: 14 * time.Microsecond, infer: 2100 * time.Microsecond, output: 4 * time.Microsecond})
	}
}

func (t *triton) started(r *request) {
	if t.vllm != nil {
		t.vllm.ttft.observe((r.firstToken - r.arrived).Seconds())
	}
	if !t.w.spec.Streaming {
		return
	}
	first := r.firstToken - r.arrived
	t.model(roleLLM).respond(first)
	if entry := t.entry(); entry.role != roleLLM {
		entry.respond(first + r.preTime + r.postTime)
	}
}

func (t *triton) finished(r *request) {
	total := r.lastToken - r.arrived
	llm := t.model(roleLLM)
	work := call{queue: 44 * time.Microsecond, input: 87 * time.Microsecond, infer: total, output: 43 * time.Microsecond}
	if t.w.spec.Kind == KindTritonCore {
		// A plain model waits in Triton's own queue.
		work.queue, work.infer = r.scheduled-r.arrived, r.lastToken-r.scheduled
	}
	if !llm.pythonRule() && (t.trt == nil || t.version > triton2311) {
		llm.book(t.w.now, work)
	}
	if !t.w.spec.Streaming {
		llm.respond(work.total())
	}
	if t.trt != nil {
		t.trt.observeTokens(r)
	}
	if t.vllm != nil {
		t.vllm.finished(r)
	}
	if !t.direct() {
		t.finishEntry(r, work)
	}
}

// finishEntry books the model over the LLM: an ensemble sums the times of its
// steps, so its compute times can exceed its request time.
func (t *triton) finishEntry(r *request, work call) {
	calls := 1
	if t.w.spec.Streaming {
		calls = r.generated
	} else {
		t.bookPost(1, r.postTime)
	}
	if r.stuck {
		return
	}
	entry := t.entry()
	post := postCall(r.postTime).times(calls)
	sum := call{
		queue:  work.queue + 109*time.Microsecond + post.queue,
		input:  work.input + 47*time.Microsecond + post.input,
		infer:  work.infer + r.preTime + post.infer,
		output: work.output + 39*time.Microsecond + post.output,
		wall:   work.total() + r.preTime + r.postTime,
	}
	if entry.pythonRule() {
		sum = call{queue: 59 * time.Microsecond, input: 18 * time.Microsecond, infer: 900 * time.Microsecond, output: 5 * time.Microsecond}
	}
	entry.book(t.w.now, sum)
	if !t.w.spec.Streaming {
		entry.respond(sum.total())
	}
}

// postCall is one postprocessing call that takes infer.
func postCall(infer time.Duration) call {
	return call{queue: 180 * time.Microsecond, input: 60 * time.Microsecond, infer: infer, output: 64 * time.Microsecond}
}

func (t *triton) bookPost(n int, each time.Duration) {
	post := t.model(rolePost)
	if post == nil || n == 0 || t.direct() {
		return
	}
	post.bookN(t.w.now, n, postCall(each))
	post.respondN(n, each)
}

// failed books an executor error. In releases up to 24.09 the Python step
// counted it as well; since then the step that answers with an error is a
// success there. The C++ backend reports it as BACKEND.
func (t *triton) failed(r *request) {
	took := t.w.now - r.arrived
	llm, entry := t.model(roleLLM), t.entry()
	switch {
	case t.w.failing:
		// The stubs died under it; only the entry model sees that.
		if entry != llm {
			entry.fail("OTHER", took)
		}
		return
	case llm.pythonRule() && t.version < triton2410:
		llm.fail("OTHER", took)
	case llm.pythonRule():
	default:
		llm.fail("BACKEND", took)
	}
	if t.trt != nil {
		t.trt.observeTokens(r)
	}
	if entry == llm {
		return
	}
	entry.fail("OTHER", took)
	if !llm.pythonRule() && entry.role == roleEnsemble {
		entry.fail("OTHER", 0)
	}
}

func (t *triton) iterated(it *iteration) {
	if t.w.spec.Streaming {
		t.bookPost(it.tokens, 430*time.Microsecond)
	}
	if t.vllm != nil {
		t.vllm.iterated(it)
	}
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
