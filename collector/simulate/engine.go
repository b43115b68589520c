package simulate

import "time"

// Engine configures the simulated TRT-LLM executor. Zero fields have defaults.
type Engine struct {
	// MaxActive is the maximum number of active requests, MaxBatch of requests in one
	// iteration.
	MaxActive, MaxBatch int
	// KVBlocks and TokensPerBlock size the KV cache.
	KVBlocks, TokensPerBlock int
	// An iteration takes IterationBase, plus PerContextToken and PerSequence for
	// each context token and decoding request in it.
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
