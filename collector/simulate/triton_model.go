package simulate

import (
	"slices"
	"time"
)

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
	decoupled     bool // In a repository: where requests are streamed.
	loadSeconds   float64
	inputs        []string // Names and types of what a request for text needs.

	state  modelState
	reason string
	until  time.Duration // The earliest end of LOADING or UNLOADING.

	modelCounters
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

// call is the time of one inference and its parts, in the order of durations.
type call [5]time.Duration

// callOf is a call whose request time is the sum of its parts, in microseconds
// but for the inference.
func callOf(queue, input int, infer time.Duration, output int) call {
	micros := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	return call{micros(queue+input+output) + infer, micros(queue), micros(input), infer, micros(output)}
}

// plus is this call and n of the other, part by part.
func (c call) plus(n int, other call) call {
	for i := range c {
		c[i] += time.Duration(n) * other[i]
	}
	return c
}

// pythonRule says that a model's statistics end when its execute() returns, not
// when its last response is sent: decoupled models of the Python backend.
func (m *model) pythonRule() bool {
	return m.decoupled && (m.backend == "python" || m.backend == "vllm")
}

func (m *model) reset() { m.modelCounters = modelCounters{first: newHistogram(100, 500, 2000, 5000)} }

// printed says that the model's core series are on the page.
func (m *model) printed() bool { return m.state == modelReady || m.state == modelUnloading }

// book books n calls.
func (m *model) book(now time.Duration, n int, c call) {
	m.success += uint64(n)
	for i, d := range c {
		m.micros[i] += uint64(n) * uint64(d.Microseconds())
		m.summaries[i].observe(now, n, float64(d.Microseconds()))
	}
}

// respond books n first responses after d.
func (m *model) respond(n int, d time.Duration) {
	m.first.observeN(float64(d.Milliseconds()), uint64(n))
}

func (m *model) fail(reason string) {
	m.failures[slices.Index(failureReasons(), reason)]++
	m.failed++
}

// failureReasons lists the values of the reason label (core infer_stats.cc).
func failureReasons() []string { return []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} }
