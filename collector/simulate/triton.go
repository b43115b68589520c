package simulate

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// flavour describes a kind of Triton by its LLM model and the families of that.
type flavour struct {
	// version is the version of a Triton inside another server, first the first release with the model's backend.
	version string
	first   tritonVersion
	// complete sets defaults of a spec; it may be nil.
	complete func(s *Spec)
	// models is the model repository, sorted by name.
	models []model
	// backend returns the backend of the LLM model, nil if it has no families of its own.
	backend func(t *triton) backend
	// queues is true if requests wait in Triton's queue, not in an executor's.
	queues bool
	// configure changes the config of the LLM model and returns its parameters.
	configure func(s Spec, config object) []string
	// onePort returns the handler of a Triton with one port; nil if it has two.
	onePort func(t *triton, r *Replica) http.Handler
}

// backend is the backend of a Triton's LLM model.
type backend interface {
	observer
	// The method sample reads the executor; it is called ten times per second.
	sample(e *engine)
	reloaded()
	total(t *Totals)
	// The method countsLLM reports whether core's counters of the LLM model move.
	countsLLM() bool
	counters(p *page)
	gauges(p *page)
	histograms(p *page)
}

// silent is a backend without families of its own.
type silent struct{}

func (silent) started(*request)    {}
func (silent) finished(*request)   {}
func (silent) failed(*request)     {}
func (silent) iterated(*iteration) {}
func (silent) sample(*engine)      {}
func (silent) reloaded()           {}
func (silent) total(*Totals)       {}
func (silent) countsLLM() bool     { return true }
func (silent) counters(*page)      {}
func (silent) gauges(*page)        {}
func (silent) histograms(*page)    {}

func (f flavour) software() software {
	return software{
		path: "/metrics", onePort: f.onePort != nil, engineVersion: "2.64.0", trtllmVersion: "1.1.0", roleFirst: true,
		complete: func(s *Spec) error {
			if f.complete != nil {
				f.complete(s)
			}
			_, err := parseTritonVersion(s.EngineVersion)
			return err
		},
		start:    func(w *world) server { return newTriton(w, f) },
		dialects: tritonDialects(f.first),
	}
}

// triton is a simulated tritonserver process with its model repository.
type triton struct {
	kind    flavour
	w       *world
	version tritonVersion
	models  []*model
	backend backend
	host    hostGauges
	nextAt  time.Duration
	seed    uint64
}

const (
	tritonTick  = 100 * time.Millisecond // The TRT-LLM backend's stats_check_period_ms.
	exitTimeout = 30 * time.Second       // How long an unload waits for requests in flight.
)

func newTriton(w *world, f flavour) *triton {
	v, _ := parseTritonVersion(cmp.Or(f.version, w.spec.EngineVersion)) // It was validated.
	t := &triton{
		kind: f, w: w, version: v, backend: silent{}, host: newHostGauges(w.spec), nextAt: w.now + tritonTick,
		seed: mix(w.spec.Seed, "order"+w.spec.EngineVersion) + uint64(w.truth.Epoch),
	}
	for i := range f.models {
		m := f.models[i]
		if w.spec.CalledOnly && (m.role == roleBLS || m.role == roleOther) {
			continue
		}
		m.decoupled = m.decoupled && w.spec.Streaming
		m.state = modelReady
		m.reset()
		t.models = append(t.models, &m)
	}
	if f.backend != nil {
		t.backend = f.backend(t)
	}
	return t
}

// find returns the first model that matches; nil if none does.
func (t *triton) find(matches func(m *model) bool) *model {
	if i := slices.IndexFunc(t.models, matches); i >= 0 {
		return t.models[i]
	}
	return nil
}

// model returns the model with a role.
func (t *triton) model(r role) *model { return t.find(func(m *model) bool { return m.role == r }) }

func (t *triton) byName(name string) *model {
	return t.find(func(m *model) bool { return m.name == name })
}

// entry returns the model that clients call.
func (t *triton) entry() *model {
	m := t.model(roleEnsemble)
	if t.w.spec.BLS {
		m = t.model(roleBLS)
	}
	if m == nil {
		return t.model(roleLLM)
	}
	return m
}

// direct reports whether clients call the LLM model itself.
func (t *triton) direct() bool { return t.entry().role == roleLLM }

func (t *triton) next() time.Duration { return t.nextAt }

func (t *triton) tick() {
	t.nextAt = t.w.now + tritonTick
	t.backend.sample(t.w.engine)
	t.host.tick(t.w)
	t.lifecycle()
}

// KindTritonCore is Triton without an LLM backend.
const KindTritonCore Kind = "triton-core"

func tritonCore() software {
	return flavour{
		complete: func(s *Spec) {
			// One answer per request, one request at a time; others wait in Triton's queue.
			s.Workload.MaxPrompt, s.Workload.MaxOutput, s.Workload.PromptTokens, s.Workload.OutputTokens = 1, 1, 1, 1
			setDefault(&s.Engine.MaxActive, 1)
		},
		models: []model{
			{
				name:        "densenet_onnx",
				role:        roleOther,
				backend:     "onnxruntime",
				loadSeconds: 0.731204,
				inputs:      []string{"data_0 FP32"},
			},
			{
				name:        "resnet50",
				role:        roleLLM,
				backend:     "onnxruntime",
				loadSeconds: 1.904518,
				inputs:      []string{"data_0 FP32"},
			},
		},
		queues: true,
		configure: func(_ Spec, config object) []string {
			config["platform"] = "onnxruntime_onnx"
			config["instance_group"] = instances("KIND_GPU", 1)
			return nil
		},
	}.software()
}

// KindTritonVLLM is Triton with the vLLM backend and its families.
const KindTritonVLLM Kind = "triton-vllm"

// vllmFlavour returns the flavour with the vLLM backend.
func vllmFlavour() flavour {
	return flavour{
		complete: func(s *Spec) { s.Streaming = true },
		models: []model{{
			name: "vllm_model", role: roleLLM, backend: "vllm", decoupled: true, loadSeconds: 38.007213551,
			inputs: []string{"text_input BYTES", "stream BOOL", "sampling_parameters BYTES"},
		}},
		backend: func(t *triton) backend {
			b := &vllmBackend{w: t.w}
			b.observe(t.w, oldVLLMTimes())
			return b
		},
		configure: func(_ Spec, config object) []string {
			config["max_batch_size"] = 0
			return []string{"REPORT_CUSTOM_METRICS", "yes"}
		},
	}
}

// vllmBackend has the families of vLLM's engine.
type vllmBackend struct {
	silent
	booked
	w *world
}

func (b *vllmBackend) total(t *Totals)        { b.booked.total(b.w, t, t.OK) }
func (b *vllmBackend) started(r *request)     { b.booked.started(r) }
func (b *vllmBackend) finished(r *request)    { b.booked.finished(r) }
func (b *vllmBackend) iterated(it *iteration) { b.booked.iterated(it) }
func (b *vllmBackend) counters(p *page)       { b.write(p, oldVLLMTokens()) }
func (b *vllmBackend) histograms(p *page)     { b.write(p, oldVLLMTimes()) }

func (b *vllmBackend) write(p *page, families []family) {
	for _, f := range families {
		p.show(b.w, &b.booked, "vllm:", pairs("model", "vllm_model", "version", "1"), &f)
	}
}

// Triton's OpenAI frontend, with one port, for these models.
const (
	KindTritonOpenAI             Kind = "triton-openai"
	KindTritonOpenAIVLLM         Kind = "triton-openai-vllm"
	KindTritonOpenAILLMAPI       Kind = "triton-openai-llmapi"
	KindTritonOpenAILLMAPIModule Kind = "triton-openai-llmapi-module"
)

// behindOpenAI replaces Triton's own ports by the OpenAI frontend.
func (f flavour) behindOpenAI() software {
	f.onePort = (*triton).openAI
	return f.software()
}

// openAI answers with page and health, but without any /v2 route.
func (t *triton) openAI(r *Replica) http.Handler {
	mux := r.routes(t, map[string]answer{
		"GET /metrics": shown(plainText, t.page),
		"GET /health/ready": t.readiness(object{"detail": "Attached inference engine is not ready for " +
			"inference requests."}),
		"GET /v1/models": ok(func() any {
			var names []string
			t.each(func(m *model, _ string) { names = append(names, m.name) })
			return modelList(t.w.start.Add(t.w.up), "Triton Inference Server", names...)
		}),
	})
	r.addChat(mux, t)
	mux.HandleFunc("/", notFound)
	return uvicorn(mux)
}
