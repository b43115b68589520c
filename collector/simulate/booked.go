package simulate

import (
	"strings"
	"time"
)

func seconds(from, to time.Duration) float64 { return (to - from).Seconds() }

// born returns when the process started, in seconds since the Unix epoch.
func (w *world) born() float64 { return float64(w.start.Add(w.up).UnixMilli()) / 1e3 }

// writePython writes prometheus_client's families about a process of Python 3.
func (w *world) writePython(p *page, version string) {
	parts := strings.Split(version, ".")
	p.one("gauge", "python_info", "Python platform information", pairs(
		"implementation", "CPython", "major", parts[0], "minor", parts[1], "patchlevel", parts[2], "version", version,
	), 1)
	p.one("gauge", "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", w.born())
}

// booked has the counters and histograms of a server's requests; unused ones are nil.
type booked struct {
	begun, ended       tokens // Added with the first token of requests, and with their end.
	requests, failures uint64 // That ended, whatever their reason, and that failed.
	steps              uint64
	// Sums over the steps of the engine.
	context, generated, decoded, paused uint64
	last                                iteration
	reasons                             reasonCounts
	requestTimings
	requestSizes
	// zeros is true if one token counts as a time of 0 between tokens, zeroWaits queue times of 0.
	zeros, zeroWaits bool
}

// itl has the times between tokens, tpot the mean of each request.
type (
	requestTimings struct{ ttft, itl, tpot, e2e, queue, prefill, decode, inference *histogram }
	requestSizes   struct{ promptEach, generationEach, cachedEach, computedEach *histogram }
)

// tokens counts the tokens of requests.
type tokens struct{ prompt, cached, generation uint64 }

func (t *tokens) add(r *request) {
	t.prompt += uint64(r.prompt)
	t.cached += uint64(r.cached)
	t.generation += uint64(r.generated)
}

func (b *booked) started(r *request) {
	b.begun.add(r)
	b.ttft.observe(seconds(r.arrived, r.firstToken))
}

func (b *booked) finished(r *request) {
	b.ended.add(r)
	b.requests++
	b.reasons.add(r.reason)
	l := latencyOf(r)
	b.e2e.observe(l.E2E.Seconds())
	if b.zeroWaits || l.Queue > 0 {
		b.queue.observe(l.Queue.Seconds())
	}
	if b.zeros || r.generated > 1 {
		b.tpot.observe(l.TPOT.Seconds())
		b.decode.observe(seconds(r.firstToken, r.lastToken))
	}
	b.prefill.observe(seconds(r.scheduled, r.firstToken))
	b.inference.observe(seconds(r.scheduled, r.lastToken))
	b.promptEach.observe(float64(r.prompt))
	b.generationEach.observe(float64(r.generated))
	b.cachedEach.observe(float64(r.cached))
	b.computedEach.observe(float64(r.prompt - r.cached))
}

func (b *booked) iterated(it *iteration) {
	b.steps++
	b.context += uint64(it.contextTokens)
	b.generated += uint64(it.tokens)
	b.decoded += uint64(it.decoding)
	b.paused += uint64(it.paused)
	b.itl.observeN(it.latency.Seconds(), uint64(it.decoding))
	b.last = *it
}
