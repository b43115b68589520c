package derive_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// The document with the measured errors, and the marks around them.
const (
	accuracyDoc   = "../../docs/dev/accuracy.md"
	accuracyBegin = "<!-- simulated: begin -->\n"
	accuracyEnd   = "<!-- simulated: end -->\n"
)

// quantity is a derived value with the maximum error allowed.
type quantity struct {
	name string
	// bound is the maximum error, unit the unit of errors.
	bound float64
	unit  string
}

// The quantities of the table. Relative errors are in per cent of the truth.
var (
	tokens      = quantity{"completed tokens/s against tokens of requests that ended", 1, "%"}
	lag         = quantity{"completed tokens/s against tokens of the same minute", 10, "%"}
	prompt      = quantity{"prompt tokens/s against prompts of requests that ended", 1, "%"}
	liveTokens  = quantity{"tokens/s against tokens generated (counter moves while tokens come)", 1, "%"}
	decoded     = quantity{"tokens/s while requests run", 5, "%"}
	requests    = quantity{"requests/s against requests that ended", 1, "%"}
	steady      = quantity{"estimated tokens/s, steady decode", 10, "%"}
	estimated   = quantity{"estimated tokens/s, other loads", 35, "%"}
	meanE2E     = quantity{"mean duration against the executor's", 3, "ms"}
	errorShare  = quantity{"error ratio against the share that failed", 1, "percentage points"}
	waiting     = quantity{"queue depth against what the server exposes", 0, "requests"}
	lowerBound  = quantity{"queue depth above what really waits", 0, "requests"}
	unsaturated = quantity{"pages with a hidden queue and saturated not 1", 0, "pages"}
	running     = quantity{"running requests at the sampled iteration", 0, "requests"}
	kvUse       = quantity{"KV cache use at the sampled iteration", 0, "percentage points"}
	kvAround    = quantity{"KV cache use around the page", 5, "percentage points"}
	waitingNIM  = quantity{"queue depth against what waits, by the server from two moments", 1, "requests"}
	bucketsE2E  = quantity{"duration percentiles", 1, "buckets"}
	bucketsTTFT = quantity{"time to first token percentiles", 1, "buckets"}
	bucketsTPOT = quantity{"time per output token percentiles", 1, "buckets"}
	summaryE2E  = quantity{"duration percentiles of the summary", 15, "%"}
	hiddenQueue = quantity{"hidden queue, of streams", 15, "%"}
	hiddenGrows = quantity{"hidden queue, while it grows", 50, "%"}
	headroom    = quantity{"room for more requests", 1, "requests"}
	limitedBy   = quantity{
		"pages that name another resource than the one that requests wait for, of those that name one",
		0, "%",
	}
	coverage = quantity{"share of requests that a latency measured", 1, "percentage points"}
)

// subject is a server with its name in the document.
type subject struct {
	name string
	spec simulate.Spec
}

func subjects() []subject {
	full := func(kind simulate.Kind, version string) simulate.Spec {
		return simulate.Spec{
			Kind:          kind,
			EngineVersion: version,
			Streaming:     true,
			Setup:         simulate.Setup{Histograms: true, Summaries: true},
		}
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

// load is the rate or concurrency of requests.
type load struct {
	name     string
	workload simulate.Workload
	steady   bool
	// streams is the number of clients that send one request after the other, 0 for open-loop
	// arrivals.
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

// ledger holds the worst errors of a server under a load.
type ledger struct {
	t       *testing.T
	subject subject
	load    load
	worst   map[quantity]float64
}

// note records an error.
func (l *ledger) note(q quantity, err float64) {
	if !math.IsNaN(err) {
		l.worst[q] = max(l.worst[q], err)
	}
}

// relative records an error in per cent of the truth, unless that is 0.
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
	// lookBack is how long before a page its gauges may have been sampled: the period of the
	// statistics and one iteration.
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
	r := newRig(l.t, spec)
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
			past = append(past, r.replica.Truth()) // The newest page is in no compared window.
			continue
		}
		values, truth := r.scrape()
		past = append(past, truth)
		if n < warmUp || values == nil {
			continue
		}
		for series, v := range values {
			if v != 0 && strings.HasPrefix(series, "source_anomaly") {
				require.Contains(l.t, series, "decoupled_durations", "a false anomaly")
			}
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

// advance advances the time. With streams there are nearly always as many requests in flight,
// because the next request arrives in the step after one has ended.
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

// sampled reports whether the server shows gauges that it samples often.
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
	worst := make(map[[2]string]largest)
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

// largest is the largest error of a quantity, with the load of its measurement.
type largest struct {
	err  float64
	load string
}

// measure compares the errors of a server with their bounds, and returns the largest of each
// quantity.
func (s subject) measure(t *testing.T) map[[2]string]largest {
	t.Helper()
	worst := make(map[[2]string]largest)
	for _, ld := range loads() {
		l := &ledger{t: t, subject: s, load: ld, worst: make(map[quantity]float64)}
		l.run(1)
		if fixture.Updating() { // The document has the largest errors of two runs.
			l.run(2)
		}
		for q, e := range l.worst {
			key := [2]string{s.name, q.name + " | " + measured(q.bound) + " " + q.unit}
			if e > worst[key].err {
				worst[key] = largest{e, ld.name}
			}
			require.LessOrEqual(t, e, q.bound+1e-9, "%s, %s", key[1], ld.name) // Rates have fifteen digits.
		}
	}
	return worst
}

// recorded requires that the document has all servers, or writes it with -update.
func recorded(t *testing.T, worst map[[2]string]largest) {
	t.Helper()
	if fixture.Updating() {
		writeAccuracy(t, tableOf(worst))
	}
	document, err := os.ReadFile(accuracyDoc)
	require.NoError(t, err)
	require.Contains(t, string(document), comparedServers(), "run this test with -update")
}

// tableOf returns the rows of the table, one for the servers with the same errors. It omits
// quantities without any error.
func tableOf(worst map[[2]string]largest) []string {
	servers := make(map[string][]string)
	for key, one := range worst {
		if found := measured(one.err); found != "0" {
			row := key[1] + " | " + found + ", " + one.load
			servers[row] = append(servers[row], key[0])
		}
	}
	var rows []string
	for row, names := range servers {
		slices.Sort(names)
		rows = append(rows, "| "+strings.Join(names, ", ")+" | "+row+" |")
	}
	slices.Sort(rows)
	before := ""
	for i, row := range rows { // A row omits the names that it shares with the row above.
		names, cells, _ := strings.Cut(row[1:], "|")
		if names == before {
			rows[i] = "| |" + cells
		}
		before = names
	}
	return rows
}

// comparedServers names the servers in front of the table.
func comparedServers() string {
	var names []string
	for _, s := range subjects() {
		names = append(names, s.name)
	}
	return "Servers: " + strings.Join(names, ", ") + ". Quantities without any error are omitted.\n\n"
}

// measured formats an error with three digits.
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
	names, rule := "| server | quantity | allowed | largest |", "| --- | --- | --- | --- |"
	table := names + "\n" + rule + "\n" + strings.Join(rows, "\n") + "\n"
	require.NoError(
		t,
		os.WriteFile(accuracyDoc, []byte(head+accuracyBegin+comparedServers()+table+accuracyEnd+tail), 0o600),
	)
}

// rates compares what is counted over the window.
func (l *ledger) rates(r *rig, values map[string]float64, before, truth simulate.Truth) {
	seconds := (truth.At - before.At).Seconds()
	over := func(now, then uint64) float64 { return float64(now-then) / seconds }
	generated := over(truth.GeneratedTokensSoFar, before.GeneratedTokensSoFar)
	if got, ok := r.entryValue(values, "generation_tokens_per_second"); ok {
		if l.load.name != "idle" {
			l.relative(lag, got, generated)
		}
		switch l.subject.spec.Kind {
		case simulate.KindNIM, simulate.KindTritonVLLM, simulate.KindTritonLLMAPIModule, simulate.KindVLLM:
			l.relative(liveTokens, got, generated)
		case simulate.KindServe, simulate.KindDynamo, simulate.KindSGLang:
			l.relative(tokens, got, over(truth.GenerationTokens, before.GenerationTokens))
		default:
			l.relative(
				tokens,
				got,
				over(
					truth.GenerationTokens+truth.FailedGenerationTokens,
					before.GenerationTokens+before.FailedGenerationTokens,
				),
			)
		}
	}
	if got, ok := r.entryValue(values, "prompt_tokens_per_second"); ok {
		switch l.subject.spec.Kind {
		case simulate.KindNIM, simulate.KindTritonVLLM:
			l.relative(prompt, got, over(truth.ContextTokensSoFar, before.ContextTokensSoFar))
		case simulate.KindServe, simulate.KindSGLang:
			l.relative(prompt, got, over(truth.PromptTokens, before.PromptTokens))
		case simulate.KindTritonLLMAPIModule,
			simulate.KindVLLM: // Counted with the first token, which the truth does not count.
		default:
			l.relative(
				prompt,
				got,
				over(truth.PromptTokens+truth.FailedPromptTokens, before.PromptTokens+before.FailedPromptTokens),
			)
		}
	}
	if got, ok := r.entryValue(values, "generation_tokens_live_per_second"); ok {
		l.relative(decoded, got, generated)
	}
	if got, ok := r.entryValue(values, "generation_tokens_per_second_estimate"); ok && l.load.name != "idle" {
		q := estimated
		if l.load.steady {
			q = steady
		}
		l.relative(q, got, generated)
	}
	l.ended(r, values, before, truth, seconds)
}

// ended compares requests that ended and failed. Servers that do not count
// failures are compared with what finished, those that count at acceptance
// with what arrived.
func (l *ledger) ended(r *rig, values map[string]float64, before, truth simulate.Truth, seconds float64) {
	finished, failed := float64(truth.Finished-before.Finished), float64(truth.Failed-before.Failed)
	if got, ok := r.entryValue(values, "requests_per_second"); ok {
		switch l.subject.spec.Kind {
		case simulate.KindTritonLLMAPI, simulate.KindTritonVLLM:
			l.relative(requests, got, float64(truth.Arrived-before.Arrived)/seconds)
		case simulate.KindServeGen2, simulate.KindServeOld, simulate.KindDynamo:
			l.relative(requests, got, finished/seconds)
		default:
			l.relative(requests, got, (finished+failed)/seconds)
		}
	}
	share, some := 0.0, false
	for series, v := range values {
		if strings.HasPrefix(series, "request_error_ratio{") {
			share, some = share+v, true
		}
	}
	if some && finished+failed > 0 {
		l.note(errorShare, 100*math.Abs(share-failed/(finished+failed)))
	}
	if got, ok := r.entryValue(values, "request_duration_average_seconds"); ok && finished > 0 {
		l.note(meanE2E, 1e3*math.Abs(got-(truth.E2ESum-before.E2ESum).Seconds()/finished))
	}
}

// gauges compares gauges with all values that were true while they may have been sampled.
func (l *ledger) gauges(r *rig, values map[string]float64, around []simulate.Truth) {
	nearest := func(got float64, value func(simulate.Truth) float64) float64 { return nearest(got, around, value) }
	last := around[len(around)-1]
	saturated, known := r.entryValue(values, "saturated")
	hidden := !slices.ContainsFunc(around, func(t simulate.Truth) bool { return t.Hidden == 0 })
	if known && hidden {
		l.note(unsaturated, 1-saturated)
	}
	stale := l.subject.spec.Kind == simulate.KindServe
	if got, ok := r.entryValue(values, "requests_running"); ok && !stale {
		l.note(running, nearest(got, func(t simulate.Truth) float64 { return float64(t.Running) }))
	}
	if got, ok := r.entryValue(values, "kv_cache_utilization_ratio"); ok && !stale && last.KVBlocks > 0 &&
		l.subject.spec.Kind != simulate.KindServeGen2 {
		l.note(
			kvAround,
			100*nearest(got, func(t simulate.Truth) float64 { return float64(t.KVUsed) / float64(t.KVBlocks) }),
		)
	}
	if used, ok := values[`kv_cache_blocks{model_id="`+r.id+`", state="used"}`]; ok && !stale {
		got, ok := r.entryValue(values, "kv_cache_utilization_ratio")
		limit, known := r.entryValue(values, "kv_cache_blocks_limit")
		require.True(l.t, ok && known, "with blocks in use there are utilization (%t) and limit (%t)", ok, known)
		l.note(kvUse, 100*math.Abs(got-used/limit))
	}
	got, ok := r.entryValue(values, "queue_depth")
	if !ok || stale {
		return
	}
	switch l.subject.spec.Kind {
	case simulate.KindTritonCore:
		l.note(waiting, nearest(got, func(t simulate.Truth) float64 { return float64(t.Hidden) }))
	case simulate.KindNIM, simulate.KindVLLM, simulate.KindSGLang:
		l.note(waitingNIM, nearest(got, func(t simulate.Truth) float64 { return float64(t.Queued) }))
	default:
		l.note(waiting, nearest(got, func(t simulate.Truth) float64 { return float64(t.Active - t.Running) }))
		running := 0
		for _, t := range around {
			running = max(running, t.Queued)
		}
		l.note(lowerBound, max(0, got-float64(running)))
	}
}

// latencies compares percentiles with those of the requests that finished in the window.
func (l *ledger) latencies(r *rig, values map[string]float64, before, truth simulate.Truth) {
	n := int(truth.Finished - before.Finished)
	window := r.replica.Latencies()
	if n < 5 || n > len(window) {
		return
	}
	window = window[len(window)-n:]
	e2e := func(l simulate.Latency) time.Duration { return l.E2E }
	ttft := func(l simulate.Latency) time.Duration { return l.TTFT }
	tpot := func(l simulate.Latency) time.Duration { return l.TPOT }
	switch l.subject.spec.Kind {
	case simulate.KindServe,
		simulate.KindServeGen2,
		simulate.KindServeOld,
		simulate.KindDynamo,
		simulate.KindVLLM,
		simulate.KindSGLang:
		l.buckets(bucketsE2E, r, values, "request_duration", window, e2e)
		l.buckets(bucketsTTFT, r, values, "time_to_first_token", window, ttft)
		l.buckets(bucketsTPOT, r, values, "time_per_output_token", window, tpot)
	case simulate.KindNIM, simulate.KindTritonVLLM, simulate.KindTritonLLMAPIModule:
		l.buckets(bucketsE2E, r, values, "request_duration", window, e2e)
	case simulate.KindTritonLLMAPI, simulate.KindTritonCore:
	default:
		if l.load.name != "idle" {
			l.buckets(bucketsTTFT, r, values, "time_to_first_token", window, ttft)
		}
		if all := observed(window, e2e); l.load.name == "half" && len(all) > 0 {
			for _, p := range []float64{0.5, 0.95} {
				if got, ok := values[r.percentile(values, "request_duration_percentile_seconds", p)]; ok {
					l.relative(summaryE2E, got, quantileOf(all, p))
				}
			}
		}
	}
}

// buckets compares percentiles by the buckets they fall into.
func (l *ledger) buckets(
	q quantity,
	r *rig,
	values map[string]float64,
	name string,
	window []simulate.Latency,
	duration func(simulate.Latency) time.Duration,
) {
	var bounds []float64
	for series := range values {
		_, rest, _ := strings.Cut(series, `le="`)
		text, _, _ := strings.Cut(rest, `"`)
		if le, err := strconv.ParseFloat(text, 64); err == nil && strings.HasPrefix(series, name+"_seconds_bucket{") &&
			!slices.Contains(bounds, le) {
			bounds = append(bounds, le)
		}
	}
	slices.Sort(bounds)
	all := observed(window, duration)
	for _, p := range []float64{0.5, 0.95, 0.99} {
		got, ok := values[r.percentile(values, name+"_percentile_seconds", p)]
		if !ok || len(all) == 0 {
			continue
		}
		want := quantileOf(all, p)
		a, _ := slices.BinarySearch(bounds, got)
		b, _ := slices.BinarySearch(bounds, want)
		l.note(q, math.Abs(float64(a-b)))
	}
}

func (r *rig) percentile(values map[string]float64, family string, p float64) string {
	return r.series(values, family, fmt.Sprintf(`, percentile="%.0f"`, 100*p))
}

// observed returns the times that are not 0, in seconds, sorted.
func observed(window []simulate.Latency, duration func(simulate.Latency) time.Duration) []float64 {
	all := make([]float64, 0, len(window))
	for _, l := range window {
		if v := duration(l).Seconds(); v > 0 {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// quantileOf returns a quantile of observations.
func quantileOf(all []float64, p float64) float64 {
	return all[max(0, int(math.Ceil(p*float64(len(all))))-1)]
}

// nearest returns the distance of a value from the nearest true value.
func nearest(got float64, around []simulate.Truth, value func(simulate.Truth) float64) float64 {
	best := math.Inf(1)
	for _, t := range around {
		best = min(best, math.Abs(got-value(t)))
	}
	return best
}

// The request limit of the simulated executors, and the tokens per block of their KV caches.
const (
	maxActive   = 16
	blockTokens = 64
)

// estimates compares estimates with the truth: over is the window, page by page, around the
// values that were true while gauges were sampled.
func (l *ledger) estimates(r *rig, values map[string]float64, over, around []simulate.Truth) {
	first, last := over[0], over[len(over)-1]
	if got, ok := r.entryValue(values, "queue_hidden_requests_estimate"); ok {
		mean := 0.0
		for _, t := range over {
			mean += float64(t.Hidden) / float64(len(over))
		}
		switch {
		case l.load.streams > 0:
			l.relative(hiddenQueue, got, mean)
		case mean >= 5:
			l.relative(hiddenGrows, got, mean)
		}
	}
	finished, failed := float64(last.Finished-first.Finished), float64(last.Failed-first.Failed)
	for series, got := range values {
		if strings.HasPrefix(series, "signal_coverage_ratio{") &&
			strings.Contains(series, `signal="request_duration"`) &&
			finished > 0 {
			l.note(coverage, 100*math.Abs(got-finished/(finished+failed)))
		}
	}
	if len(around) == 0 {
		return
	}
	if got, ok := r.entryValue(values, "headroom_requests"); ok && finished > 0 {
		mean := float64(last.PromptTokens-first.PromptTokens+last.GenerationTokens-first.GenerationTokens) / finished
		l.note(headroom, nearest(got, around, func(t simulate.Truth) float64 {
			slots := float64(maxActive - t.Active)
			return max(min(slots, float64((t.KVBlocks-t.KVUsed)*blockTokens)/mean), 0)
		}))
	}
	l.named(r, values, around)
}

// named compares the named resource, if any, with what requests waited for.
func (l *ledger) named(r *rig, values map[string]float64, around []simulate.Truth) {
	name := func(resource string) bool {
		return values[r.series(values, "limited_by", `, resource="`+resource+`"`)] == 1
	}
	if !slices.ContainsFunc([]string{"none", "slots", "kv_cache", "prefill", "core_queue"}, name) {
		return
	}
	wrong := 100.0
	for _, t := range around {
		waitsFor := "none"
		switch {
		case t.Active >= maxActive:
			waitsFor = "slots"
		case t.Queued > 0:
			waitsFor = "prefill"
		}
		if name(waitsFor) {
			wrong = 0
		}
	}
	l.note(limitedBy, wrong)
}
