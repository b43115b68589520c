package simulate

import (
	"slices"
	"time"
)

// role is the role of a model.
type role int

const (
	roleLLM role = iota
	rolePre
	rolePost
	roleEnsemble
	roleBLS
	roleOther
)

// modelState is the state of a model in the repository index.
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
	decoupled     bool // In a flavour: if requests are streamed.
	loadSeconds   float64
	inputs        []string // Names and types.

	state  modelState
	reason string
	until  time.Duration // The earliest end of loading or unloading.

	modelCounters
	// Failures survive an unload, like core's failure counters since 24.07.
	failures [4]uint64
}

// modelCounters has the counters that a load resets.
type modelCounters struct {
	success   uint64    // Without batches also inferences and executions.
	micros    [5]uint64 // Whole microseconds per request.
	failed    uint64
	first     *histogram
	summaries [5]summary
}

// call has the duration of one inference and its parts, in the order of durations.
type call [5]time.Duration

// callOf returns a call whose request time is the sum of its parts. All but infer are in
// microseconds.
func callOf(queue, input int, infer time.Duration, output int) call {
	micros := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	return call{micros(queue+input+output) + infer, micros(queue), micros(input), infer, micros(output)}
}

// plus adds n times another call.
func (c call) plus(n int, other call) call {
	for i := range c {
		c[i] += time.Duration(n) * other[i]
	}
	return c
}

// pythonRule reports whether a model's statistics end when execute() returns, not with
// the last response: so do decoupled models of the Python backend.
func (m *model) pythonRule() bool {
	return m.decoupled && (m.backend == "python" || m.backend == "vllm")
}

func (m *model) reset() { m.modelCounters = modelCounters{first: newHistogram(100, 500, 2000, 5000)} }

// printed reports whether the model's core series are on the page.
func (m *model) printed() bool { return m.state == modelReady || m.state == modelUnloading }

// book counts n calls.
func (m *model) book(now time.Duration, n int, c call) {
	m.success += uint64(n)
	for i, d := range c {
		m.micros[i] += uint64(n) * uint64(d.Microseconds())
		m.summaries[i].observe(now, n, float64(d.Microseconds()))
	}
}

// respond counts n first responses after d.
func (m *model) respond(n int, d time.Duration) {
	m.first.observeN(float64(d.Milliseconds()), uint64(n))
}

func (m *model) fail(reason string) {
	m.failures[slices.Index(failureReasons(), reason)]++
	m.failed++
}

// failureReasons lists the values of the reason label (core infer_stats.cc).
func failureReasons() []string { return []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} }

// duration describes one of the five times that Triton measures per request.
type duration struct{ counter, counterHelp, summary, summaryHelp string }

// durations lists them in Triton's order. HELP texts are those of Triton core
// (src/metrics.cc).
func durations() (all []duration) {
	for _, d := range [][2]string{
		{"request", "inference request duration in microseconds (includes cached requests)"},
		{"queue", "inference queuing duration in microseconds (includes cached requests)"},
		{"compute_input", "compute input duration in microseconds (does not include cached requests)"},
		{"compute_infer", "compute inference duration in microseconds (does not include cached requests)"},
		{"compute_output", "inference compute output duration in microseconds (does not include cached requests)"},
	} {
		summary := "Cumulative " // Triton has this word in three summaries too.
		if len(all) < 2 {
			summary = "Summary of "
		}
		name := "nv_inference_" + d[0]
		all = append(all, duration{name + "_duration_us", "Cumulative " + d[1], name + "_summary_us", summary + d[1]})
	}
	return all
}
