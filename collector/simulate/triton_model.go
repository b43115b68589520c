package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// callOf returns a call; all parts but infer are in microseconds.
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

func (m *model) fail(reason string, n uint64) {
	m.failures[slices.Index(failureReasons(), reason)] += n
	m.failed += n
}

// failureReasons lists the values of the reason label (core infer_stats.cc).
func failureReasons() []string { return []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} }

// duration describes one of the five times that Triton measures per request.
type duration struct{ counter, counterHelp, summary, summaryHelp string }

// durations lists them in Triton's order (src/metrics.cc).
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

// summary has quantiles over the last minute, like prometheus-cpp; NaN without any.
type summary struct {
	n      uint64
	sum    float64
	recent []observation // Those of the last minute, oldest first.
}

type observation struct {
	at time.Duration
	v  float64
}

const (
	maxObservations = 10000 // One per token would be too many.
	maxEqual        = 8     // The maximum number of equal observations at once.
)

// observe adds n observations of the same value.
func (s *summary) observe(now time.Duration, n int, v float64) {
	s.n += uint64(n)
	s.sum += float64(n) * v
	for range min(n, maxEqual) {
		s.recent = append(s.recent, observation{now, v})
	}
	s.recent = s.recent[max(0, len(s.recent)-maxObservations):]
}

// quantiles returns the values of the quantiles.
func (s *summary) quantiles(now time.Duration) []float64 {
	s.recent = slices.DeleteFunc(s.recent, func(o observation) bool { return now-o.at > time.Minute })
	values := make([]float64, 0, len(s.recent))
	for _, o := range s.recent {
		values = append(values, o.v)
	}
	slices.Sort(values)
	out := quantiles()
	for i, q := range out {
		out[i] = math.NaN()
		if len(values) > 0 {
			out[i] = values[min(len(values)-1, int(q*float64(len(values))))]
		}
	}
	return out
}

// tritonVersion is the minor number of Triton 2.N, one per month: 24.12 = 2.53.
type tritonVersion int

// parseTritonVersion parses versions like "2.64.0", "2.59.1" or "2.73.0dev".
func parseTritonVersion(s string) (tritonVersion, error) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) == 3 && parts[0] == "2" {
		if minor, err := strconv.Atoi(parts[1]); err == nil {
			return tritonVersion(minor), nil
		}
	}
	return 0, fmt.Errorf("engine_version: %q is not a Triton version such as 2.64.0", s)
}

// tritonDialects returns the releases that changed the page, from one on.
func tritonDialects(first tritonVersion) func() []Dialect {
	return func() []Dialect {
		var all []string
		for _, v := range []tritonVersion{
			triton2204, triton2209, triton2304, triton2309, triton2311, triton2312, triton2401, triton2402, triton2404,
			triton2407, triton2408, triton2410, triton2411, triton2412, triton2504, triton2601,
		} {
			if v >= first {
				all = append(all, fmt.Sprintf("2.%d.0", v))
			}
		}
		return dialectsOf(all...)
	}
}

// The releases that changed the page, according to the branches of core's src/metrics.cc
// and the TRT-LLM backend's custom_metrics_reporter.cc. Older ones have the page of
// 22.04.
const (
	triton2204 tritonVersion = 21
	triton2209 tritonVersion = 26 // CPU and memory of the host.
	triton2304 tritonVersion = 33 // Summaries.
	triton2309 tritonVersion = 38 // Pending gauge.
	triton2311 tritonVersion = 40 // The last with names in *_statistics and base counters of zero.
	triton2312 tritonVersion = 41
	triton2401 tritonVersion = 42 // Pinned memory pool.
	triton2402 tritonVersion = 43 // Category terminated_requests.
	triton2404 tritonVersion = 45 // Category paused_requests in its place.
	triton2407 tritonVersion = 48 // Failures have a reason; the Python backend has families.
	triton2408 tritonVersion = 49 // The timestamp is in microseconds.
	triton2410 tritonVersion = 51 // Category reused.
	triton2411 tritonVersion = 52 // Load time, first response, disaggregated serving.
	triton2412 tritonVersion = 53 // Token length histograms.
	triton2504 tritonVersion = 57 // Categories waiting and fraction.
	triton2601 tritonVersion = 65 // First response for all models.
)
