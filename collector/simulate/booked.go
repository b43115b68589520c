package simulate

import "time"

// newVLLM returns the histograms of vLLM's engine in Triton's vLLM backend (README of
// vllm_backend) and, without the prefix, in NIM 1.x. They report times between tokens
// under the name of the mean time per token.
func newVLLM() booked {
	return booked{requestTimings: requestTimings{
		ttft: newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		itl:  newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5),
		e2e:  newHistogram(1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60),
	}}
}

func seconds(from, to time.Duration) float64 { return (to - from).Seconds() }

// born returns when the process started, in seconds since the Unix epoch.
func (w *world) born() float64 { return float64(w.start.Add(w.up).UnixMilli()) / 1e3 }

// writePython writes prometheus_client's families about a Python 3 process.
func (w *world) writePython(p *page, minor, patch string) {
	p.one(
		"gauge",
		"python_info",
		"Python platform information",
		pairs(
			"implementation",
			"CPython",
			"major",
			"3",
			"minor",
			minor,
			"patchlevel",
			patch,
			"version",
			"3."+minor+"."+patch,
		),
		1,
	)
	p.one("gauge", "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", w.born())
}

// booked has the counters and histograms of a server's requests; unused ones are nil.
type booked struct {
	begun, ended tokens // Added with the first token of requests, and with their end.
	steps        uint64
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

func (b *booked) writeTokens(p *page, prefix, labels string) {
	p.one("counter", prefix+"prompt_tokens_total", "Number of prefill tokens processed.", labels, float64(b.context))
	p.one(
		"counter",
		prefix+"generation_tokens_total",
		"Number of generation tokens processed.",
		labels,
		float64(b.generated),
	)
}

func (b *booked) writeTimes(p *page, prefix, labels string) {
	p.histogram(prefix+"time_to_first_token_seconds", "Histogram of time to first token in seconds.", labels, b.ttft)
	p.histogram(prefix+"time_per_output_token_seconds", "Histogram of time per output token in seconds.", labels, b.itl)
	p.histogram(
		prefix+"e2e_request_latency_seconds",
		"Histogram of end to end request latency in seconds.",
		labels,
		b.e2e,
	)
}
