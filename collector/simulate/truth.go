package simulate

import "time"

// Truth is what really happened in a replica since its present process started,
// known to the simulator and only partly visible on its pages. Arrived always
// equals Finished + Failed + Stuck + InFlight.
type Truth struct {
	// At is the simulated time since the replica was made, Uptime since its
	// present process began to serve.
	At     time.Duration `json:"at"`
	Uptime time.Duration `json:"uptime"`
	// Epoch counts the processes, from 1; everything below starts at 0 with each.
	Epoch int   `json:"epoch"`
	Phase Phase `json:"phase"`

	// Arrived counts requests that reached the server; Refused those that found
	// no open port and are in none of the other numbers.
	Arrived  uint64 `json:"arrived"`
	Refused  uint64 `json:"refused"`
	Finished uint64 `json:"finished"`
	Failed   uint64 `json:"failed"`
	// Rejected is the part of Failed that was turned away before any work.
	Rejected uint64 `json:"rejected"`
	// Stuck requests got all their tokens and never their end.
	Stuck uint64 `json:"stuck"`
	// Abandoned is the part of Finished whose client had left.
	Abandoned uint64 `json:"abandoned"`
	InFlight  int    `json:"in_flight"`

	// Queued are requests the executor has not scheduled: Hidden ones beyond its
	// active list, which no page shows, and active ones that wait.
	Queued  int `json:"queued"`
	Hidden  int `json:"hidden"`
	Active  int `json:"active"`
	Running int `json:"running"`
	// Paused counts pauses for want of KV blocks since the start.
	Paused uint64 `json:"paused"`

	// Prompt and output tokens of finished requests, booked when they end.
	PromptTokens     uint64 `json:"prompt_tokens"`
	GenerationTokens uint64 `json:"generation_tokens"`
	// The same of failed requests that had reached the executor.
	FailedPromptTokens     uint64 `json:"failed_prompt_tokens"`
	FailedGenerationTokens uint64 `json:"failed_generation_tokens"`
	// Tokens computed and generated so far, by requests in flight too. These, the
	// KV numbers and Iterations are the executor's: a reload of the LLM model
	// begins them anew, while the numbers of requests go on.
	ContextTokensSoFar   uint64 `json:"context_tokens_so_far"`
	GeneratedTokensSoFar uint64 `json:"generated_tokens_so_far"`
	CachedPromptTokens   uint64 `json:"cached_prompt_tokens"`

	KVBlocks   int    `json:"kv_blocks"`
	KVUsed     int    `json:"kv_used"`
	KVFree     int    `json:"kv_free"`
	KVReused   uint64 `json:"kv_reused"`
	KVMissed   uint64 `json:"kv_missed"`
	Iterations uint64 `json:"iterations"`

	// Latencies are the last requests that finished, oldest first, at most
	// maxLatencies of them.
	Latencies []Latency `json:"latencies"`
	// Sums over all finished requests.
	TTFTSum time.Duration `json:"ttft_sum"`
	E2ESum  time.Duration `json:"e2e_sum"`
}

// Latency is the timing of one finished request. TPOT is 0 for one token.
type Latency struct {
	Prompt int           `json:"prompt"`
	Output int           `json:"output"`
	Queue  time.Duration `json:"queue"`
	TTFT   time.Duration `json:"ttft"`
	TPOT   time.Duration `json:"tpot"`
	E2E    time.Duration `json:"e2e"`
}

// maxLatencies bounds Truth.Latencies.
const maxLatencies = 4096

// latencyOf reads the timing of a finished request, as the executor sees it.
func latencyOf(r *request) Latency {
	l := Latency{
		Prompt: r.prompt, Output: r.generated,
		Queue: r.scheduled - r.arrived,
		TTFT:  r.firstToken - r.arrived,
		E2E:   r.lastToken - r.arrived,
	}
	if r.generated > 1 {
		l.TPOT = (r.lastToken - r.firstToken) / time.Duration(r.generated-1)
	}
	return l
}

// bookFinished enters a finished request.
func (t *Truth) bookFinished(r *request) {
	t.Finished++
	if r.abandoned {
		t.Abandoned++
	}
	t.PromptTokens += uint64(r.prompt)
	t.GenerationTokens += uint64(r.generated)
	t.CachedPromptTokens += uint64(r.cached)
	l := latencyOf(r)
	t.TTFTSum += l.TTFT
	t.E2ESum += l.E2E
	if len(t.Latencies) >= 2*maxLatencies {
		t.Latencies = append(t.Latencies[:0], t.Latencies[maxLatencies+1:]...)
	}
	t.Latencies = append(t.Latencies, l)
}

// bookFailed enters a request that failed in the executor.
func (t *Truth) bookFailed(r *request) {
	t.Failed++
	t.FailedPromptTokens += uint64(r.prompt)
	t.FailedGenerationTokens += uint64(r.generated)
}

// read fills in what the executor knows at this moment and returns a copy that
// shares nothing.
func (t *Truth) read(e *engine) Truth {
	out := *t
	out.Latencies = append([]Latency(nil), t.Latencies[max(0, len(t.Latencies)-maxLatencies):]...)
	if e == nil {
		return out
	}
	out.InFlight, out.Hidden, out.Active = e.inFlight(), len(e.queue), len(e.active)
	if e.running != nil {
		out.Running = e.running.scheduled
	}
	out.Queued = out.Hidden + out.Active - out.Running
	out.Paused = e.paused
	out.ContextTokensSoFar, out.GeneratedTokensSoFar = e.computed, e.generated
	out.KVBlocks, out.KVUsed, out.KVFree = e.kv.blocks, e.kv.used, e.kv.free()
	out.KVReused, out.KVMissed = e.kv.reused, e.kv.missed
	out.Iterations = e.iterations
	return out
}
