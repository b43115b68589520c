package simulate

import (
	"slices"
	"time"
)

// begin starts the next iteration.
func (e *engine) begin(now time.Duration) {
	it := &iteration{n: e.Iterations + 1}
	e.kv.iterReused, e.kv.iterMissed, e.kv.iterGenAlloc = 0, 0, 0
	for len(e.queue) > 0 && len(e.active) < e.cfg.MaxActive {
		r := e.queue[0]
		e.queue = e.queue[1:]
		it.newActive++
		e.active = append(e.active, r)
	}
	it.active, it.queued = len(e.active), len(e.queue)
	slots, budget := e.cfg.MaxBatch, maxTokens
	e.scheduleDecoding(it, &slots, &budget)
	e.scheduleContext(now, it, slots, budget)
	it.scheduled = it.context + it.decoding
	it.latency = e.cfg.IterationBase + time.Duration(it.contextTokens)*e.cfg.PerContextToken + time.Duration(it.decoding)*e.cfg.PerSequence
	e.running, e.end = it, now+it.latency
}

// scheduleDecoding allocates the next block of every decoding request, oldest first. If
// there is none, it pauses the youngest request and frees its blocks.
func (e *engine) scheduleDecoding(it *iteration, slots, budget *int) {
	for _, r := range e.active {
		if r.paused || r.inContext() || *slots == 0 {
			continue
		}
		for !e.kv.grow(r) {
			victim := e.youngest()
			e.pause(victim, it)
			if victim == r {
				break
			}
		}
		if r.paused {
			continue
		}
		r.decoding = true
		it.decoding++
		*slots--
		*budget--
	}
}

func (e *engine) youngest() *request {
	for _, r := range slices.Backward(e.active) {
		if r.blocks > 0 {
			return r
		}
	}
	return e.active[0]
}

// pause frees the blocks of a request; its context, including the generated tokens, is
// computed again later.
func (e *engine) pause(r *request, it *iteration) {
	e.kv.release(r)
	r.paused = true
	r.context = 0
	r.target = r.prompt + r.generated
	it.paused++
	e.Paused++
}

func (e *engine) scheduleContext(now time.Duration, it *iteration, slots, budget int) {
	for _, r := range e.active {
		if !r.inContext() {
			continue
		}
		if slots == 0 || budget <= 0 || it.paused > 0 {
			return
		}
		if e.kv.held(r) == 0 && !e.kv.begin(r) {
			return
		}
		r.paused = false
		r.chunk = min(r.target-r.context, budget)
		if r.scheduled == 0 {
			r.scheduled = now
		}
		it.context++
		it.contextTokens += r.chunk
		slots--
		budget -= r.chunk
	}
}

// finish ends the running iteration, calls obs and starts the next one.
func (e *engine) finish(now time.Duration, obs observer) {
	it := e.running
	e.Iterations++
	e.busy += it.latency
	it.at = now
	e.ContextTokensSoFar += uint64(it.contextTokens)
	for _, r := range e.active {
		e.progress(now, r, it, obs)
	}
	e.active = slices.DeleteFunc(e.active, func(r *request) bool { return r.output == 0 })
	it.kvUsed, it.kvFree, it.kv = e.kv.used, e.kv.free(), e.kv.kvStats
	e.last = *it
	obs.iterated(it)
	e.running, e.end = nil, never
	// Recent executors run one more iteration when the list empties, so that gauges of
	// requests fall to zero.
	if e.inFlight() > 0 || it.active > 0 {
		e.begin(now)
	}
}

func (e *engine) progress(now time.Duration, r *request, it *iteration, obs observer) {
	switch {
	case r.chunk > 0:
		r.context += r.chunk
		r.chunk = 0
		if r.inContext() {
			return
		}
		if r.fails {
			e.drop(r, obs.failed)
			return
		}
	case r.decoding:
		r.decoding = false
		r.context++
		r.target++
	default:
		return
	}
	r.generated++
	r.lastToken = now
	it.tokens++
	e.GeneratedTokensSoFar++
	if r.generated == 1 {
		r.firstToken = now
		obs.started(r)
	}
	r.send(streamEvent{token: r.generated})
	if r.generated >= r.output {
		it.completed++
		e.kv.release(r)
		obs.finished(r)
		r.output = 0
	}
}

// abort fails everything in flight and calls book for each request.
func (e *engine) abort(book func(*request)) {
	for _, r := range append(e.active, e.queue...) {
		e.drop(r, book)
	}
	e.active, e.queue, e.running, e.end = nil, nil, nil, never
}

func (e *engine) drop(r *request, book func(*request)) {
	e.kv.release(r)
	book(r)
	r.output = 0
	r.send(streamEvent{done: true, failed: true})
}
