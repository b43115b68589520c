package derive_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

var update = flag.Bool("update", false, "write the measured errors into docs/dev/accuracy.md")

// The file of the measured errors, and the marks between which they are.
const (
	accuracyDoc   = "../../docs/dev/accuracy.md"
	accuracyBegin = "<!-- simulated: begin -->\n"
	accuracyEnd   = "<!-- simulated: end -->\n"
)

// quantity is one derived number and how far it may be from the truth.
type quantity struct {
	name string
	// bound is the most error allowed, unit what errors are in.
	bound float64
	unit  string
}

// The quantities of the table. Relative errors are in per cent of the truth.
var (
	tokens      = quantity{"completed tokens/s against tokens of requests that ended", 1, "%"}
	lag         = quantity{"completed tokens/s against tokens generated in the same minute (lags by a request)", 10, "%"}
	prompt      = quantity{"prompt tokens/s against prompts of requests that ended", 1, "%"}
	liveTokens  = quantity{"tokens/s against tokens generated (counter moves while tokens come)", 1, "%"}
	decoded     = quantity{"tokens/s while requests run against tokens generated (all but the first of each request)", 5, "%"}
	requests    = quantity{"requests/s against requests that ended", 1, "%"}
	steady      = quantity{"live estimate against tokens generated, steady decode", 10, "%"}
	estimated   = quantity{"live estimate against tokens generated, other loads (grade C)", 35, "%"}
	meanE2E     = quantity{"mean duration against the executor's, without pre- and postprocessing", 3, "ms"}
	errorShare  = quantity{"error ratio against the share that failed", 1, "percentage points"}
	waiting     = quantity{"queue depth against what the server exposes", 0, "requests"}
	lowerBound  = quantity{"queue depth above what really waits", 0, "requests"}
	unsaturated = quantity{"pages with a hidden queue and saturated not 1", 0, "pages"}
	running     = quantity{"running requests at the sampled iteration", 0, "requests"}
	kvUse       = quantity{"KV cache use at the sampled iteration", 0, "percentage points"}
	kvAround    = quantity{"KV cache use in the iterations around the page, which change it", 5, "percentage points"}
	waitingNIM  = quantity{"queue depth against what waits, by the server from two moments", 1, "requests"}
	bucketsE2E  = quantity{"duration percentiles", 1, "buckets"}
	bucketsTTFT = quantity{"time to first token percentiles", 1, "buckets"}
	bucketsTPOT = quantity{"time per output token percentiles", 1, "buckets"}
	summaryE2E  = quantity{"duration percentiles as given by the summary", 15, "%"}
	hiddenQueue = quantity{"hidden queue that is estimated against its mean over the window, of streams", 15, "%"}
	hiddenGrows = quantity{"hidden queue that is estimated against its mean over the window, while it grows", 50, "%"}
	headroom    = quantity{"room for more requests against free slots, and free tokens by the mean request", 1, "requests"}
	limitedBy   = quantity{"pages that name another resource than the one that requests wait for, of those that name one", 0, "%"}
	coverage    = quantity{"share of requests that a latency measured", 1, "percentage points"}
)

// subject is a server under a name of the document.
type subject struct {
	name string
	spec simulate.Spec
}

func subjects() []subject {
	full := func(kind simulate.Kind, version string) simulate.Spec {
		return simulate.Spec{Kind: kind, EngineVersion: version, Streaming: true, Setup: simulate.Setup{Histograms: true, Summaries: true}}
	}
	return []subject{
		{"Triton A 25.12", full(simulate.KindTriton, "2.64.0")},
		{"Triton A 24.12", full(simulate.KindTriton, "2.53.0")},
		{"Triton A 24.01", full(simulate.KindTriton, "2.42.0")},
		{"Triton B 25.12", full(simulate.KindTritonPython, "2.64.0")},
		{"Triton C 25.12", full(simulate.KindTritonLLMAPI, "2.64.0")},
		{"Triton E 25.12", full(simulate.KindTritonLLMAPIModule, "2.64.0")},
		{"Triton D 25.12", simulate.Spec{Kind: simulate.KindTritonCore, EngineVersion: "2.64.0"}},
		{"Triton D vLLM", full(simulate.KindTritonVLLM, "2.64.0")},
		{"trtllm-serve 1.3", simulate.Spec{Kind: simulate.KindServe}},
		{"trtllm-serve 1.3.0rc5", simulate.Spec{Kind: simulate.KindServeGen2}},
		{"trtllm-serve 1.1", simulate.Spec{Kind: simulate.KindServeOld}},
		{"NIM 1.0", simulate.Spec{Kind: simulate.KindNIM}},
		{"Dynamo 1.6 worker", simulate.Spec{Kind: simulate.KindDynamo}},
		{"vLLM 0.32", simulate.Spec{Kind: simulate.KindVLLM}},
		{"SGLang 0.5", simulate.Spec{Kind: simulate.KindSGLang}},
	}
}

// load is how much the clients send.
type load struct {
	name     string
	workload simulate.Workload
	steady   bool
	// streams is how many clients send one request after the other, 0 for requests
	// that come whatever the server does.
	streams int
}

func loads() []load {
	mixed := func(rate float64) simulate.Workload {
		w := simulate.DefaultWorkload()
		w.Rate, w.ErrorRate = rate, 0.03
		return w
	}
	long := simulate.Workload{Rate: 3, PromptTokens: 64, OutputTokens: 600, Spread: 0.3}
	return []load{
		{name: "idle", workload: mixed(0.2)},
		{name: "half", workload: mixed(5)},
		{name: "saturated", workload: mixed(16)},
		{name: "steady decode", workload: long, steady: true},
		{name: "40 streams", workload: mixed(1), streams: 40},
	}
}

// tally are the errors of one quantity.
type tally struct {
	worst, sum float64
	n          int
}

// ledger gathers errors by server, load and quantity.
type ledger struct {
	t       *testing.T
	subject subject
	load    load
	errors  map[quantity]*tally
}

// note enters one error.
func (l *ledger) note(q quantity, err float64) {
	if math.IsNaN(err) {
		return
	}
	one := l.errors[q]
	if one == nil {
		one = &tally{}
		l.errors[q] = one
	}
	one.worst, one.sum, one.n = max(one.worst, err), one.sum+err, one.n+1
}

// relative enters an error in per cent of the truth, where that is not 0.
func (l *ledger) relative(q quantity, got, want float64) {
	if want > 0 {
		l.note(q, 100*math.Abs(got-want)/want)
	}
}

const (
	// scrapeEvery and the window are the exporter's defaults.
	scrapeEvery = 5 * time.Second
	windowPages = 12
	warmUp      = 20
	pagesRun    = 50
	// lookBack is how long before a page its gauges may have been sampled:
	// the period of the statistics and one iteration.
	lookBack = 300 * time.Millisecond
	lookStep = 8 * time.Millisecond
)

// run lets one replica serve one load and compares page by page.
func (l *ledger) run(seed uint64) {
	spec := l.subject.spec
	spec.Seed, spec.Workload = seed, l.load.workload
	if spec.Kind != simulate.KindTritonCore {
		spec.Engine = simulate.Engine{MaxActive: maxActive, KVBlocks: 1200}
	} else {
		spec.Workload.Rate /= 10
	}
	r := newRig(l.t, spec, scrapeEvery)
	var past []simulate.Truth
	for n := range pagesRun {
		l.advance(r, scrapeEvery-lookBack)
		var around []simulate.Truth
		for range lookBack / lookStep {
			l.advance(r, lookStep)
			if n >= warmUp && l.sampled() {
				around = append(around, r.replica.Truth())
			}
		}
		if n < warmUp-windowPages {
			past = append(past, r.replica.Truth()) // A page of now is in no window that is looked at.
			continue
		}
		values, truth := r.scrape()
		past = append(past, truth)
		if n < warmUp || values == nil {
			continue
		}
		before := past[len(past)-1-windowPages]
		l.rates(r, values, before, truth)
		l.estimates(r, values, past[len(past)-1-windowPages:], around)
		if l.sampled() {
			l.gauges(r, values, around)
		}
		l.latencies(r, values, before, truth)
	}
}

// advance lets time go by. Of streams there are as many requests in flight all
// the time, nearly: the next comes when one of a step is missing.
func (l *ledger) advance(r *rig, d time.Duration) {
	const step, soon = 20 * time.Millisecond, 1000
	for ; l.load.streams > 0 && d > 0; d -= step {
		rate := 0.0
		if r.replica.Truth().InFlight < l.load.streams {
			rate = soon
		}
		r.replica.SetRate(rate)
		r.replica.Advance(min(step, d))
	}
	r.replica.Advance(max(d, 0))
}

// sampled says whether the server shows gauges that it samples often.
func (l *ledger) sampled() bool {
	switch l.subject.spec.Kind {
	case simulate.KindTriton, simulate.KindTritonPython, simulate.KindTritonCore, simulate.KindNIM, simulate.KindServe,
		simulate.KindVLLM, simulate.KindSGLang:
		return true
	default:
		return false
	}
}

//nolint:tparallel // The group in between is waited for.
func TestDerivedValuesAreTrue(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	worst := make(map[[2]string]map[string]string)
	t.Run("of", func(t *testing.T) {
		for _, s := range subjects() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				measured := s.measure(t)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(worst, measured)
			})
		}
	})
	recorded(t, worst)
}

// measure holds the errors of one server against their bounds, and gives the
// worst of each quantity by load.
func (s subject) measure(t *testing.T) map[[2]string]map[string]string {
	t.Helper()
	worst := make(map[[2]string]map[string]string)
	for _, ld := range loads() {
		l := &ledger{t: t, subject: s, load: ld, errors: make(map[quantity]*tally)}
		for seed := range uint64(2) {
			l.run(seed + 1)
		}
		for q, e := range l.errors {
			key := [2]string{s.name, q.name + " | " + measured(q.bound) + " " + q.unit}
			if worst[key] == nil {
				worst[key] = make(map[string]string)
			}
			worst[key][ld.name] = measured(e.worst)
			require.LessOrEqual(t, e.worst, q.bound+1e-9, "%s, %s", key[1], ld.name) // Rates are written in fifteen digits.
		}
	}
	return worst
}

// recorded requires that the document has all servers, and writes it where it is
// asked to.
func recorded(t *testing.T, worst map[[2]string]map[string]string) {
	t.Helper()
	if *update {
		writeAccuracy(t, tableOf(worst))
	}
	document, err := os.ReadFile(accuracyDoc)
	require.NoError(t, err)
	for _, s := range subjects() {
		require.Positive(t, strings.Count(string(document), "| "+s.name+" |"), "%s is not in %s: run this test with -update", s.name, accuracyDoc)
	}
}

// tableOf are the rows of the table, a column a load.
func tableOf(worst map[[2]string]map[string]string) []string {
	var rows []string
	for key, by := range worst {
		cells := []string{key[0], key[1]}
		for _, ld := range loads() {
			cells = append(cells, by[ld.name])
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	}
	slices.Sort(rows)
	return rows
}

// measured is an error in three digits.
func measured(v float64) string {
	if v < 1e-6 {
		return "0"
	}
	return fmt.Sprintf("%.3g", v)
}

// writeAccuracy puts the rows between the marks of the document.
func writeAccuracy(t *testing.T, rows []string) {
	t.Helper()
	document, err := os.ReadFile(accuracyDoc)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(document), accuracyBegin)
	require.True(t, ok, "%s has no %s", accuracyDoc, accuracyBegin)
	_, tail, ok := strings.Cut(rest, accuracyEnd)
	require.True(t, ok, "%s has no %s", accuracyDoc, accuracyEnd)
	names, rule := "| server | quantity | allowed |", "| --- | --- | --- |"
	for _, ld := range loads() {
		names, rule = names+" "+ld.name+" |", rule+" --- |"
	}
	table := names + "\n" + rule + "\n" + strings.Join(rows, "\n") + "\n"
	require.NoError(t, os.WriteFile(accuracyDoc, []byte(head+accuracyBegin+table+accuracyEnd+tail), 0o600))
}
