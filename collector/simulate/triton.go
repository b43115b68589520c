package simulate

import (
	"net/http"
	"slices"
	"time"
)

// flavour is what the kinds of Triton differ in. They share the behaviour of
// ports and the core families and differ in what their LLM model is and publishes.
type flavour struct {
	// complete fills in what a spec leaves open; nil for nothing of its own.
	complete func(s *Spec)
	// models is the repository in the order of its index: by name.
	models []model
	// backend makes what the LLM model publishes besides the core families; nil for
	// nothing.
	backend func(t *triton) backend
	// queues says that requests wait in Triton's own queue and not in an executor's.
	queues bool
	// configure changes the LLM model's config and returns the names and values of
	// its parameters.
	configure func(s Spec, config object) []string
	// onePort serves the page on the API port instead of Triton's own two ports.
	onePort func(t *triton, r *Replica) http.Handler
}

// backend is what the LLM model of a Triton publishes.
type backend interface {
	observer
	// The method sample reads the executor; it is called ten times a second.
	sample(e *engine)
	// The method reloaded hears that the model was loaded again.
	reloaded()
	// The method booksLLM says that core's counters of the LLM model move.
	booksLLM() bool
	counters(p *page)
	gauges(p *page)
	histograms(p *page)
}

// silent is a backend that publishes nothing.
type silent struct{}

func (silent) started(*request)    {}
func (silent) finished(*request)   {}
func (silent) failed(*request)     {}
func (silent) iterated(*iteration) {}
func (silent) sample(*engine)      {}
func (silent) reloaded()           {}
func (silent) booksLLM() bool      { return true }
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
		start: func(w *world) server { return newTriton(w, f) },
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
	at      time.Duration // Of the next tick.
	seed    uint64
}

const (
	tritonTick  = 100 * time.Millisecond // The TRT-LLM backend's stats_check_period_ms, and the simulator's own.
	exitTimeout = 30 * time.Second       // For which an unload waits for requests in flight.
)

func newTriton(w *world, f flavour) *triton {
	// The spec was checked; what cannot be read has no families.
	v, _ := parseTritonVersion(w.spec.EngineVersion)
	t := &triton{
		kind: f, w: w, version: v, backend: silent{}, host: newHostGauges(w.spec), at: w.now + tritonTick,
		seed: mix(w.spec.Seed, "order"+w.spec.EngineVersion) + uint64(w.truth.Epoch),
	}
	for i := range f.models {
		m := f.models[i]
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

// find returns the first model that is so; nil when the repository has none.
func (t *triton) find(is func(m *model) bool) *model {
	if i := slices.IndexFunc(t.models, is); i >= 0 {
		return t.models[i]
	}
	return nil
}

// model finds the model that plays a part.
func (t *triton) model(r role) *model { return t.find(func(m *model) bool { return m.role == r }) }

func (t *triton) byName(name string) *model {
	return t.find(func(m *model) bool { return m.name == name })
}

// entry is the model the clients call.
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

// direct says that clients call the LLM model itself, without pre- and
// postprocessing.
func (t *triton) direct() bool { return t.entry().role == roleLLM }

func (t *triton) next() time.Duration { return t.at }

func (t *triton) tick() {
	t.at = t.w.now + tritonTick
	t.backend.sample(t.w.engine)
	t.host.tick(t.w)
	t.lifecycle()
}
