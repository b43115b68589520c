package simulate

import (
	"slices"
	"time"
)

// Engine says how the simulated TRT-LLM executor is built. Zero fields take the
// values of DefaultEngine.
type Engine struct {
	// MaxActive is the most requests in the executor's active list, MaxBatch the
	// most of them in one iteration, MaxTokens the tokens of one iteration.
	MaxActive, MaxBatch, MaxTokens int
	// MaxQueue bounds the hidden executor queue; 0 is without bound.
	MaxQueue int
	// KVBlocks and TokensPerBlock size the KV cache.
	KVBlocks, TokensPerBlock int
	// WholePrefill forbids splitting a prompt over iterations (no chunked context).
	WholePrefill bool
	// NoBlockReuse switches KV block reuse off.
	NoBlockReuse bool
	// An iteration takes IterationBase, plus PerContextToken and PerSequence for
	// each context token and decoding request in it.
	IterationBase, PerContextToken, PerSequence time.Duration
}

// DefaultEngine is a mid-size model on one GPU.
func DefaultEngine() Engine {
	return Engine{
		MaxActive: 64, MaxBatch: 64, MaxTokens: 8192, KVBlocks: 6239, TokensPerBlock: 64,
		IterationBase: 9 * time.Millisecond, PerContextToken: 20 * time.Microsecond, PerSequence: 120 * time.Microsecond,
	}
}

func (c Engine) withDefaults() Engine {
	d := DefaultEngine()
	setDefault(&c.MaxActive, d.MaxActive)
	setDefault(&c.MaxBatch, min(c.MaxActive, d.MaxBatch))
	setDefault(&c.MaxTokens, d.MaxTokens)
	setDefault(&c.KVBlocks, d.KVBlocks)
	setDefault(&c.TokensPerBlock, d.TokensPerBlock)
	setDefault(&c.IterationBase, d.IterationBase)
	setDefault(&c.PerContextToken, d.PerContextToken)
	setDefault(&c.PerSequence, d.PerSequence)
	return c
}

// observer hears what happens in the executor, at the simulated moment it does.
type observer interface {
	// The method started hears of a request's first token.
	started(r *request)
	// The method finished hears of a request that got all its tokens.
	finished(r *request)
	// The method failed hears of a request the executor gave an error.
	failed(r *request)
	// The method iterated hears of every iteration, after the requests it ended.
	iterated(it *iteration)
}

// iteration is the statistics record of one executor iteration.
type iteration struct {
	n                                    uint64
	at, latency                          time.Duration
	active, queued                       int
	scheduled, context, decoding, paused int
	contextTokens, tokens                int
	newActive, completed                 int
	queueTime                            time.Duration // Sum over newActive.
	kvUsed, kvFree                       int
	kvReused, kvMissed                   uint64
	kvAllocated, kvAllocatedNew          uint64
	iterReused, iterMissed, iterGenAlloc int
}

// engine is the in-flight batching executor: a hidden queue, an active list and
// one iteration at a time.
type engine struct {
	cfg    Engine
	kv     *kvCache
	queue  []*request
	active []*request

	running    *iteration
	end        time.Duration // When the running iteration ends.
	stalled    bool
	remaining  time.Duration // Of the running iteration, while stalled.
	iterations uint64
	last       iteration
	busy       time.Duration // Time spent in iterations.
	paused     uint64        // Pauses since the start.
	computed   uint64        // Context tokens computed since the start.
	generated  uint64        // Tokens generated since the start.
}

func newEngine(cfg Engine, load Workload) *engine {
	return &engine{cfg: cfg, kv: newKVCache(cfg, load), end: never}
}

// clamp cuts a request to what the executor could ever serve.
func (e *engine) clamp(r *request) {
	room := (e.kv.blocks - 1) * e.kv.perBlock
	r.prompt = min(r.prompt, max(1, room/2))
	if e.cfg.WholePrefill {
		r.prompt = min(r.prompt, e.cfg.MaxTokens)
	}
	r.output = max(1, min(r.output, room-r.prompt))
	r.target = r.prompt
}

// submit puts a request into the executor's queue; false when it is full.
func (e *engine) submit(now time.Duration, r *request) bool {
	if e.cfg.MaxQueue > 0 && len(e.queue) >= e.cfg.MaxQueue {
		return false
	}
	e.clamp(r)
	e.queue = append(e.queue, r)
	if e.running == nil && !e.stalled {
		e.begin(now)
	}
	return true
}

// inFlight counts the requests that have arrived and not ended.
func (e *engine) inFlight() int { return len(e.queue) + len(e.active) }

// stall freezes the iteration loop, or lets it go on where it stood.
func (e *engine) stall(now time.Duration, on bool) {
	if on == e.stalled {
		return
	}
	e.stalled = on
	if on {
		e.remaining, e.end = e.end-now, never
		return
	}
	if e.running != nil {
		e.end = now + e.remaining
	} else if e.inFlight() > 0 {
		e.begin(now)
	}
}

// begin schedules the next iteration.
func (e *engine) begin(now time.Duration) {
	it := &iteration{n: e.iterations + 1}
	e.kv.iterReused, e.kv.iterMissed, e.kv.iterGenerated = 0, 0, 0
	for len(e.queue) > 0 && len(e.active) < e.cfg.MaxActive {
		r := e.queue[0]
		e.queue = e.queue[1:]
		r.activated = now
		it.newActive++
		it.queueTime += now - r.arrived
		e.active = append(e.active, r)
	}
	it.active, it.queued = len(e.active), len(e.queue)
	slots, budget := e.cfg.MaxBatch, e.cfg.MaxTokens
	e.scheduleDecoding(it, &slots, &budget)
	e.scheduleContext(now, it, slots, budget)
	it.scheduled = it.context + it.decoding
	it.latency = e.cfg.IterationBase +
		time.Duration(it.contextTokens)*e.cfg.PerContextToken +
		time.Duration(it.decoding)*e.cfg.PerSequence
	e.running = it
	e.end = now + it.latency
}

// scheduleDecoding gives every decoding request its next block, oldest first;
// when none is left the youngest loses its blocks and is paused.
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

// pause takes the blocks of a request; its context, with what it generated so
// far, is computed again later.
func (e *engine) pause(r *request, it *iteration) {
	e.kv.release(r)
	r.paused = true
	r.context = 0
	r.target = r.prompt + r.generated
	it.paused++
	e.paused++
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
		left := r.target - r.context
		if e.cfg.WholePrefill && left > budget && it.context+it.decoding > 0 {
			return
		}
		r.chunk = left
		if !e.cfg.WholePrefill {
			r.chunk = min(left, budget)
		}
		if r.scheduled == 0 {
			r.scheduled = now
		}
		it.context++
		it.contextTokens += r.chunk
		slots--
		budget -= r.chunk
	}
}

// finish ends the running iteration, tells obs and begins the next one.
func (e *engine) finish(now time.Duration, obs observer) {
	it := e.running
	e.iterations++
	e.busy += it.latency
	it.at = now
	e.computed += uint64(it.contextTokens)
	for _, r := range e.active {
		e.progress(now, r, it, obs)
	}
	e.active = slices.DeleteFunc(e.active, func(r *request) bool { return r.output == 0 })
	it.kvUsed, it.kvFree = e.kv.used, e.kv.free()
	it.kvReused, it.kvMissed = e.kv.reused, e.kv.missed
	it.kvAllocated, it.kvAllocatedNew = e.kv.allocated, e.kv.allocatedNew
	it.iterReused, it.iterMissed, it.iterGenAlloc = e.kv.iterReused, e.kv.iterMissed, e.kv.iterGenerated
	e.last = *it
	obs.iterated(it)
	e.running, e.end = nil, never
	switch {
	case e.inFlight() > 0:
		e.begin(now)
	case it.active > 0:
		// One more record when the list empties, so that request gauges fall to
		// zero, as recent executors do.
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
			e.fail(r, obs)
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
	e.generated++
	if r.generated == 1 {
		r.firstToken = now
		obs.started(r)
	}
	r.tell(streamEvent{token: r.generated})
	if r.generated >= r.output {
		it.completed++
		e.kv.release(r)
		obs.finished(r)
		r.output = 0
	}
}

func (e *engine) fail(r *request, obs observer) {
	e.kv.release(r)
	obs.failed(r)
	r.output = 0
	r.tell(streamEvent{done: true, failed: true})
}

// abort drops everything in flight and tells drop of each request.
func (e *engine) abort(drop func(*request)) {
	for _, r := range append(e.active, e.queue...) {
		e.kv.release(r)
		drop(r)
		r.tell(streamEvent{done: true, failed: true})
	}
	e.active, e.queue, e.running, e.end = nil, nil, nil, never
}
