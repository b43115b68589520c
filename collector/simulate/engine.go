package simulate

import "time"

// Engine says how the simulated TRT-LLM executor is built. Zero fields take
// sensible values.
type Engine struct {
	// MaxActive is the most requests in the executor's active list, MaxBatch the
	// most of them in one iteration.
	MaxActive, MaxBatch int
	// KVBlocks and TokensPerBlock size the KV cache.
	KVBlocks, TokensPerBlock int
	// An iteration takes IterationBase, plus PerContextToken and PerSequence for
	// each context token and decoding request in it.
	IterationBase, PerContextToken, PerSequence time.Duration
}

// maxTokens is the most tokens of one iteration.
const maxTokens = 8192

// withDefaults fills in a mid-size model on one GPU.
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
	n              uint64
	at, latency    time.Duration
	active, queued int
	batch
	newActive, completed int
	kvUsed, kvFree       int
	kv                   kvStats
}

// batch is what an iteration computes: requests by what they do, and tokens.
type batch struct {
	scheduled, context, decoding, paused int
	contextTokens, tokens                int
}

// engine is the in-flight batching executor: a hidden queue, an active list and
// one iteration at a time.
type engine struct {
	cfg    Engine
	kv     *kvCache
	queue  []*request
	active []*request

	running   *iteration
	end       time.Duration // When the running iteration ends.
	stalled   bool
	remaining time.Duration // Of the running iteration, while stalled.
	last      iteration
	busy      time.Duration // Time spent in iterations.
	Executed
}

func newEngine(cfg Engine, load Workload) *engine {
	return &engine{cfg: cfg, kv: newKVCache(cfg, load), end: never}
}

// clamp cuts a request to what the executor could ever serve.
func (e *engine) clamp(r *request) {
	room := (e.kv.blocks - 1) * e.kv.perBlock
	r.prompt = min(r.prompt, max(1, room/2))
	r.output = max(1, min(r.output, room-r.prompt))
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
