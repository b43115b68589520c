package derive_test

import (
	"math"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// The simulated executors admit so many requests, and a block of their KV caches
// holds so many tokens.
const (
	maxActive   = 16
	blockTokens = 64
)

// estimates compares what no server says with what was true: over is the window,
// page by page, around everything that was true when gauges were sampled.
func (l *ledger) estimates(r *rig, values map[string]float64, over, around []simulate.Truth) {
	first, last := over[0], over[len(over)-1]
	if got, ok := r.of(values, "queue_hidden_requests_estimate"); ok {
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
		if strings.HasPrefix(series, "signal_coverage_ratio{") && strings.Contains(series, `signal="request_duration"`) && finished > 0 {
			l.note(coverage, 100*math.Abs(got-finished/(finished+failed)))
		}
	}
	if len(around) == 0 {
		return
	}
	if got, ok := r.of(values, "headroom_requests"); ok && finished > 0 {
		mean := float64(last.PromptTokens-first.PromptTokens+last.GenerationTokens-first.GenerationTokens) / finished
		l.note(headroom, nearest(got, around, func(t simulate.Truth) float64 {
			slots := float64(maxActive - t.Active)
			return max(min(slots, float64((t.KVBlocks-t.KVUsed)*blockTokens)/mean), 0)
		}))
	}
	l.named(r, values, around)
}

// named compares the resource that is named, where one is, with what requests
// waited for.
func (l *ledger) named(r *rig, values map[string]float64, around []simulate.Truth) {
	says := func(resource string) bool {
		return values[r.series(values, "limited_by", `, resource="`+resource+`"`)] == 1
	}
	if !has(values, r.series(values, "limited_by", `, resource="none"`)) || says("unknown") {
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
		if says(waitsFor) {
			wrong = 0
		}
	}
	l.note(limitedBy, wrong)
}
