package simulate

// booked has the counters and histograms of a server's requests. Each kind of server
// updates and prints its own part; its other histograms are nil.
type booked struct {
	begun, ended tokens // Added with the first token of requests, and with their end.
	steps        uint64
	// Sums over the steps of the engine.
	context, generated, decoded, paused uint64
	last                                iteration
	reasons                             reasonCounts
	requestTimings
	requestSizes
	// zeros is true if requests of one token count as times of 0 between tokens,
	// zeroWaits if queue times of 0 count.
	zeros, zeroWaits bool
}

// requestTimings are histograms of times, requestSizes of tokens. itl has the times
// between tokens, tpot the mean of each request.
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
