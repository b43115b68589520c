package simulate

import "time"

// Totals is what has happened in a server's process, for tests that need its page and no time to
// pass: requests of equal length and duration, by outcome.
type Totals struct {
	// Started and Now are times since the replica was made.
	Started, Now time.Duration
	// Begun counts all requests, the next ones those that ended. Crashed is the part of Failed that
	// came to a model whose process had crashed.
	Begun, OK, Canceled, Client, Failed, Crashed, Overload uint64
	// Steps counts iterations of the engine, Tokens those that it generated, Paused requests that it
	// preempted.
	Steps, Tokens, Paused uint64
	// Running and Waiting count requests in the engine, Arrived those that have not reached it. Unanswered is the part of
	// OK that has left the engine while the server has not sent the answers yet.
	Running, Waiting, Arrived, Unanswered int
	// Prompt has the tokens of a request, of which Cached were not computed. It has KVBlocks while it runs.
	Prompt, Cached, KVBlocks int
	// Latency has the answer and the times of a request.
	Latency
}

// SetTotals replaces the process by one with this life.
func (r *Replica) SetTotals(t *Totals) {
	r.do(func(r *Replica) {
		w := r.w
		w.up, w.now, w.arrived = t.Started, t.Now, t.Arrived
		w.load()
		w.engine.total(t)
		w.server = r.kind.start(w)
		w.server.total(t)
	})
}

// total sets the requests in the engine, and its last iteration. One in four KV blocks was reused.
func (e *engine) total(t *Totals) {
	e.active, e.queue = make([]*request, t.Running), make([]*request, t.Waiting)
	e.kv.used = min(t.Running*t.KVBlocks, e.kv.blocks)
	e.last = iteration{
		n: t.Steps, latency: t.TPOT, active: t.Running + t.Waiting,
		batch:  batch{scheduled: t.Running, decoding: t.Running},
		kvUsed: e.kv.used, kvFree: e.kv.free(), kv: kvStats{reused: t.OK, missed: 3 * t.OK},
	}
}

// total counts requests that ended, as many as the server counts, and those that it calls successful.
func (b *booked) total(w *world, t *Totals, ended uint64) {
	b.begun = tokens{
		prompt:     ended * uint64(t.Prompt),
		cached:     ended * uint64(t.Cached),
		generation: ended * uint64(t.Output),
	}
	b.ended, b.context, b.last = b.begun, b.begun.prompt, w.engine.last
	b.requests, b.steps, b.generated, b.decoded, b.paused = ended, t.Steps, t.Tokens, t.Tokens, t.Paused
	if t.OK > 0 {
		b.reasons = reasonCounts{{"stop", float64(t.OK)}}
	}
	b.itl.observeN(t.TPOT.Seconds(), t.Tokens)
	b.tpot.observeN(t.TPOT.Seconds(), t.OK)
	b.queue.observeN(t.Queue.Seconds(), t.OK)
	b.ttft.observeN(t.TTFT.Seconds(), ended)
	b.e2e.observeN(t.E2E.Seconds(), ended)
	b.prefill.observeN(seconds(t.Queue, t.TTFT), ended)
	b.decode.observeN(seconds(t.TTFT, t.E2E), ended)
	b.inference.observeN(seconds(t.Queue, t.E2E), ended)
	b.promptEach.observeN(float64(t.Prompt), ended)
	b.generationEach.observeN(float64(t.Output), ended)
	b.cachedEach.observeN(float64(t.Cached), ended)
	b.computedEach.observeN(float64(t.Prompt-t.Cached), ended)
}
