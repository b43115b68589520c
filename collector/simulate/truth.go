package simulate

import "time"

// Truth is what has happened in a replica since its current process started, of which
// its pages show only a part. Arrived equals Finished + Failed + Stuck + InFlight.
type Truth struct {
	// At is the simulated time since the replica was created.
	At time.Duration
	// Epoch is the number of the process, from 1. All fields below start at 0 with it.
	Epoch int
	Phase Phase
	// The requests that reached the server by outcome. Abandoned is the part of Finished
	// whose client had left. Stuck requests got all tokens but never ended.
	Arrived, Finished, Failed, Stuck, Abandoned uint64
	// The requests and KV blocks of the executor now. Queued requests are not scheduled:
	// they wait in the active list or are Hidden, which no page shows.
	InFlight, Queued, Hidden, Active, Running int
	KVBlocks, KVUsed                          int
	// The tokens of finished requests, and of failed requests that had reached the
	// executor, are added when the requests end.
	PromptTokens, GenerationTokens, FailedPromptTokens, FailedGenerationTokens uint64
	Executed
	// E2ESum is the sum of the durations of finished requests.
	E2ESum time.Duration
	// latencies has the last finished requests, see [Replica.Latencies].
	latencies []Latency
}

// Executed counts the work of the executor, requests in flight included. A reload of the LLM model
// resets it.
type Executed struct {
	ContextTokensSoFar, GeneratedTokensSoFar, Iterations, Paused uint64
}

// Latency has the timing of one finished request. TPOT is 0 for one token.
type Latency struct {
	Output                 int
	Queue, TTFT, TPOT, E2E time.Duration
}

// maxLatencies limits [Replica.Latencies].
const maxLatencies = 4096

// latencyOf returns the timing of a finished request in the executor.
func latencyOf(r *request) Latency {
	l := Latency{
		Output: r.generated,
		Queue:  r.scheduled - r.arrived,
		TTFT:   r.firstToken - r.arrived,
		E2E:    r.lastToken - r.arrived,
	}
	if r.generated > 1 {
		l.TPOT = (r.lastToken - r.firstToken) / time.Duration(r.generated-1)
	}
	return l
}

// bookFinished counts a finished request.
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

// bookFailed counts a request that failed in the executor.
func (t *Truth) bookFailed(r *request) {
	t.Failed++
	t.FailedPromptTokens += uint64(r.prompt)
	t.FailedGenerationTokens += uint64(r.generated)
}

// read returns a copy with the state of the executor.
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
