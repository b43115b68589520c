package simulate

import (
	"slices"
	"time"
)

// modelState is what the repository index says of a model.
type modelState string

const (
	modelReady       modelState = "READY"
	modelLoading     modelState = "LOADING"
	modelUnloading   modelState = "UNLOADING"
	modelUnavailable modelState = "UNAVAILABLE"
)

// model is one model of a Triton repository.
type model struct {
	name, backend string
	role          role
	decoupled     bool
	loadSeconds   float64

	state  modelState
	reason string
	until  time.Duration // The earliest end of LOADING or UNLOADING.

	counters modelCounters
	// The failures outlive an unload, as core's failure counters do since 24.07.
	failures [4]uint64
}

// modelCounters is what a load sets to zero.
type modelCounters struct {
	success   uint64    // Without batches also the inferences and the executions.
	micros    [5]uint64 // Whole microseconds per request.
	failed    uint64
	first     *histogram
	summaries [5]summary
}

// call is the time of one inference by its parts.
type call struct {
	queue, input, infer, output time.Duration
	wall                        time.Duration // The request's time when it is not the sum.
}

func (c call) total() time.Duration {
	if c.wall > 0 {
		return c.wall
	}
	return c.queue + c.input + c.infer + c.output
}

// times is the time of n such calls, part by part.
func (c call) times(n int) call {
	k := time.Duration(n)
	return call{queue: k * c.queue, input: k * c.input, infer: k * c.infer, output: k * c.output} //nolint:durationcheck // K is a number of calls.
}

func (m *model) reset() {
	m.counters = modelCounters{first: newHistogram(100, 500, 2000, 5000)}
}

// printed says that the model's core series are on the page.
func (m *model) printed() bool { return m.state == modelReady || m.state == modelUnloading }

func (m *model) book(now time.Duration, c call) { m.bookN(now, 1, c) }

func (m *model) bookN(now time.Duration, n int, c call) {
	k := &m.counters
	k.success += uint64(n)
	for i, d := range []time.Duration{c.total(), c.queue, c.input, c.infer, c.output} {
		k.micros[i] += uint64(n) * uint64(d.Microseconds())
		for range min(n, 8) {
			k.summaries[i].observe(now, float64(d.Microseconds()))
		}
		// The rest of a big batch counts without a place in the window.
		if rest := n - 8; rest > 0 {
			k.summaries[i].n += uint64(rest)
			k.summaries[i].sum += float64(rest) * float64(d.Microseconds())
		}
	}
}

// respond books a first response after d.
func (m *model) respond(d time.Duration) { m.respondN(1, d) }

func (m *model) respondN(n int, d time.Duration) {
	m.counters.first.observeN(float64(d.Milliseconds()), uint64(n))
}

func (m *model) fail(reason string) {
	m.failures[max(0, slices.Index(failureReasons(), reason))]++
	m.counters.failed++
}

// control begins an unload or a load of a model.
func (t *triton) control(name string, load bool) {
	m := t.byName(name)
	if m == nil {
		return
	}
	if load && m.state == modelUnavailable {
		m.state, m.reason, m.until = modelLoading, "", t.w.now+t.w.spec.ModelLoad
	}
	if !load && m.state == modelReady {
		m.state, m.until = modelUnloading, t.w.now+t.w.spec.UnloadDuration
	}
}

func (t *triton) byName(name string) *model {
	for _, m := range t.models {
		if m.name == name {
			return m
		}
	}
	return nil
}

// lifecycle ends loads and unloads that are due.
func (t *triton) lifecycle() {
	for _, m := range t.models {
		if t.w.now < m.until {
			continue
		}
		switch m.state {
		case modelLoading:
			t.loaded(m)
		case modelUnloading:
			waited := t.w.now-m.until > exitTimeout
			if !t.holdsWork(m) || waited {
				t.unloaded(m)
			}
		case modelReady, modelUnavailable:
		}
	}
	if t.w.phase == PhaseDraining {
		t.shrink()
	}
}

// holdsWork says that requests in flight keep a model from going.
func (t *triton) holdsWork(m *model) bool {
	if m.role == rolePre || m.role == roleOther || m.role == roleBLS && t.entry() != m {
		return false
	}
	stuck := t.w.truth.Stuck > 0 && m.role != roleLLM
	return stuck || t.w.engine != nil && t.w.engine.inFlight() > 0
}

func (t *triton) loaded(m *model) {
	m.state = modelReady
	m.reset()
	if m.role == roleLLM {
		t.w.engine = newEngine(t.w.spec.Engine, t.w.spec.Workload)
		if t.w.stalled {
			t.w.engine.stall(t.w.now, true)
		}
		if t.trt != nil && !t.keepsCustom() {
			t.trt = newTRTLLMState()
		}
		if e := t.model(roleEnsemble); e != nil && e.state == modelUnavailable {
			t.loaded(e)
		}
	}
}

// unloaded takes a model's core series off the page; failures stay, and so do
// the custom series of a Python model, frozen.
func (t *triton) unloaded(m *model) {
	m.state, m.reason = modelUnavailable, "unloaded"
	if m.role != roleLLM {
		return
	}
	if t.w.engine != nil {
		t.w.engine.abort(t.w.truth.bookFailed)
		t.w.engine = nil
	}
	if e := t.model(roleEnsemble); e != nil && e.state == modelReady {
		e.state, e.reason = modelUnavailable, "unloaded"
	}
}

// keepsCustom says that custom series outlive the model: those of the Python
// backend do, the C++ backend deletes its own.
func (t *triton) keepsCustom() bool { return t.model(roleLLM).backend == "python" }

// drain begins the shutdown.
func (t *triton) drain() {
	t.drained, t.began = true, t.w.now
	for i, m := range t.models {
		if m.state == modelReady {
			m.state = modelUnloading
			// Models go one after another, about a second apart.
			m.until = t.w.now + time.Duration(1+i)*time.Second
		}
	}
}

// shrink gives up waiting when the exit timeout is over.
func (t *triton) shrink() {
	if t.w.now-t.began < exitTimeout {
		return
	}
	for _, m := range t.models {
		if m.state == modelUnloading {
			t.unloaded(m)
		}
	}
}

// gone says that a draining process has no model left and ends.
func (t *triton) gone() bool {
	if !t.drained {
		return false
	}
	for _, m := range t.models {
		if m.state == modelUnloading || m.state == modelLoading {
			return false
		}
	}
	return true
}
