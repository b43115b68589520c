package derive_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// rates compares what is counted over the window.
func (l *ledger) rates(r *rig, values map[string]float64, before, truth simulate.Truth) {
	seconds := (truth.At - before.At).Seconds()
	over := func(now, then uint64) float64 { return float64(now-then) / seconds }
	generated := over(truth.GeneratedTokensSoFar, before.GeneratedTokensSoFar)
	if got, ok := r.of(values, "generation_tokens_per_second"); ok {
		if l.load.name != "idle" {
			l.relative(lag, got, generated)
		}
		switch l.subject.spec.Kind {
		case simulate.KindNIM, simulate.KindTritonVLLM, simulate.KindTritonLLMAPIModule, simulate.KindVLLM:
			l.relative(liveTokens, got, generated)
		case simulate.KindServe, simulate.KindDynamo, simulate.KindSGLang:
			l.relative(tokens, got, over(truth.GenerationTokens, before.GenerationTokens))
		default:
			l.relative(tokens, got, over(truth.GenerationTokens+truth.FailedGenerationTokens, before.GenerationTokens+before.FailedGenerationTokens))
		}
	}
	if got, ok := r.of(values, "prompt_tokens_per_second"); ok {
		switch l.subject.spec.Kind {
		case simulate.KindNIM, simulate.KindTritonVLLM:
			l.relative(prompt, got, over(truth.ContextTokensSoFar, before.ContextTokensSoFar))
		case simulate.KindServe, simulate.KindSGLang:
			l.relative(prompt, got, over(truth.PromptTokens, before.PromptTokens))
		case simulate.KindTritonLLMAPIModule, simulate.KindVLLM: // Counted with the first token, which the truth does not book.
		default:
			l.relative(prompt, got, over(truth.PromptTokens+truth.FailedPromptTokens, before.PromptTokens+before.FailedPromptTokens))
		}
	}
	if got, ok := r.of(values, "generation_tokens_live_per_second"); ok {
		l.relative(decoded, got, generated)
	}
	if got, ok := r.of(values, "generation_tokens_per_second_estimate"); ok && l.load.name != "idle" {
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
	if got, ok := r.of(values, "requests_per_second"); ok {
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
	if got, ok := r.of(values, "request_duration_average_seconds"); ok && finished > 0 {
		l.note(meanE2E, 1e3*math.Abs(got-(truth.E2ESum-before.E2ESum).Seconds()/finished))
	}
}

// gauges compares what was sampled with everything that was true within the
// time in which it was.
func (l *ledger) gauges(r *rig, values map[string]float64, around []simulate.Truth) {
	nearest := func(got float64, of func(simulate.Truth) float64) float64 { return nearest(got, around, of) }
	last := around[len(around)-1]
	saturated, known := r.of(values, "saturated")
	hidden := !slices.ContainsFunc(around, func(t simulate.Truth) bool { return t.Hidden == 0 })
	if known && hidden {
		l.note(unsaturated, 1-saturated)
	}
	stale := l.subject.spec.Kind == simulate.KindServe
	if got, ok := r.of(values, "requests_running"); ok && !stale {
		l.note(running, nearest(got, func(t simulate.Truth) float64 { return float64(t.Running) }))
	}
	if got, ok := r.of(values, "kv_cache_utilization_ratio"); ok && !stale && last.KVBlocks > 0 && l.subject.spec.Kind != simulate.KindServeGen2 {
		l.note(kvAround, 100*nearest(got, func(t simulate.Truth) float64 { return float64(t.KVUsed) / float64(t.KVBlocks) }))
	}
	if used, ok := values[`kv_cache_blocks{model_id="`+r.id+`", state="used"}`]; ok && !stale {
		got, ok := r.of(values, "kv_cache_utilization_ratio")
		most, known := r.of(values, "kv_cache_blocks_limit")
		require.True(l.t, ok && known)
		l.note(kvUse, 100*math.Abs(got-used/most))
	}
	got, ok := r.of(values, "queue_depth")
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
		most := 0
		for _, t := range around {
			most = max(most, t.Queued)
		}
		l.note(lowerBound, max(0, got-float64(most)))
	}
}

// latencies compares percentiles with those of the requests that finished in
// the window.
func (l *ledger) latencies(r *rig, values map[string]float64, before, truth simulate.Truth) {
	n := int(truth.Finished - before.Finished)
	window := r.replica.Latencies()
	if n < 5 || n > len(window) {
		return
	}
	window = window[len(window)-n:]
	long := []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	first := []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	each := []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	short := []float64{1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60}
	e2e := func(l simulate.Latency) time.Duration { return l.E2E }
	ttft := func(l simulate.Latency) time.Duration { return l.TTFT }
	tpot := func(l simulate.Latency) time.Duration { return l.TPOT }
	switch l.subject.spec.Kind {
	case simulate.KindServe, simulate.KindServeGen2, simulate.KindServeOld, simulate.KindDynamo, simulate.KindVLLM:
		l.buckets(bucketsE2E, r, values, "request_duration_percentile_seconds", window, e2e, long)
		l.buckets(bucketsTTFT, r, values, "time_to_first_token_percentile_seconds", window, ttft, first)
		l.buckets(bucketsTPOT, r, values, "time_per_output_token_percentile_seconds", window, tpot, each)
	case simulate.KindNIM, simulate.KindTritonVLLM:
		l.buckets(bucketsE2E, r, values, "request_duration_percentile_seconds", window, e2e, short)
	case simulate.KindTritonLLMAPIModule:
		l.buckets(bucketsE2E, r, values, "request_duration_percentile_seconds", window, e2e, long)
	case simulate.KindSGLang:
		long = []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400}
		first = []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
		each = []float64{0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8}
		l.buckets(bucketsE2E, r, values, "request_duration_percentile_seconds", window, e2e, long)
		l.buckets(bucketsTTFT, r, values, "time_to_first_token_percentile_seconds", window, ttft, first)
		l.buckets(bucketsTPOT, r, values, "time_per_output_token_percentile_seconds", window, tpot, each)
	case simulate.KindTritonLLMAPI, simulate.KindTritonCore:
	default:
		if l.load.name != "idle" {
			l.buckets(bucketsTTFT, r, values, "time_to_first_token_percentile_seconds", window, ttft, []float64{0.1, 0.5, 2, 5})
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
func (l *ledger) buckets(q quantity, r *rig, values map[string]float64, family string, window []simulate.Latency, of func(simulate.Latency) time.Duration, bounds []float64) {
	all := observed(window, of)
	for _, p := range []float64{0.5, 0.95, 0.99} {
		got, ok := values[r.percentile(values, family, p)]
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

// observed are times in seconds, sorted, those of 0 left out.
func observed(window []simulate.Latency, of func(simulate.Latency) time.Duration) []float64 {
	all := make([]float64, 0, len(window))
	for _, l := range window {
		if v := of(l).Seconds(); v > 0 {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// quantileOf is the quantile of what was observed.
func quantileOf(all []float64, p float64) float64 {
	return all[max(0, int(math.Ceil(p*float64(len(all))))-1)]
}

// nearest is how far a value is from the nearest of what was true.
func nearest(got float64, around []simulate.Truth, of func(simulate.Truth) float64) float64 {
	best := math.Inf(1)
	for _, t := range around {
		best = min(best, math.Abs(got-of(t)))
	}
	return best
}
