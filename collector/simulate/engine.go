package simulate

import (
	"slices"
	"time"
)

// Engine configures the simulated TRT-LLM executor. Zero fields have defaults.
type Engine struct {
	// MaxActive bounds the active requests, MaxBatch those of one iteration.
	MaxActive, MaxBatch int
	// KVBlocks and TokensPerBlock size the KV cache.
	KVBlocks, TokensPerBlock int
	// An iteration takes IterationBase and more for each context token and decoding request.
	IterationBase, PerContextToken, PerSequence time.Duration
}

// maxTokens is the maximum number of tokens in one iteration.
const maxTokens = 8192

// withDefaults sets the defaults, a mid-size model on one GPU.
func (c Engine) withDefaults() Engine {
	setDefault(&c.MaxActive, 64)
	setDefault(&c.MaxBatch, min(c.MaxActive, 64))
	setDefault(&c.KVBlocks, 6239)
	setDefault(&c.TokensPerBlock, 64)
	setDefault(&c.IterationBase, 9*time.Millisecond)
	setDefault(&c.PerContextToken, 20*time.Microsecond)
	setDefault(&c.PerSequence, 120*time.Microsecond)
	return c
}

// observer is called at the simulated time of each event in the executor.
type observer interface {
	started(r *request)  // It has its first token.
	finished(r *request) // It has all its tokens.
	failed(r *request)
	iterated(it *iteration) // Called after the requests that the iteration ended.
}

// iteration is the statistics record of one executor iteration.
type iteration struct {
	n              uint64
	at, latency    time.Duration
	active, queued int
	batch
	newActive, completed int
	kvUsed, kvFree       int
	kv                   kvStats
}

// batch counts the requests of an iteration by phase, and its tokens.
type batch struct {
	scheduled, context, decoding, paused int
	contextTokens, tokens                int
}

// engine is the executor: a hidden queue, an active list and one iteration at a time.
type engine struct {
	cfg    Engine
	kv     *kvCache
	queue  []*request
	active []*request

	running   *iteration
	end       time.Duration // When the running iteration ends.
	stalled   bool
	remaining time.Duration // Remaining time of the running iteration, while stalled.
	last      iteration
	busy      time.Duration // Time spent in iterations.
	Executed
}

func newEngine(cfg Engine, load Workload) *engine {
	return &engine{cfg: cfg, kv: newKVCache(cfg, load), end: never}
}

// clamp limits a request to what the executor can serve.
func (e *engine) clamp(r *request) {
	capacity := (e.kv.blocks - 1) * e.kv.perBlock
	r.prompt = min(r.prompt, max(1, capacity/2))
	r.output = max(1, min(r.output, capacity-r.prompt))
	r.target = r.prompt
}

// submit puts a request into the executor's queue.
func (e *engine) submit(now time.Duration, r *request) {
	e.queue = append(e.queue, r)
	if e.running == nil && !e.stalled {
		e.begin(now)
	}
}

// inFlight counts the requests that have arrived and not ended.
func (e *engine) inFlight() int { return len(e.queue) + len(e.active) }

// stall freezes the iteration loop, or lets it continue where it was.
func (e *engine) stall(now time.Duration, on bool) {
	switch {
	case on == e.stalled:
	case on:
		e.remaining, e.end = e.end-now, never
	case e.running != nil:
		e.end = now + e.remaining
	case e.inFlight() > 0:
		e.begin(now)
	}
	e.stalled = on
}

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
	it.latency = e.cfg.IterationBase + time.Duration(
		it.contextTokens,
	)*e.cfg.PerContextToken + time.Duration(
		it.decoding,
	)*e.cfg.PerSequence
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

// pause frees the blocks of a request, whose context is computed again later.
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
	// Another iteration runs when the list empties, so that gauges fall to zero.
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
