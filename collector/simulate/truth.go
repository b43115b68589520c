package simulate

import "time"

// Truth is what really happened in a replica since its present process started,
// known to the simulator and only partly visible on its pages. Arrived always
// equals Finished + Failed + Stuck + InFlight.
type Truth struct {
	// At is the simulated time since the replica was made.
	At time.Duration
	// Epoch counts the processes, from 1; everything below starts at 0 with each.
	Epoch int
	Phase Phase
	Requests
	Present
	// Prompt and output tokens of finished requests, booked when they end, and of
	// failed requests that had reached the executor.
	PromptTokens, GenerationTokens, FailedPromptTokens, FailedGenerationTokens uint64
	Executed
	// E2ESum is the time that all finished requests took together.
	E2ESum time.Duration
	// The last requests that finished; [Replica.Latencies] gives them out.
	latencies []Latency
}

// Requests counts the requests that reached the server by what became of them.
// Abandoned is the part of Finished whose client had left. Stuck requests got all
// their tokens and never their end.
type Requests struct {
	Arrived, Finished, Failed, Stuck, Abandoned uint64
}

// Present is what the executor has at this moment. Queued are requests that it has
// not scheduled: Hidden ones beyond its active list, which no page shows, and
// active ones that wait.
type Present struct {
	InFlight, Queued, Hidden, Active, Running int
	KVBlocks, KVUsed                          int
}

// Executed is what the executor has done, for requests in flight too: tokens
// computed and generated, iterations, and pauses for want of KV blocks. A reload
// of the LLM model starts it at 0 again, while the numbers of requests go on.
type Executed struct {
	ContextTokensSoFar, GeneratedTokensSoFar, Iterations, Paused uint64
}

// Latency is the timing of one finished request. TPOT is 0 for one token.
type Latency struct {
	Output                 int
	Queue, TTFT, TPOT, E2E time.Duration
}

// maxLatencies bounds what [Replica.Latencies] gives.
const maxLatencies = 4096

// latencyOf reads the timing of a finished request, as the executor sees it.
func latencyOf(r *request) Latency {
	l := Latency{Output: r.generated, Queue: r.scheduled - r.arrived, TTFT: r.firstToken - r.arrived, E2E: r.lastToken - r.arrived}
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
	l := latencyOf(r)
	t.E2ESum += l.E2E
	if len(t.latencies) >= 2*maxLatencies {
		t.latencies = append(t.latencies[:0], t.latencies[maxLatencies+1:]...)
	}
	t.latencies = append(t.latencies, l)
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
	out.latencies = nil
	out.InFlight, out.Hidden, out.Active = e.inFlight(), len(e.queue), len(e.active)
	if e.running != nil {
		out.Running = e.running.scheduled
	}
	out.Queued = out.Hidden + out.Active - out.Running
	out.Executed, out.KVBlocks, out.KVUsed = e.Executed, e.kv.blocks, e.kv.used
	return out
}
